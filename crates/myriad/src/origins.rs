//! Check of origins by `-t`: tests that origins on this machine accept connections, and that the workers may connect to
//! them.
//!
//! Only loopback addresses and Unix sockets are tested: other addresses may respond slowly, and a check should not
//! contact another machine.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use myriad_base::digits::decimal;
use myriad_conf::model::{HttpConf, ListenAddress, UpstreamAddress};
use myriad_conf::settings::{Handler, Protocol};
use myriad_conf::{Diagnostic, Model, Span, Text};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};

use myriad_cli::accounts::{self, Account};
use myriad_cli::pidfile::reason;

/// Maximum time for an origin to accept a connection in a configuration test, which takes microseconds on the same
/// machine.
const PATIENCE: Duration = Duration::from_millis(500);
/// Number of origins that a configuration test tries concurrently.
const AT_ONCE: usize = 16;

/// Address of an origin on this machine.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum LocalAddress {
    /// TCP addresses of the origin; it is reachable if one of them accepts a connection. A host name has several
    /// addresses.
    Tcp(Vec<SocketAddr>),
    Unix(PathBuf),
}

/// Origin in the configuration, with its text and position.
#[derive(Clone, Debug)]
struct NamedOrigin {
    address: LocalAddress,
    written: String,
    span: Span,
}

/// Returns warnings, in the order of the configuration, about origins on this machine that do not accept connections,
/// or that the user of the workers (`account`) cannot reach.
///
/// Each address is tested once; addresses on which the `http` servers of this configuration listen are skipped. Sockets
/// that do not exist are only reported with `tells_missing`. Origins of `stream` are not tested.
pub(crate) fn warnings(model: &Model, account: Option<&Account>, tells_missing: bool) -> Vec<Diagnostic> {
    let Some(http) = &model.http else { return Vec::new() };
    let mut known = HashSet::new();
    let mut origins = origins(http);
    // A set, because there may be thousands of servers on a few addresses.
    let own: HashSet<&ListenAddress> =
        http.servers.iter().flat_map(|server| &server.listens).map(|listen| &listen.address).collect();
    origins.retain(|origin| known.insert(origin.address.clone()) && !is_own(&own, &origin.address));
    let answers = try_origins(&origins, account);
    let found = origins.iter().zip(answers).filter_map(|(origin, answer)| Some((origin, answer.err()?)));
    let found = found.filter(|(_, error)| tells_missing || error.kind() != io::ErrorKind::NotFound);
    let mut warnings: Vec<Diagnostic> =
        found.map(|(origin, error)| warning(origin, &error, account)).collect();
    warnings.sort_by_key(|warning| warning.span);
    warnings
}

/// Returns the origins on this machine: servers of `upstream` blocks, except those with `down` or `resolve`, and
/// targets without variables.
fn origins(http: &HttpConf) -> Vec<NamedOrigin> {
    let servers = http
        .upstreams
        .iter()
        .flat_map(|upstream| &upstream.servers)
        .filter(|server| !server.down && !server.resolve);
    let mut all: Vec<NamedOrigin> = servers
        .filter_map(|server| {
            let address = match &server.address {
                UpstreamAddress::Ip(address) => loopback_address(address.ip(), address.port()),
                UpstreamAddress::Host(host, port) => named_address(host, *port),
                UpstreamAddress::Unix(path) => Some(unix_address(path)),
            }?;
            Some(NamedOrigin { address, written: server.name.lossy().into_owned(), span: server.name.span })
        })
        .collect();
    let is_upstream =
        |host: &str| http.upstreams.iter().any(|upstream| upstream.name.eq_ignore_ascii_case(host));
    for settings in http.levels() {
        let Some(Handler::Origin { protocol, target, .. }) = &settings.handler else { continue };
        if let Some(address) = target_address(*protocol, target, is_upstream) {
            all.push(NamedOrigin { address, written: target.lossy().into_owned(), span: target.span });
        }
    }
    all
}

/// Returns the address of a `*_pass` target; `None` if it has variables, names an `upstream`, or is not on this
/// machine.
fn target_address(
    protocol: Protocol,
    target: &Text,
    is_upstream: impl Fn(&str) -> bool,
) -> Option<LocalAddress> {
    let text = target.as_str().filter(|_| !target.has_variables())?;
    let (scheme, rest) = protocol.split(text)?;
    let port = scheme.and_then(|scheme| scheme.port);
    if let Some(path) = rest.strip_prefix("unix:") {
        // In a URL a colon terminates the path of the socket.
        let path = if protocol.is_url() { path.split(':').next().unwrap_or(path) } else { path };
        return Some(unix_address(path.as_bytes()));
    }
    let host = rest.split(['/', '?']).next().unwrap_or(rest);
    if is_upstream(host) {
        return None;
    }
    if let Ok(address) = host.parse::<SocketAddr>() {
        return loopback_address(address.ip(), address.port());
    }
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !name.ends_with(':') => (name, decimal(port)?),
        _ => (host, port?),
    };
    match name.trim_matches(['[', ']']).parse::<IpAddr>() {
        Ok(ip) => loopback_address(ip, port),
        Err(_) => named_address(name, port),
    }
}

fn loopback_address(ip: IpAddr, port: u16) -> Option<LocalAddress> {
    ip.to_canonical().is_loopback().then(|| LocalAddress::Tcp(vec![SocketAddr::new(ip, port)]))
}

fn named_address(host: &str, port: u16) -> Option<LocalAddress> {
    let both = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
    let is_here = host.eq_ignore_ascii_case("localhost");
    is_here.then(|| LocalAddress::Tcp(both.map(|ip| SocketAddr::new(ip, port)).to_vec()))
}

fn unix_address(path: &[u8]) -> LocalAddress {
    LocalAddress::Unix(PathBuf::from(std::ffi::OsStr::from_bytes(path)))
}

