//! Responder side of FastCGI, written from the specification instead of with the crate under test.

use super::TestSocket;

#[derive(Debug, Default, PartialEq)]
pub struct Request {
    pub keep_conn: bool,
    pub params: Vec<u8>,
    pub body: Vec<u8>,
}

impl Request {
    pub fn has_param(&self, name: &str, value: &str) -> bool {
        let pair = [&[name.len() as u8, value.len() as u8], name.as_bytes(), value.as_bytes()].concat();
        self.params.windows(pair.len()).any(|window| window == pair)
    }
}

/// Reads a record and returns its type and content; `None` at the end of the stream.
pub fn read_record(socket: &mut dyn TestSocket) -> Option<(u8, Vec<u8>)> {
    let mut header = [0; 8];
    socket.read_exact(&mut header).ok()?;
    assert_eq!((header[0], header[2], header[3]), (1, 0, 1), "version and request id");
    let mut content = vec![0; usize::from(u16::from_be_bytes([header[4], header[5]]))];
    socket.read_exact(&mut content).ok()?;
    socket.read_exact(&mut vec![0; usize::from(header[6])]).ok()?;
    Some((header[1], content))
}

/// Reads BEGIN_REQUEST and PARAMS; `None` at the end of the stream.
pub fn read_head(socket: &mut dyn TestSocket) -> Option<Request> {
    let (kind, begin) = read_record(socket)?;
    assert_eq!((kind, &begin[..2]), (1, &[0, 1][..]), "BEGIN_REQUEST for a responder");
    let mut request = Request { keep_conn: begin[2] == 1, ..Request::default() };
    loop {
        let (kind, content) = read_record(socket)?;
        assert_eq!(kind, 4, "PARAMS");
        if content.is_empty() {
            return Some(request);
        }
        request.params.extend_from_slice(&content);
    }
}

/// Reads a complete request; `None` at the end of the stream.
pub fn read_request(socket: &mut dyn TestSocket) -> Option<Request> {
    let mut request = read_head(socket)?;
    loop {
        let (kind, content) = read_record(socket)?;
        assert_eq!(kind, 5, "STDIN");
        if content.is_empty() {
            return Some(request);
        }
        request.body.extend_from_slice(&content);
    }
}

pub fn record(kind: u8, content: &[u8]) -> Vec<u8> {
    let [high, low] = (content.len() as u16).to_be_bytes();
    let padding = (8 - content.len() % 8) as u8 % 8;
    let mut bytes = vec![1, kind, 0, 1, high, low, padding, 0];
    bytes.extend_from_slice(content);
    bytes.resize(bytes.len() + usize::from(padding), 0);
    bytes
}

pub fn stdout(content: &[u8]) -> Vec<u8> {
    content.chunks(65_535).flat_map(|piece| record(6, piece)).collect()
}

pub fn stderr(content: &[u8]) -> Vec<u8> {
    record(7, content)
}

pub fn end() -> Vec<u8> {
    record(3, &[0; 8])
}

/// Encodes a complete response, like php-fpm.
pub fn answer(output: &str) -> Vec<u8> {
    [stdout(output.as_bytes()), end()].concat()
}

/// Answers every request of a connection.
pub fn serve(socket: &mut dyn TestSocket, mut reply: impl FnMut(Request) -> Vec<u8>) {
    while let Some(request) = read_request(socket) {
        let keep_conn = request.keep_conn;
        let reply = reply(request);
        if socket.write_all(&reply).is_err() || !keep_conn {
            return;
        }
    }
}
