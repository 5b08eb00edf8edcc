//! One exchange over HTTPS, or HTTP, on a connection of its own: blocking, bounded in time and bytes.

use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use myriad_http::h1::{ChunkedDecoder, HeadLimits, Parsed, parse_response};
use myriad_http::{Fields, Known, ResponseHead};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};

use crate::error::Error;

/// How long one exchange may take in all.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long one address is tried.
const CONNECT_PATIENCE: Duration = Duration::from_secs(10);
/// Addresses of a host that share that time where each is asked in turn.
const MOST_ADDRESSES: usize = 4;
/// The largest answer; a chain of certificates has some kilobytes.
const LARGEST: usize = 1 << 20;
/// Room for the head of an answer besides, bytes.
const HEAD_ROOM: usize = 16_384;
/// What the client calls itself.
const AGENT: &str = concat!("Myriad/", env!("CARGO_PKG_VERSION"));
/// Redirects that a GET follows.
const MOST_REDIRECTS: usize = 5;

/// Looks up a host name; an error is a sentence.
pub type Resolve = Arc<dyn Fn(&str) -> Result<Vec<IpAddr>, String> + Send + Sync>;

/// A client.
pub struct Https {
    tls: Arc<ClientConfig>,
    resolve: Resolve,
}

/// An answer.
#[derive(Debug)]
pub struct Reply {
    /// Its status.
    pub status: u16,
    /// Its fields.
    pub fields: Fields,
    /// Its body, whole.
    pub body: Vec<u8>,
}

/// The parts of a URL.
#[derive(Debug, PartialEq, Eq)]
struct Url<'a> {
    /// The value of `Host`.
    authority: &'a str,
    /// The host, without the brackets of an address.
    host: &'a str,
    port: u16,
    target: &'a str,
}

impl<'a> Url<'a> {
    fn parse(url: &'a str) -> Option<Self> {
        Self::parse_as(url, "https://", "443")
    }

    /// One of that scheme, with its usual port.
    fn parse_as(url: &'a str, scheme: &str, usual: &'a str) -> Option<Self> {
        let is_plain = url.bytes().all(|byte| byte.is_ascii_graphic());
        let (said, rest) = url.split_at_checked(scheme.len()).filter(|_| is_plain)?;
        if !said.eq_ignore_ascii_case(scheme) {
            return None;
        }
        let rest = rest.split('#').next().unwrap_or_default();
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, target) = rest.split_at(end);
        if authority.contains('@') {
            return None;
        }
        let (host, port) = match authority.strip_prefix('[') {
            Some(rest) => {
                let (host, port) = rest.split_once(']')?;
                (host, port.strip_prefix(':').or(port.is_empty().then_some(usual))?)
            }
            None => authority.split_once(':').unwrap_or((authority, usual)),
        };
        let port = port.parse().ok().filter(|port| *port != 0)?;
        (!host.is_empty()).then_some(Self { authority, host, port, target })
    }
}

/// Whether a text is a URL that the client can ask.
pub fn is_url(url: &str) -> bool {
    Url::parse(url).is_some()
}

impl Https {
    /// A client that speaks TLS so, and looks names up by this.
    pub fn new(tls: Arc<ClientConfig>, resolve: Resolve) -> Self {
        Self { tls, resolve }
    }

    /// `GET`, redirects followed.
    pub fn get(&self, url: &str) -> Result<Reply, Error> {
        let mut url = url.to_owned();
        for _ in 0..MOST_REDIRECTS {
            let reply = self.exchange("GET", &url, "", &[])?;
            let moved = matches!(reply.status, 301 | 302 | 303 | 307 | 308);
            let location = reply.fields.get(b"location").map(String::from_utf8_lossy).map(String::from);
            match location {
                Some(location) if moved => url = absolute(&url, &location),
                _ => return Ok(reply),
            }
        }
        Err(Error::Connection { url, why: "too many redirects".to_owned() })
    }

    /// `HEAD`.
    pub fn head(&self, url: &str) -> Result<Reply, Error> {
        self.exchange("HEAD", url, "", &[])
    }

    /// `POST` of a signed request.
    pub fn post(&self, url: &str, body: &str, accept: &str) -> Result<Reply, Error> {
        let accept = if accept.is_empty() { String::new() } else { format!("Accept: {accept}\r\n") };
        let fields =
            format!("{accept}Content-Type: application/jose+json\r\nContent-Length: {}\r\n", body.len());
        self.exchange("POST", url, &fields, body.as_bytes())
    }

