//! Parser of TLS client hellos (RFC 8446 section 4.1.2, RFC 5246 section 7.4.1.2). Does no I/O.

use std::net::Ipv4Addr;

/// Content type of TLS records with handshake messages (RFC 8446 section 5.1).
const HANDSHAKE: u8 = 22;
/// Type of the client hello message (RFC 8446 section 4).
const CLIENT_HELLO: u8 = 1;
/// Type of the TLS extension with the requested server name (RFC 6066 section 3).
const SERVER_NAME: u16 = 0;
/// Type of the TLS extension with the ALPN protocols (RFC 7301 section 3.1).
const ALPN: u16 = 16;
/// Type of the TLS extension with the supported versions (RFC 8446 section 4.2.1).
const SUPPORTED_VERSIONS: u16 = 43;
/// Maximum length of a host name in bytes (RFC 1035 section 2.3.4).
const LONGEST_NAME: usize = 255;

/// Values read from a TLS client hello, for `$ssl_preread_*` variables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PrereadHello {
    /// Requested server name (`$ssl_preread_server_name`); empty if there is none or it is not a valid host name.
    pub server_name: Vec<u8>,
    /// ALPN protocols, separated by commas (`$ssl_preread_alpn_protocols`); empty if the client offers none.
    pub alpn: Vec<u8>,
    /// Highest TLS or SSL version that the client supports (`$ssl_preread_protocol`); empty if the version is unknown.
    pub protocol: &'static str,
}

/// Result of parsing the first bytes of a connection as a TLS client hello.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HelloProgress {
    /// The client hello is incomplete.
    Partial,
    /// The result is final; `None` if the bytes are not a valid client hello.
    Done(Option<PrereadHello>),
}

/// Parses the first bytes of a connection as a TLS client hello, or as a client hello in SSL 2.0 format.
pub fn parse_hello(bytes: &[u8]) -> HelloProgress {
    if let [first, _, 1, version, minor, ..] = bytes
        && first & 0x80 != 0
        && matches!(version, 0 | 3)
    {
        // Client hello in SSL 2.0 format, which old clients send even if they support TLS.
        let protocol =
            if *version == 0 { "SSLv2" } else { version_name(u16::from_be_bytes([*version, *minor])) };
        return HelloProgress::Done(Some(PrereadHello { protocol, ..PrereadHello::default() }));
    }
    let mut message = Vec::new();
    let mut rest = HelloReader(bytes);
    loop {
        let Some((&kind, &major)) = rest.0.first().zip(rest.0.get(1)) else {
            let is_other = rest.0.first().is_some_and(|kind| *kind != HANDSHAKE && kind & 0x80 == 0);
            return if is_other { HelloProgress::Done(None) } else { HelloProgress::Partial };
        };
        if kind != HANDSHAKE || major != 3 {
            return if kind & 0x80 != 0 && bytes.len() < 5 {
                HelloProgress::Partial
            } else {
                HelloProgress::Done(None)
            };
        }
        let Some(length) = rest.0.get(3..5).map(|length| u16::from_be_bytes([length[0], length[1]])) else {
            return HelloProgress::Partial;
        };
        let whole = rest.0.get(5..5 + usize::from(length));
        let is_whole = whole.is_some();
        message.extend_from_slice(whole.unwrap_or(&rest.0[5..]));
        if message.first().is_some_and(|kind| *kind != CLIENT_HELLO) || length == 0 {
            return HelloProgress::Done(None);
        }
        if let Some(body) = message_body(&message) {
            return HelloProgress::Done(parse_hello_body(body));
        }
        if !is_whole {
            return HelloProgress::Partial;
        }
        rest = HelloReader(&rest.0[5 + usize::from(length)..]);
    }
}

/// Returns the body of a handshake message; `None` if it is incomplete.
fn message_body(message: &[u8]) -> Option<&[u8]> {
    let [_, high, middle, low, body @ ..] = message else { return None };
    body.get(..u32::from_be_bytes([0, *high, *middle, *low]) as usize)
}

