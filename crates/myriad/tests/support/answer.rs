//! Raw requests, and the responses to them.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Response with its body, which is decoded if it is chunked but not decompressed.
#[derive(Debug)]
pub(crate) struct RawAnswer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl RawAnswer {
    /// Returns the value of the first header field with that name, regardless of letter case; `None` without one.
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (known, value) = line.split_once(':')?;
            known.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// Connects, with a read timeout of 15 seconds.
pub(crate) fn connect(address: (&str, u16)) -> TcpStream {
    let stream = TcpStream::connect(address).expect("a connection");
    stream.set_read_timeout(Some(Duration::from_secs(15))).expect("a time-out");
    stream
}

/// Sends the lines of a request head, with `Host: localhost` and `Connection: close` added, and a body. Returns the
/// response.
pub(crate) fn ask(address: (&str, u16), head: &[&str], body: &[u8]) -> RawAnswer {
    let mut stream = connect(address);
    let mut request = head.join("\r\n");
    request.push_str("\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("the request");
    // Fails if the server responds early and closes the connection.
    let _ = stream.write_all(body);
    read(stream)
}

/// Reads a response that is complete when its connection is closed.
pub(crate) fn read(mut stream: TcpStream) -> RawAnswer {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).expect("the answer");
    parse(&bytes).unwrap_or_else(|| panic!("no answer: {:?}", String::from_utf8_lossy(&bytes)))
}

fn parse(bytes: &[u8]) -> Option<RawAnswer> {
    let end = bytes.windows(4).position(|part| part == b"\r\n\r\n")?;
    let head = String::from_utf8(bytes[..end].to_vec()).ok()?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    let body = bytes[end + 4..].to_vec();
    let chunked = head.to_ascii_lowercase().contains("transfer-encoding: chunked");
    Some(RawAnswer { status, body: if chunked { unchunked(&body)? } else { body }, head })
}

fn unchunked(mut rest: &[u8]) -> Option<Vec<u8>> {
    let mut whole = Vec::new();
    loop {
        let line = rest.windows(2).position(|part| part == b"\r\n")?;
        let size = usize::from_str_radix(std::str::from_utf8(&rest[..line]).ok()?, 16).ok()?;
        rest = &rest[line + 2..];
        if size == 0 {
            return Some(whole);
        }
        whole.extend_from_slice(rest.get(..size)?);
        rest = rest.get(size + 2..)?;
    }
}