    fn exchange(&self, method: &str, url: &str, fields: &str, body: &[u8]) -> Result<Reply, Error> {
        let fail = |why: String| Error::Connection { url: url.to_owned(), why };
        let parts = Url::parse(url).ok_or_else(|| fail("it is no https URL".to_owned()))?;
        let until = Instant::now() + PATIENCE;
        let socket = connect(&parts, &self.resolve, until).map_err(fail)?;
        let name = ServerName::try_from(parts.host.to_owned()).map_err(|error| fail(error.to_string()))?;
        let session =
            ClientConnection::new(Arc::clone(&self.tls), name).map_err(|error| fail(error.to_string()))?;
        let mut stream = StreamOwned::new(session, socket);
        let mut request = head(method, &parts, parts.target, fields).into_bytes();
        request.extend_from_slice(body);
        let bounds = Bounds { until, largest: LARGEST };
        ask(&mut stream, &request, bounds, method == "HEAD").map_err(|error| fail(said(&error)))
    }
}

/// The head of a request to a URL's host, on a connection of its own; `fields` are whole lines.
fn head(method: &str, url: &Url<'_>, target: &str, fields: &str) -> String {
    let slash = if target.starts_with('/') { "" } else { "/" };
    format!(
        "{method} {slash}{target} HTTP/1.1\r\nHost: {}\r\nUser-Agent: {AGENT}\r\n{fields}Connection: close\r\n\r\n",
        url.authority
    )
}

/// How long an exchange may take, and how large its answer may be.
#[derive(Clone, Copy)]
struct Bounds {
    until: Instant,
    /// Of the body, bytes.
    largest: usize,
}

/// `GET` over plain HTTP, whose answer must prove itself and has no more than `largest` bytes; redirects are not followed. An
/// error is a sentence. The addresses of the host share the time, so that one which hangs does not stand for all: `worked`
/// is tried first, and told which answered.
pub(crate) fn get_plain(
    url: &str,
    suffix: &str,
    largest: usize,
    resolve: &Resolve,
    worked: &mut Option<IpAddr>,
) -> Result<Reply, String> {
    let parts = plain(url).ok_or("it is no http URL")?;
    let between = if parts.target.ends_with('/') || parts.target.is_empty() { "" } else { "/" };
    let request = head("GET", &parts, &format!("{}{between}{suffix}", parts.target), "");
    let mut addresses = addresses(&parts, resolve)?;
    addresses.sort_by_key(|address| Some(*address) != *worked);
    addresses.truncate(MOST_ADDRESSES);
    let end = Instant::now() + CONNECT_PATIENCE;
    let mut outcome = Err(format!("\"{}\" has no address", parts.host));
    for (index, address) in addresses.iter().enumerate() {
        let now = Instant::now();
        let share = end.saturating_duration_since(now) / (addresses.len() - index) as u32;
        let bounds = Bounds { until: now + share, largest };
        outcome = ask_at(SocketAddr::new(*address, parts.port), request.as_bytes(), bounds);
        if outcome.as_ref().is_ok_and(|reply| reply.status == 200) {
            *worked = Some(*address);
            break;
        }
    }
    outcome
}

/// Asks one address. An error is a sentence.
fn ask_at(address: SocketAddr, request: &[u8], bounds: Bounds) -> Result<Reply, String> {
    let told = |error: io::Error| format!("{}: {}", address.ip(), said(&error));
    let left = bounds.until.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err(told(io::ErrorKind::TimedOut.into()));
    }
    let mut socket = TcpStream::connect_timeout(&address, left).map_err(told)?;
    ask(&mut socket, request, bounds, false).map_err(told)
}

fn plain(url: &str) -> Option<Url<'_>> {
    Url::parse_as(url, "http://", "80")
}

/// Whether a text is a URL of plain HTTP.
pub fn is_plain_url(url: &str) -> bool {
    plain(url).is_some()
}

/// The host of a URL of plain HTTP, and its port.
pub(crate) fn plain_host(url: &str) -> Option<(String, u16)> {
    plain(url).map(|url| (url.host.to_ascii_lowercase(), url.port))
}