/// Parses the body of a client hello; `None` if it is malformed.
fn parse_hello_body(body: &[u8]) -> Option<PrereadHello> {
    let mut body = HelloReader(body);
    let mut version = body.number()?;
    // Skips the random bytes, session ID, cipher suites and compression methods.
    body.take(32)?;
    let session = body.byte()?;
    body.take(session.into())?;
    body.list()?;
    let methods = body.byte()?;
    body.take(methods.into())?;
    let mut hello = PrereadHello::default();
    let mut extensions = if body.0.is_empty() { HelloReader(&[]) } else { body.list()? };
    while !extensions.0.is_empty() {
        let kind = extensions.number()?;
        // A truncated last extension is parsed as far as it goes, as in nginx.
        let length = extensions.number()?;
        let content = HelloReader(extensions.take(usize::from(length).min(extensions.0.len()))?);
        match kind {
            SERVER_NAME => hello.server_name = host_name(server_name(content)?).to_vec(),
            ALPN => hello.alpn = alpn_protocols(content)?,
            SUPPORTED_VERSIONS => version = highest_version(content, version)?,
            _ => {}
        }
    }
    hello.protocol = version_name(version);
    Some(hello)
}

/// Returns the host name in the server name extension; empty if it contains none, `None` if it is malformed.
fn server_name(mut content: HelloReader<'_>) -> Option<&[u8]> {
    let mut names = content.list()?;
    while !names.0.is_empty() {
        let kind = names.byte()?;
        let name = names.list()?;
        if kind == 0 {
            return Some(name.0);
        }
    }
    Some(b"")
}

/// Returns the name if it is a valid host name and not an IP address; otherwise an empty name (RFC 6066 section 3). A
/// configuration may relay the connection to this name, so a client must not be able to choose a port, a socket path or
/// an address.
fn host_name(name: &[u8]) -> &[u8] {
    let is_of_a_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
    let is_address = || std::str::from_utf8(name).is_ok_and(|name| name.parse::<Ipv4Addr>().is_ok());
    if name.len() <= LONGEST_NAME && name.iter().all(is_of_a_name) && !is_address() { name } else { b"" }
}

fn alpn_protocols(mut content: HelloReader<'_>) -> Option<Vec<u8>> {
    let mut list = content.list()?;
    let mut joined = Vec::new();
    while !list.0.is_empty() {
        let length = list.byte()?;
        if !joined.is_empty() {
            joined.push(b',');
        }
        joined.extend_from_slice(list.take(length.into())?);
    }
    Some(joined)
}

/// Returns the highest known version of a list, or `otherwise` if it has none; `None` if the list is malformed. Unknown
/// versions are ignored, because clients add random ones (RFC 8701).
fn highest_version(mut content: HelloReader<'_>, otherwise: u16) -> Option<u16> {
    let length = content.byte()?;
    let mut list = HelloReader(content.take(length.into())?);
    let mut highest = None;
    while !list.0.is_empty() {
        let version = list.number()?;
        if !version_name(version).is_empty() {
            highest = highest.max(Some(version));
        }
    }
    Some(highest.unwrap_or(otherwise))
}

fn version_name(version: u16) -> &'static str {
    match version {
        0x0300 => "SSLv3",
        0x0301 => "TLSv1",
        0x0302 => "TLSv1.1",
        0x0303 => "TLSv1.2",
        // Drafts of TLS 1.3 use 0x7f00 and above.
        0x0304 | 0x7f00..=0x7fff => "TLSv1.3",
        _ => "",
    }
}

/// Reader of a client hello that takes bytes from the front.
#[derive(Clone, Copy)]
struct HelloReader<'a>(&'a [u8]);

impl<'a> HelloReader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1).map(|taken| taken[0])
    }

    fn number(&mut self) -> Option<u16> {
        self.take(2).map(|taken| u16::from_be_bytes([taken[0], taken[1]]))
    }

    /// Reads a list that is preceded by its length in two bytes; `None` if it is truncated.
    fn list(&mut self) -> Option<Self> {
        let length = self.number()?;
        self.take(length.into()).map(Self)
    }
}
