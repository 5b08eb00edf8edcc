//! One exchange over HTTPS, on a connection of its own: blocking, bounded in time and bytes.

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
/// The largest answer; a chain of certificates has some kilobytes.
const LARGEST: usize = 1 << 20;
/// Redirects that a GET follows.
const MOST_REDIRECTS: usize = 5;

/// Looks up a host name; an error is a sentence.
pub type Resolve = Arc<dyn Fn(&str) -> Result<Vec<IpAddr>, String> + Send + Sync>;

/// A client.
pub struct Https {
    tls: Arc<ClientConfig>,
    resolve: Resolve,
    agent: String,
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

/// The parts of an `https:` URL.
#[derive(Debug, PartialEq, Eq)]
struct Url<'a> {
    /// As it stands in `Host`.
    authority: &'a str,
    /// Without the brackets of an address.
    host: &'a str,
    port: u16,
    target: &'a str,
}

impl<'a> Url<'a> {
    fn parse(url: &'a str) -> Option<Self> {
        let is_plain = url.bytes().all(|byte| byte.is_ascii_graphic());
        let scheme = url.get(..8).filter(|scheme| is_plain && scheme.eq_ignore_ascii_case("https://"))?;
        let rest = &url[scheme.len()..];
        let rest = rest.split('#').next().unwrap_or_default();
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, target) = rest.split_at(end);
        if authority.contains('@') {
            return None;
        }
        let (host, port) = match authority.strip_prefix('[') {
            Some(rest) => {
                let (host, port) = rest.split_once(']')?;
                (host, port.strip_prefix(':').or(port.is_empty().then_some("443"))?)
            }
            None => authority.split_once(':').unwrap_or((authority, "443")),
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
        Self { tls, resolve, agent: format!("Myriad/{}", env!("CARGO_PKG_VERSION")) }
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
        let socket = self.connect(&parts, until).map_err(fail)?;
        let name = ServerName::try_from(parts.host.to_owned()).map_err(|error| fail(error.to_string()))?;
        let session =
            ClientConnection::new(Arc::clone(&self.tls), name).map_err(|error| fail(error.to_string()))?;
        let mut stream = StreamOwned::new(session, socket);
        let target = if parts.target.starts_with('/') { "" } else { "/" };
        let mut request = format!(
            "{method} {target}{} HTTP/1.1\r\nHost: {}\r\nUser-Agent: {}\r\n{fields}Connection: close\r\n\r\n",
            parts.target, parts.authority, self.agent
        )
        .into_bytes();
        request.extend_from_slice(body);
        let io = |error: io::Error| match error.kind() {
            // What a blocking socket with a time-out says when it is over.
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
                fail("it did not answer in time".to_owned())
            }
            _ => fail(error.to_string()),
        };
        set_patience(&stream.sock, until).map_err(io)?;
        stream.write_all(&request).and_then(|()| stream.flush()).map_err(io)?;
        receive(&mut stream, until, method == "HEAD").map_err(io)
    }

    fn connect(&self, url: &Url<'_>, until: Instant) -> Result<TcpStream, String> {
        let addresses = match url.host.parse::<IpAddr>() {
            Ok(address) => vec![address],
            Err(_) => (self.resolve)(url.host)?,
        };
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

type Stream = StreamOwned<ClientConnection, TcpStream>;

/// Reads more of the answer. Zero at its end, said or not: the framing tells whether something is missing.
fn read_more(stream: &mut Stream, until: Instant, buffer: &mut Vec<u8>) -> io::Result<usize> {
    if buffer.len() > LARGEST {
        return Err(invalid("it sends too much"));
    }
    set_patience(&stream.sock, until)?;
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

fn receive(stream: &mut Stream, until: Instant, headless: bool) -> io::Result<Reply> {
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
                if read_more(stream, until, &mut buffer)? == 0 {
                    return Err(invalid("it closed the connection"));
                }
            }
            Err(error) => return Err(invalid(error.as_str())),
        }
    }
    let body = if headless || head.status == 204 || head.status == 304 {
        Vec::new()
    } else {
        read_body(stream, until, &head, buffer)?
    };
    Ok(Reply { status: head.status, fields: head.fields, body })
}

fn read_body(
    stream: &mut Stream,
    until: Instant,
    head: &ResponseHead,
    mut buffer: Vec<u8>,
) -> io::Result<Vec<u8>> {
    const CUT: &str = "its answer ends too early";
    if head.fields.has(Known::TransferEncoding) {
        let (mut decoder, mut body) = (ChunkedDecoder::default(), Vec::new());
        loop {
            let chunk = decoder.decode(&buffer).map_err(|error| invalid(error.as_str()))?;
            body.extend_from_slice(&buffer[chunk.data.clone()]);
            buffer.drain(..chunk.consumed);
            if chunk.done {
                return Ok(body);
            }
            if body.len() > LARGEST {
                return Err(invalid("it sends too much"));
            }
            if chunk.consumed == 0 && read_more(stream, until, &mut buffer)? == 0 {
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
                    .filter(|length| *length <= LARGEST)
                    .ok_or_else(|| invalid("its length makes no sense"))?,
            )
        }
    };
    while length.is_none_or(|length| buffer.len() < length) {
        if read_more(stream, until, &mut buffer)? == 0 {
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