/// An error of a connection as it is told.
fn said(error: &io::Error) -> String {
    match error.kind() {
        // What a blocking socket with a time-out says when it is over.
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => "it did not answer in time".to_owned(),
        _ => error.to_string(),
    }
}

/// The addresses of a URL's host.
fn addresses(url: &Url<'_>, resolve: &Resolve) -> Result<Vec<IpAddr>, String> {
    match url.host.parse::<IpAddr>() {
        Ok(address) => Ok(vec![address]),
        Err(_) => resolve(url.host),
    }
}

fn connect(url: &Url<'_>, resolve: &Resolve, until: Instant) -> Result<TcpStream, String> {
    let addresses = addresses(url, resolve)?;
    let mut last = format!("\"{}\" has no address", url.host);
    for address in addresses {
        let left = until.saturating_duration_since(Instant::now()).min(CONNECT_PATIENCE);
        if left.is_zero() {
            break;
        }
        match TcpStream::connect_timeout(&SocketAddr::new(address, url.port), left) {
            Ok(socket) => return Ok(socket),
            Err(error) => last = format!("{address}: {error}"),
        }
    }
    Err(last)
}

/// A connection, bare or by TLS.
trait Stream: Read + Write {
    fn socket(&self) -> &TcpStream;
}

impl Stream for TcpStream {
    fn socket(&self) -> &TcpStream {
        self
    }
}

impl Stream for StreamOwned<ClientConnection, TcpStream> {
    fn socket(&self) -> &TcpStream {
        &self.sock
    }
}

/// Sends a request and receives its answer.
fn ask(stream: &mut impl Stream, request: &[u8], bounds: Bounds, headless: bool) -> io::Result<Reply> {
    set_patience(stream.socket(), bounds.until)?;
    stream.write_all(request).and_then(|()| stream.flush())?;
    receive(stream, bounds, headless)
}

/// A `Location` seen from the URL that sent it.
fn absolute(base: &str, location: &str) -> String {
    if location.starts_with('/')
        && let Some(url) = Url::parse(base)
    {
        return format!("https://{}{location}", url.authority);
    }
    location.to_owned()
}

fn set_patience(socket: &TcpStream, until: Instant) -> io::Result<()> {
    let left = until.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err(io::ErrorKind::TimedOut.into());
    }
    socket.set_read_timeout(Some(left))?;
    socket.set_write_timeout(Some(left))
}

/// Reads more of the answer. Zero at its end, said or not: the framing tells whether something is missing.
fn read_more(stream: &mut impl Stream, bounds: Bounds, buffer: &mut Vec<u8>) -> io::Result<usize> {
    if buffer.len() > bounds.largest + HEAD_ROOM {
        return Err(invalid("it sends too much"));
    }
    set_patience(stream.socket(), bounds.until)?;
    let mut piece = [0; 8192];
    match stream.read(&mut piece) {
        Ok(count) => {
            buffer.extend_from_slice(&piece[..count]);
            Ok(count)
        }
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(0),
        Err(error) => Err(error),
    }
}

fn receive(stream: &mut impl Stream, bounds: Bounds, headless: bool) -> io::Result<Reply> {
    let mut buffer = Vec::new();
    let mut head = ResponseHead::default();
    loop {
        match parse_response(&buffer, &HeadLimits::default(), &mut head) {
            Ok(Parsed::Complete(length)) => {
                buffer.drain(..length);
                if head.status >= 200 {
                    break;
                }
            }
            Ok(Parsed::Partial) => {
                if read_more(stream, bounds, &mut buffer)? == 0 {
                    return Err(invalid("it closed the connection"));
                }
            }
            Err(error) => return Err(invalid(error.as_str())),
        }
    }
    let body = if headless || head.status == 204 || head.status == 304 {
        Vec::new()
    } else {
        read_body(stream, bounds, &head, buffer)?
    };
    Ok(Reply { status: head.status, fields: head.fields, body })
}