/// Returns whether this configuration itself listens on the address.
fn is_own(listens: &HashSet<&ListenAddress>, address: &LocalAddress) -> bool {
    match address {
        LocalAddress::Tcp(wanted) => listens.iter().any(|listen| {
            matches!(listen, ListenAddress::Ip(own) if wanted.iter().any(|address| {
                own.port() == address.port() && (own.ip().is_unspecified() || own.ip() == address.ip())
            }))
        }),
        LocalAddress::Unix(path) => listens.iter().any(|listen| {
            matches!(listen, ListenAddress::Unix(own) if own.as_slice() == path.as_os_str().as_bytes())
        }),
    }
}

/// Tests the origins concurrently, with the rights of `account`: on Linux each thread can change its user separately.
/// Returns the results in the order of the origins. If the user cannot be changed, nothing is tested and all results
/// are `Ok`.
fn try_origins(origins: &[NamedOrigin], account: Option<&Account>) -> Vec<io::Result<()>> {
    let next = Mutex::new(0..origins.len());
    let mut answers: Vec<(usize, io::Result<()>)> = std::thread::scope(|scope| {
        let work = || {
            if account.is_some_and(|account| account.switch_process().is_err()) {
                // The thread could not change to the account, so it cannot test for it.
                return Vec::new();
            }
            let mut answers = Vec::new();
            loop {
                let taken = next.lock().map(|mut next| next.next());
                let Ok(Some(index)) = taken else { return answers };
                answers.push((index, try_connect(&origins[index].address)));
            }
        };
        let threads: Vec<_> = (0..origins.len().min(AT_ONCE)).map(|_| scope.spawn(work)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap_or_default()).collect()
    });
    answers.sort_by_key(|(index, _)| *index);
    let mut all: Vec<io::Result<()>> = origins.iter().map(|_| Ok(())).collect();
    for (index, answer) in answers {
        all[index] = answer;
    }
    all
}

fn try_connect(address: &LocalAddress) -> io::Result<()> {
    match address {
        LocalAddress::Tcp(addresses) => {
            let mut last = Ok(());
            for address in addresses {
                last = TcpStream::connect_timeout(address, PATIENCE).map(drop);
                if last.is_ok() {
                    break;
                }
            }
            last
        }
        LocalAddress::Unix(path) => {
            let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
            let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
            match connect(&socket, &SocketAddrUnix::new(path)?) {
                // A full backlog means that the origin runs and is busy.
                Ok(()) | Err(Errno::AGAIN) => Ok(()),
                Err(error) => Err(error.into()),
            }
        }
    }
}

fn warning(origin: &NamedOrigin, error: &io::Error, account: Option<&Account>) -> Diagnostic {
    let written = &origin.written;
    match (&origin.address, error.kind()) {
        (LocalAddress::Unix(path), io::ErrorKind::PermissionDenied) => forbidden(origin, path, account),
        (LocalAddress::Unix(path), io::ErrorKind::NotFound) => {
            let text = format!("the socket \"{}\" of \"{written}\" does not exist", path.display());
            Diagnostic::warning(origin.span, text)
                .help("start the server that creates it, or check the path in its configuration (php-fpm: \"listen =\" in the file of \
                     its pool)")
        }
        (_, io::ErrorKind::ConnectionRefused) => {
            Diagnostic::warning(origin.span, format!("nothing listens on \"{written}\""))
                .help("start the upstream server (for PHP: php-fpm), or check its port or path")
        }
        (_, io::ErrorKind::TimedOut) => {
            let text =
                format!("\"{written}\" does not accept a connection within {} ms", PATIENCE.as_millis());
            Diagnostic::warning(origin.span, text)
        }
        _ => {
            Diagnostic::warning(origin.span, format!("connect() to \"{written}\" failed ({})", reason(error)))
        }
    }
}

/// Returns the warning about a socket to which the user of the workers may not connect. It names the outermost folder
/// that denies access, otherwise the socket, with its mode and owner.
fn forbidden(origin: &NamedOrigin, path: &Path, account: Option<&Account>) -> Diagnostic {
    let uid = account.map_or_else(|| rustix::process::geteuid().as_raw(), |account| account.uid);
    let user = accounts::name_of(uid).unwrap_or_else(|| uid.to_string());
    let mut text = format!(
        "the user \"{user}\" of the worker processes is not allowed to connect to \"{}\"",
        origin.written
    );
    let above = path.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty());
    let closed = above.filter_map(|folder| Some((folder, fs::metadata(folder).ok()?)));
    let closed =
        closed.filter(|(_, known)| account.is_some_and(|account| !account.has_right(known, 0o1))).last();
    let help = if let Some((folder, known)) = closed {
        let _ = write!(
            text,
            ": it has no access to the folder \"{}\" ({})",
            folder.display(),
            mode_and_owner(&known)
        );
        "grant that user access to the folder (chmod o+x, or its group), or set \"user\" to a user with access"
    } else {
        if let Ok(known) = fs::metadata(path) {
            let _ = write!(text, " ({})", mode_and_owner(&known));
        }
        "grant access in the configuration of the socket (php-fpm: listen.owner, listen.group, listen.mode), or set \
             \"user\" to a user with access"
    };
    Diagnostic::warning(origin.span, text).help(help)
}

/// Formats mode and owner of a file: `mode 0660, owner www-data:www-data`.
fn mode_and_owner(known: &fs::Metadata) -> String {
    let user = accounts::name_of(known.uid()).unwrap_or_else(|| known.uid().to_string());
    let group = accounts::group_name_of(known.gid()).unwrap_or_else(|| known.gid().to_string());
    format!("mode {:04o}, owner {user}:{group}", known.mode() & 0o7777)
}
