//! Parsing of the URL of `proxy_pass`.

use std::borrow::Cow;
use std::fmt;

use myriad_base::digits::decimal;

/// Parsed URL of `proxy_pass` or `grpc_pass`: the server, and the path that replaces the location's prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PassUrl {
    /// Host as written in the URL, with brackets around an IPv6 address; for a unix socket, its path.
    host: String,
    /// Port as written in the URL; `None` for the default port.
    port: Option<String>,
    /// True for a unix socket.
    unix: bool,
    /// True for `https://` or `grpcs://`.
    secure: bool,
    /// Path and query as written, possibly empty; a query without a path gets a `/` before it.
    pub uri: Vec<u8>,
}

/// Parse error of a `proxy_pass` or `grpc_pass` URL; displayed with nginx's messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PassUrlError {
    /// The text starts with a scheme that is not supported, or a `proxy_pass` URL has no scheme.
    Prefix,
    /// The URL has no host, or no path of a unix socket.
    NoHost,
    /// The host or the path of the unix socket contains invalid characters.
    InvalidHost,
    /// The port of the URL is not a number from 1 to 65535.
    Port,
}

impl fmt::Display for PassUrlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Prefix => "invalid URL prefix",
            Self::NoHost => "no host",
            Self::InvalidHost => "invalid host",
            Self::Port => "invalid port",
        })
    }
}

impl PassUrl {
    /// Parses a `proxy_pass` URL `http://HOST[:PORT][URI]` or `http://unix:PATH[:URI]`, or the same with `https`.
    pub(crate) fn parse(text: &[u8]) -> Result<Self, PassUrlError> {
        let prefixed = |prefix: &str| {
            let begin =
                text.get(..prefix.len()).filter(|begin| begin.eq_ignore_ascii_case(prefix.as_bytes()));
            begin.map(|begin| &text[begin.len()..])
        };
        let secured = prefixed("https://");
        let secure = secured.is_some();
        let rest = secured.or_else(|| prefixed("http://")).ok_or(PassUrlError::Prefix)?;
        if rest.get(..5).is_some_and(|begin| begin.eq_ignore_ascii_case(b"unix:")) {
            return Self::unix(&rest[5..], secure);
        }
        let end = rest.iter().position(|byte| matches!(byte, b'/' | b'?')).unwrap_or(rest.len());
        let (authority, uri) = rest.split_at(end);
        let authority = std::str::from_utf8(authority).map_err(|_| PassUrlError::InvalidHost)?;
        let (host, port) = split_authority(authority);
        if host.is_empty() {
            return Err(PassUrlError::NoHost);
        }
        // The host is written to the `Host` field and to logs, so blanks and control characters are rejected.
        if !host.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(PassUrlError::InvalidHost);
        }
        if port.is_some_and(|port| !is_port(port)) {
            return Err(PassUrlError::Port);
        }
        let port = port.map(str::to_owned);
        Ok(Self { host: host.to_owned(), port, unix: false, secure, uri: rooted(uri) })
    }

    /// Parses a `grpc_pass` URL `[grpc://]HOST[:PORT]` or `[grpc://]unix:PATH`, or the same with `grpcs`. A path after
    /// the host is accepted here.
    pub(crate) fn of_grpc(text: &[u8]) -> Result<Self, PassUrlError> {
        let at = text.windows(3).position(|part| part == b"://");
        let (scheme, rest) = match at {
            Some(at) if text[..at].eq_ignore_ascii_case(b"grpc") => (&b"http://"[..], &text[at + 3..]),
            Some(at) if text[..at].eq_ignore_ascii_case(b"grpcs") => (&b"https://"[..], &text[at + 3..]),
            Some(_) => return Err(PassUrlError::Prefix),
            None => (&b"http://"[..], text),
        };
        Self::parse(&[scheme, rest].concat())
    }

    fn unix(rest: &[u8], secure: bool) -> Result<Self, PassUrlError> {
        let end = rest.iter().position(|byte| *byte == b':');
        let (path, uri) = end.map_or((rest, &b""[..]), |at| (&rest[..at], &rest[at + 1..]));
        match std::str::from_utf8(path) {
            Ok(path) if !path.is_empty() => {
                Ok(Self { host: path.to_owned(), port: None, unix: true, secure, uri: rooted(uri) })
            }
            Ok(_) => Err(PassUrlError::NoHost),
            Err(_) => Err(PassUrlError::InvalidHost),
        }
    }

    /// Returns whether the URL requires TLS.
    pub(crate) fn is_secure(&self) -> bool {
        self.secure
    }

    /// Returns the scheme of the URL, `http` or `https`.
    pub(super) fn scheme(&self) -> &'static str {
        if self.secure { "https" } else { "http" }
    }

    /// Returns the default port of the URL's scheme.
    fn usual_port(&self) -> &'static str {
        if self.secure { "443" } else { "80" }
    }

    /// Returns the name that an `upstream` block would have: the host in lower case. `None` for a unix socket or with a
    /// port.
    pub(super) fn group_name(&self) -> Option<String> {
        (!self.unix && self.port.is_none()).then(|| self.host.to_ascii_lowercase())
    }

    /// Returns the address of the connection: `HOST:PORT` or `unix:PATH`.
    pub(super) fn address(&self) -> String {
        if self.unix {
            return format!("unix:{}", self.host);
        }
        format!("{}:{}", self.host, self.port.as_deref().unwrap_or(self.usual_port()))
    }

    /// Returns the host and port for name resolution; `None` for a unix socket or an IPv6 address in brackets.
    pub(super) fn name(&self) -> Option<(&str, u16)> {
        let port = self.port.as_deref().unwrap_or(self.usual_port()).parse().ok()?;
        (!self.unix && !self.host.starts_with('[')).then_some((&self.host, port))
    }

    /// Returns the value of `$proxy_host`, the default of `Host` in requests: the host, with the port unless it is the
    /// default one; `localhost` for a unix socket.
    pub(super) fn proxy_host(&self) -> Cow<'_, str> {
        match &self.port {
            _ if self.unix => Cow::Borrowed("localhost"),
            Some(port) if port != self.usual_port() => Cow::Owned(format!("{}:{port}", self.host)),
            _ => Cow::Borrowed(&self.host),
        }
    }

    /// Returns the value of `$proxy_port`; empty for a unix socket.
    pub(super) fn proxy_port(&self) -> &str {
        if self.unix { "" } else { self.port.as_deref().unwrap_or(self.usual_port()) }
    }
}