fn read_body(
    stream: &mut impl Stream,
    bounds: Bounds,
    head: &ResponseHead,
    mut buffer: Vec<u8>,
) -> io::Result<Vec<u8>> {
    const CUT: &str = "its answer ends too early";
    if head.fields.has(Known::TransferEncoding) {
        let (mut decoder, mut body) = (ChunkedDecoder::of_origin(), Vec::new());
        loop {
            let chunk = decoder.decode(&buffer).map_err(|error| invalid(error.as_str()))?;
            body.extend_from_slice(&buffer[chunk.data.clone()]);
            buffer.drain(..chunk.consumed);
            if chunk.done {
                return Ok(body);
            }
            if body.len() > bounds.largest {
                return Err(invalid("it sends too much"));
            }
            if chunk.consumed == 0 && read_more(stream, bounds, &mut buffer)? == 0 {
                return Err(invalid(CUT));
            }
        }
    }
    let length = match head.fields.known(Known::ContentLength) {
        None => None,
        Some(text) => {
            let length = std::str::from_utf8(text).ok().and_then(|text| text.parse::<usize>().ok());
            Some(
                length
                    .filter(|length| *length <= bounds.largest)
                    .ok_or_else(|| invalid("its length makes no sense"))?,
            )
        }
    };
    while length.is_none_or(|length| buffer.len() < length) {
        if read_more(stream, bounds, &mut buffer)? == 0 {
            return if length.is_none() { Ok(buffer) } else { Err(invalid(CUT)) };
        }
    }
    buffer.truncate(length.unwrap_or(buffer.len()));
    Ok(buffer)
}

fn invalid(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A responder at an address of this machine, which says this to whoever asks; or nothing, keeping them waiting.
    fn responder(at: SocketAddr, answer: Option<&'static [u8]>) -> SocketAddr {
        let socket = std::net::TcpListener::bind(at).unwrap();
        let address = socket.local_addr().unwrap();
        std::thread::spawn(move || {
            let mut waiting = Vec::new();
            while let Ok((mut client, _)) = socket.accept() {
                if let Some(answer) = answer {
                    let _ = client.read(&mut [0; 4096]).and_then(|_| client.write_all(answer));
                } else {
                    waiting.push(client);
                }
            }
        });
        address
    }

    #[test]
    fn an_address_that_hangs_does_not_stand_for_the_others() {
        let [silent, broken, good] = [2, 3, 4].map(|last| IpAddr::from([127, 0, 0, last]));
        let port = responder(SocketAddr::new(silent, 0), None).port();
        responder(SocketAddr::new(broken, port), Some(b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n"));
        responder(SocketAddr::new(good, port), Some(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"));
        let url = format!("http://ocsp.test:{port}/");
        let ask = |all: &[IpAddr], worked: &mut Option<IpAddr>| {
            let all = all.to_vec();
            let resolve: Resolve = Arc::new(move |_| Ok(all.clone()));
            get_plain(&url, "x", 100, &resolve, worked)
        };
        let mut worked = None;
        assert_eq!(ask(&[silent, broken, good], &mut worked).unwrap().body, b"hi");
        assert_eq!(worked, Some(good));
        // Asked first from now on: of a hundred silent ones nobody would come to the last.
        let mut crowd = vec![silent; 100];
        crowd.push(good);
        assert_eq!(ask(&crowd, &mut worked).unwrap().body, b"hi");
        assert_eq!(ask(&[broken], &mut worked).unwrap().status, 500);
        assert_eq!(worked, Some(good));
        assert!(ask(&[], &mut worked).unwrap_err().contains("has no address"));
    }

    #[test]
    fn urls_are_taken_apart() {
        let parts = |url| Url::parse(url).map(|url| (url.host, url.port, url.target));
        assert_eq!(parts("https://ca.test/dir?x#y"), Some(("ca.test", 443, "/dir?x")));
        assert_eq!(parts("HTTPS://ca.test:14000"), Some(("ca.test", 14000, "")));
        assert_eq!(parts("https://[::1]:8443/a"), Some(("::1", 8443, "/a")));
        assert_eq!(parts("https://[::1]/a"), Some(("::1", 443, "/a")));
        for url in [
            "http://ca.test/",
            "https://",
            "https://a:0/",
            "https://a:b/",
            "https://u@a/",
            "https://a/ b",
            "ca",
        ] {
            assert_eq!(parts(url), None, "{url}");
        }
        assert_eq!(absolute("https://a.test:5/x", "/y"), "https://a.test:5/y");
        assert_eq!(absolute("https://a.test/x", "https://b.test/"), "https://b.test/");
    }
}
