//! Test of the address of `--php` before a start: whether nothing, php-fpm, or another server listens there.
//!
//! ```text
//! connect -> FCGI_GET_VALUES --> a FastCGI record                              php-fpm
//!                            --> no response --> a line of text --> no response, or closed: php-fpm, all children busy
//!                            --> other bytes, or closed                        another server
//! ```

use std::collections::{HashMap, HashSet};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use myriad_upstream::fastcgi_protocol::record::{PADDING, VERSION};
use myriad_upstream::fastcgi_protocol::{Header, RecordType};

use super::options::SiteOptions;
use crate::pidfile::reason;

/// Maximum time for connecting over TCP, and for each read or write.
const PATIENCE: Duration = Duration::from_secs(1);
/// Maximum time for the tests of all addresses together, and likewise for the resolution of all names together.
const TOTAL: Duration = Duration::from_secs(6);
/// Maximum number of addresses that are tested at once.
const PARALLEL: usize = 128;
/// Number of response bytes that are read to identify a server.
const FIRST: usize = 8;
/// Request of line protocols (Redis), after which php-fpm closes the connection.
const LINE: &[u8] = b"PING\r\n\r\n";
/// Folders in which distributions create the sockets of php-fpm.
const FOLDERS: [&str; 4] = ["/run/php", "/run/php-fpm", "/run", "/var/run/php-fpm"];
/// Maximum number of sockets that are suggested.
const SHOWN: usize = 4;

/// Kind of server that listens at an address.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PhpListener {
    /// php-fpm or another FastCGI server. Also a server that does not respond, and a socket that this user may not
    /// access.
    FastCgi,
    /// Nothing listens, or the connection failed, for this reason.
    Absent(String),
    /// Server of another kind, with its description for messages.
    Other(&'static str),
}

trait PhpStream: Read + Write {}
impl PhpStream for UnixStream {}
impl PhpStream for TcpStream {}

/// Tests an address, given as argument of `fastcgi_pass`. A server that does not respond counts as php-fpm whose
/// children are all busy, and so does a socket to which this user has no access.
pub(super) fn try_address(php: &str) -> PhpListener {
    // A server with a line protocol waits for a line feed, which the FastCGI record does not contain.
    for question in [&question()[..], LINE] {
        match send_question(php, question) {
            Ok(None) => {}
            // A child of php-fpm that has become free closes the connection because of the line.
            Ok(Some(answer)) if answer.is_empty() && question == LINE => break,
            Ok(Some(answer)) => return classify_answer(&answer),
            // Access is denied to this user, but the workers may run as another one.
            Err(error) if error.kind() == ErrorKind::PermissionDenied => break,
            Err(error) => return PhpListener::Absent(reason(&error)),
        }
    }
    // No response: all children may be busy.
    PhpListener::FastCgi
}

/// Sends a request and returns the first bytes of the response: empty if the server closes the connection, `None` if
/// nothing arrives in time, or reading fails.
fn send_question(php: &str, question: &[u8]) -> io::Result<Option<Vec<u8>>> {
    let mut connection = connect(php)?;
    // Writing fails if the server sends a greeting and closes; the greeting can still be read.
    let _ = connection.write_all(question);
    let mut answer = Vec::new();
    let mut piece = [0; 256];
    while answer.len() < FIRST {
        match connection.read(&mut piece) {
            Ok(0) => return Ok(Some(answer)),
            Ok(count) => answer.extend_from_slice(&piece[..count]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) if answer.is_empty() => return Ok(None),
            Err(_) => break,
        }
    }
    Ok(Some(answer))
}

fn connect(php: &str) -> io::Result<Box<dyn PhpStream>> {
    if let Some(path) = php.strip_prefix("unix:") {
        let stream = UnixStream::connect(path)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        return Ok(Box::new(stream));
    }
    let address = php.to_socket_addrs()?.next().ok_or(ErrorKind::AddrNotAvailable)?;
    let stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    Ok(Box::new(stream))
}

/// Returns a FastCGI management record, which runs no script.
fn question() -> Vec<u8> {
    const PAIR: &[u8] = b"\x0f\x00FCGI_MPXS_CONNS";
    let header = Header::new(RecordType::GetValues, 0, PAIR.len() as u16);
    [&header.encode()[..], PAIR, &PADDING[..usize::from(header.padding_length)]].concat()
}

/// Identifies a server by the first bytes that it sent; empty if it closed the connection.
fn classify_answer(answer: &[u8]) -> PhpListener {
    let has = |part: &str| String::from_utf8_lossy(answer).to_ascii_lowercase().contains(part);
    match answer {
        [] => PhpListener::Other("a server that closes the connection without a response"),
        [VERSION, kind, ..] if RecordType::from_number(*kind).is_some() => PhpListener::FastCgi,
        // MySQL protocol: packet length, sequence number 0, then the protocol version or an error.
        [_, _, _, 0, 10 | 255, ..] => PhpListener::Other("MariaDB or MySQL"),
        _ if has("mariadb") || has("mysql") => PhpListener::Other("MariaDB or MySQL"),
        _ if answer.starts_with(b"HTTP/") || has("<html") => PhpListener::Other("an HTTP server"),
        [b'-' | b'+', ..] => PhpListener::Other("Redis or Valkey"),
        _ if answer.starts_with(b"ERROR") => PhpListener::Other("memcached"),
        _ => PhpListener::Other("a server that does not speak FastCGI"),
    }
}

