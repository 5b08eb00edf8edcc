//! Description of a request that nginx appends to messages in the error log.

use std::borrow::Cow;
use std::net::IpAddr;

use myriad_http::Known;

use super::Request;
use super::digits::address;

/// Maximum length of the request line, the URI, the host and the referrer in an error log message, in bytes each. nginx
/// limits its messages to 2 KB (`NGX_MAX_ERROR_STR`).
const SHOWN_LINE: usize = 2048;

/// Description of a request for error log messages that are written later, when the request may have changed. One is
/// created for every request to an origin and few are read, so the bytes are in one allocation and converted to text
/// only when read.
pub struct ErrorLogContext {
    client: Option<IpAddr>,
    /// Part of the description that precedes the origin in a message, without the client, followed by the part that
    /// follows the origin.
    text: Vec<u8>,
    /// Offset in `text` of the part that follows the origin in a message.
    host_at: usize,
}

impl ErrorLogContext {
    /// Returns the part of the description that precedes the origin in a message: client, server, request line,
    /// subrequest.
    pub fn client_text(&self) -> String {
        let mut line = b", client: ".to_vec();
        address(&mut line, self.client);
        line.extend_from_slice(&self.text[..self.host_at]);
        String::from_utf8_lossy(&line).into_owned()
    }

    /// Returns the part of the description that follows the origin in a message: host and referrer.
    pub fn referrer_text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.text[self.host_at..])
    }
}

impl Request {
    /// Returns the description that nginx appends to messages about this request.
    pub fn error_log_context(&self) -> ErrorLogContext {
        let line = shortened(self.received.head.request_line());
        let server = &self.server().name[..];
        let fields = [(&b", host: \""[..], Known::Host), (b", referrer: \"", Known::Referer)];
        let fields = fields.map(|(before, field)| (before, self.received.head.known(field).map(shortened)));
        let shown: usize = fields.iter().filter_map(|(_, value)| value.map(<[u8]>::len)).sum();
        let mut text = Vec::with_capacity(64 + line.len() + server.len() + shown);
        for part in [b", server: ", server, b", request: \"", line, b"\""] {
            text.extend_from_slice(part);
        }
        if self.is_subrequest() {
            for part in [b", subrequest: \"", shortened(&self.route.uri), b"\""] {
                text.extend_from_slice(part);
            }
        }
        let host_at = text.len();
        for (before, value) in fields {
            if let Some(value) = value {
                for part in [before, value, b"\""] {
                    text.extend_from_slice(part);
                }
            }
        }
        ErrorLogContext { client: self.client(), text, host_at }
    }
}

fn shortened(line: &[u8]) -> &[u8] {
    &line[..line.len().min(SHOWN_LINE)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_request_line_is_shown_as_far_as_nginx_shows_it() {
        assert_eq!(shortened(b"GET / HTTP/1.1"), b"GET / HTTP/1.1");
        assert_eq!(shortened(&[b'a'; 2048]).len(), 2048);
        assert_eq!(shortened(&[b'a'; 9000]).len(), 2048);
    }
}