/// Splits host and port (`None` if there is no colon); colons within brackets belong to the host.
fn split_authority(authority: &str) -> (&str, Option<&str>) {
    let from = authority.rfind(']').unwrap_or(0);
    match authority[from..].find(':') {
        Some(at) => (&authority[..from + at], Some(&authority[from + at + 1..])),
        None => (authority, None),
    }
}

fn is_port(text: &str) -> bool {
    decimal::<u16>(text).is_some_and(|port| port > 0)
}

fn rooted(uri: &[u8]) -> Vec<u8> {
    if uri.first() == Some(&b'?') { [b"/", uri].concat() } else { uri.to_vec() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> PassUrl {
        PassUrl::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn proxy_pass_url_is_split_into_parts() {
        let plain = url("http://backend");
        assert_eq!(plain.group_name().as_deref(), Some("backend"));
        assert_eq!((plain.address(), plain.proxy_host()), ("backend:80".into(), "backend".into()));
        assert_eq!((plain.proxy_port(), &plain.uri[..]), ("80", &b""[..]));
        let full = url("HTTP://127.0.0.1:8080/a?b");
        assert_eq!(full.group_name(), None);
        assert_eq!((full.address(), full.proxy_host()), ("127.0.0.1:8080".into(), "127.0.0.1:8080".into()));
        assert_eq!(full.uri, b"/a?b");
        assert_eq!(url("http://h:80/").proxy_host(), "h");
        let six = url("http://[::1]:81/x");
        assert_eq!((six.address(), six.proxy_port()), ("[::1]:81".into(), "81"));
        assert_eq!(url("http://[::1]").address(), "[::1]:80");
        assert_eq!(url("http://h?q=1").uri, b"/?q=1");
    }

    #[test]
    fn https_has_a_port_of_its_own() {
        let url = url("https://backend/x");
        assert!(url.is_secure());
        assert_eq!((url.address(), url.proxy_host()), ("backend:443".into(), "backend".into()));
        assert_eq!(self::url("https://h:80").proxy_host(), "h:80");
        assert_eq!(self::url("https://unix:/s:/u").address(), "unix:/s");
    }

    #[test]
    fn a_socket_ends_at_a_colon() {
        let socket = url("http://unix:/tmp/a.sock:/uri/");
        assert_eq!((socket.address(), &socket.uri[..]), ("unix:/tmp/a.sock".into(), &b"/uri/"[..]));
        assert_eq!((socket.proxy_host(), socket.proxy_port()), ("localhost".into(), ""));
        assert_eq!(url("http://unix:/tmp/a.sock").address(), "unix:/tmp/a.sock");
    }

    #[test]
    fn what_is_no_url_is_refused() {
        for (text, error) in [
            ("ftp://h", PassUrlError::Prefix),
            ("h:80", PassUrlError::Prefix),
            ("http://", PassUrlError::NoHost),
            ("http:///x", PassUrlError::NoHost),
            ("http://:80", PassUrlError::NoHost),
            ("http://a\r\nb/", PassUrlError::InvalidHost),
            ("http://a b/", PassUrlError::InvalidHost),
            ("http://café/", PassUrlError::InvalidHost),
            ("http://unix:", PassUrlError::NoHost),
            ("http://h:0", PassUrlError::Port),
            ("http://h:", PassUrlError::Port),
            ("http://h:8x", PassUrlError::Port),
            ("http://h:65536", PassUrlError::Port),
        ] {
            assert_eq!(PassUrl::parse(text.as_bytes()).unwrap_err(), error, "{text}");
        }
    }

    #[test]
    fn servers_of_grpc_are_read_with_their_schemes_and_without() {
        let of = |text: &str| PassUrl::of_grpc(text.as_bytes()).map(|url| (url.address(), url.is_secure()));
        assert_eq!(of("a.example:50051"), Ok(("a.example:50051".to_owned(), false)));
        assert_eq!(of("grpc://a.example:50051"), Ok(("a.example:50051".to_owned(), false)));
        assert_eq!(of("GRPCS://a.example"), Ok(("a.example:443".to_owned(), true)));
        assert_eq!(of("grpc://unix:/a.sock"), Ok(("unix:/a.sock".to_owned(), false)));
        assert_eq!(of("http://a.example"), Err(PassUrlError::Prefix));
        assert_eq!(of(""), Err(PassUrlError::NoHost));
    }
}