/// Checks that an address of php-fpm is not a URL.
///
/// # Errors
/// For a URL (a text with `://`), returns an error text with the form to use.
pub(super) fn check_form(option: &str, given: &str) -> Result<(), String> {
    let Some((scheme, rest)) = given.split_once("://") else { return Ok(()) };
    let address = rest.trim_end_matches('/');
    let form = if address.is_empty() { "127.0.0.1:9000" } else { address };
    Err(format!(
        "wordpress: {option} {given}: php-fpm uses FastCGI, which has no URLs such as {scheme}://; write HOST:PORT, for \
             example {form}, or the path of its socket"
    ))
}

impl SiteOptions {
    /// Tests the addresses of php-fpm before a start, each once, in parallel. Returns warnings. If php-fpm of one of
    /// several sites does not listen, the other sites are served nevertheless.
    ///
    /// # Errors
    /// Unless `--php-later` is given, returns an error text if the lines of several sites are invalid, or, for a single
    /// site, if its address is invalid or php-fpm does not listen.
    pub fn check_php(&self) -> Result<Vec<String>, String> {
        let mut warnings = Vec::new();
        if self.php_later {
            return Ok(warnings);
        }
        let sites = self.php_addresses()?;
        let found = in_parallel(sites.iter().map(|(_, php)| php.clone()), TOTAL, try_address);
        for (option, php) in &sites {
            match found.get(php).and_then(|listener| complaint(option, php, listener)) {
                Some(complaint) if self.is_several() => warnings.push(complaint),
                Some(complaint) => return Err(complaint),
                None if found.contains_key(php) => {}
                None => warnings.push(format!(
                    "wordpress: {option} {}: the test of php-fpm had no result within {} s; PHP requests fail until it responds",
                    shown(php),
                    TOTAL.as_secs()
                )),
            }
        }
        Ok(warnings)
    }
}

/// Resolves the host names among addresses, each once, in parallel. Returns an error for each name that cannot be
/// resolved, or not in time.
pub(super) fn unresolved<'a>(addresses: impl Iterator<Item = &'a str>) -> HashMap<String, String> {
    let addresses: HashSet<String> =
        addresses.filter(|given| !given.contains('/')).map(str::to_owned).collect();
    let resolve = |given: &str| given.to_socket_addrs().err().map(|error| error.to_string());
    let mut found = in_parallel(addresses.iter().cloned(), TOTAL, resolve);
    let late = || Some(format!("no result of the resolution within {} s", TOTAL.as_secs()));
    let errors = addresses.into_iter().filter_map(|given| {
        let error = found.remove(&given).unwrap_or_else(late)?;
        Some((given, error))
    });
    errors.collect()
}

/// Runs `test` for each address, in parallel. Returns the results that are available after at most `limit`.
fn in_parallel<T: Send + 'static>(
    addresses: impl Iterator<Item = String>,
    limit: Duration,
    test: fn(&str) -> T,
) -> HashMap<String, T> {
    let deadline = Instant::now() + limit;
    let distinct: HashSet<String> = addresses.collect();
    let (count, threads) = (distinct.len(), distinct.len().min(PARALLEL));
    let pending = Arc::new(Mutex::new(distinct.into_iter()));
    let (sender, results) = mpsc::channel();
    for _ in 0..threads {
        let (pending, sender) = (Arc::clone(&pending), sender.clone());
        // The threads are not joined, because the resolution of a name has no time limit.
        std::thread::spawn(move || {
            while Instant::now() < deadline {
                let Some(php) = pending.lock().ok().and_then(|mut pending| pending.next()) else { return };
                let result = test(&php);
                if sender.send((php, result)).is_err() {
                    return;
                }
            }
        });
    }
    let next = || results.recv_timeout(deadline.saturating_duration_since(Instant::now())).ok();
    std::iter::from_fn(next).take(count).collect()
}

/// Returns a text with an address (a path or `HOST:PORT`) and the reason why php-fpm does not listen there; `None` if
/// it does, or if that is unknown.
pub fn php_complaint(php: &str) -> Option<String> {
    let address = if php.starts_with('/') { format!("unix:{php}") } else { php.to_owned() };
    reason_against(php, &try_address(&address))
}

/// Returns a text with the address and the reason why the listener is not php-fpm; `None` if it is.
fn reason_against(php: &str, listener: &PhpListener) -> Option<String> {
    let why = match listener {
        PhpListener::FastCgi => return None,
        PhpListener::Absent(why) => format!("nothing listens on this address ({why})"),
        PhpListener::Other(what) => format!("{what} listens on this address instead of php-fpm"),
    };
    Some(format!("{}: {why}", shown(php)))
}

/// Returns an address in the form of the command line.
fn shown(php: &str) -> &str {
    php.strip_prefix("unix:").unwrap_or(php)
}

/// Returns the error text for an address at which php-fpm does not listen; `None` if it does.
fn complaint(option: &str, php: &str, listener: &PhpListener) -> Option<String> {
    let why = reason_against(php, listener)?;
    Some(format!(
        "wordpress: {option} {why}; start php-fpm, or give its address (`listen =` in the file of its pool{}); \
             --php-later starts without it",
        sockets_here()
    ))
}

/// Returns at most [`SHOWN`] sockets of php-fpm that exist on this machine, as a suggestion to append to an error;
/// empty if there are none.
fn sockets_here() -> String {
    let mut found: Vec<PathBuf> = Vec::new();
    for folder in FOLDERS {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let sockets = entries.map(|entry| entry.path()).filter(|path| is_php_socket(path));
        for path in sockets.filter_map(|path| path.canonicalize().ok()) {
            if !found.contains(&path) {
                found.push(path);
            }
        }
    }
    found.sort();
    let names: Vec<_> = found.iter().take(SHOWN).map(|path| path.display().to_string()).collect();
    if names.is_empty() { String::new() } else { format!("; found on this machine: {}", names.join(", ")) }
}

fn is_php_socket(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let is_named_so = name.contains("php") || path.parent().is_some_and(|folder| folder.ends_with("php-fpm"));
    is_named_so && name.ends_with(".sock")
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use super::*;

    /// Starts a server that sends `answer` after the first bytes, or closes the connection if it is empty. Returns its
    /// address.
    fn server(answer: &'static [u8]) -> (String, thread::JoinHandle<Vec<u8>>) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("its address").to_string();
        let served = thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a client");
            let mut read = [0; 64];
            let count = stream.read(&mut read).expect("a question");
            let _ = stream.write_all(answer);
            read[..count].to_vec()
        });
        (address, served)
    }

    #[test]
    fn server_kinds_are_recognized_by_their_response() {
        for (answer, kind) in [
            (&b"\x01\x0a\0\0\0\x12\x06\0rest"[..], PhpListener::FastCgi),
            (b"J\0\0\x00\x0a5.5.5-10.11.6-MariaDB\0", PhpListener::Other("MariaDB or MySQL")),
            (b"\x45\0\0\x00\xff\x6a\x04Host is not allowed", PhpListener::Other("MariaDB or MySQL")),
            (b"HTTP/1.1 400 Bad Request\r\n", PhpListener::Other("an HTTP server")),
            (b"-ERR unknown command\r\n", PhpListener::Other("Redis or Valkey")),
            (b"ERROR\r\n", PhpListener::Other("memcached")),
            (b"SSH-2.0-x\r\n", PhpListener::Other("a server that does not speak FastCGI")),
            (b"", PhpListener::Other("a server that closes the connection without a response")),
        ] {
            let (address, served) = server(answer);
            assert_eq!(try_address(&address), kind);
            let asked = served.join().expect("served");
            assert!(asked.starts_with(&[1, 9, 0, 0]) && asked.len() % 8 == 0, "{asked:?}");
        }
    }

    #[test]
    fn address_without_listener_is_reported_with_php_later_option() {
        let closed = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("its address");
        for php in [closed.to_string(), "unix:/nowhere/php.sock".to_owned()] {
            let said = complaint("--php", &php, &try_address(&php)).expect("nothing listens");
            assert!(
                said.contains("nothing listens on this address") && said.contains("--php-later starts"),
                "{said}"
            );
        }
    }

    #[test]
    fn addresses_are_tested_once_in_parallel_within_a_total_limit() {
        static TESTS: AtomicUsize = AtomicUsize::new(0);
        let test: fn(&str) -> PhpListener = |php| {
            TESTS.fetch_add(1, Ordering::Relaxed);
            // Simulates a test that takes longer than the limit.
            thread::sleep(if php == "slow" { Duration::from_mins(1) } else { Duration::from_millis(20) });
            PhpListener::FastCgi
        };
        let begun = Instant::now();
        let addresses = (0..300).map(|number| format!("127.0.0.1:{}", number % 100));
        let found = in_parallel(addresses.chain(["slow".to_owned()]), Duration::from_secs(3), test);
        assert_eq!(
            (found.len(), found.contains_key("slow"), TESTS.load(Ordering::Relaxed)),
            (100, false, 101)
        );
        assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    }

    #[test]
    fn urls_are_refused_with_the_form_to_write() {
        for (given, form) in [
            ("http://127.0.0.1:9000", "for example 127.0.0.1:9000,"),
            ("fcgi://php:9000/", "for example php:9000,"),
            ("tcp://", "for example 127.0.0.1:9000,"),
        ] {
            let error = check_form("--php", given).expect_err(given);
            assert!(
                error.starts_with(&format!("wordpress: --php {given}: ")) && error.contains(form),
                "{error}"
            );
        }
        for given in ["/run/php.sock", "unix:/run/php.sock", "127.0.0.1:9000", "[::1]:9000"] {
            assert_eq!(check_form("--php", given), Ok(()), "{given}");
        }
    }
}
