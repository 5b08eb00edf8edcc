//! HTTP/2 origin based on the server codec of this workspace.

use std::future::{Future, poll_fn};
use std::io::IoSlice;
use std::pin::Pin;
use std::task::Poll;

use bytes::Bytes;
use myriad_http::h2::{ClientEvent, Http2Server, Http2ServerConfig};
use myriad_http::{Method, RequestHead};
use myriad_upstream::{OriginRequest, Protocol};

use super::TestSocket;

/// Event for the script of an origin.
pub enum ScriptEvent<'a> {
    /// Request, and whether it has no body.
    Request(u32, &'a RequestHead, bool),
    /// Bytes of a body, and whether it is complete.
    Data(u32, &'a [u8], bool),
    /// The request was cancelled.
    Reset(u32),
}

/// Serves a connection until the client closes it. If `script` returns false, the connection is closed once all output
/// is sent.
pub fn serve(
    socket: &mut dyn TestSocket,
    config: Http2ServerConfig,
    mut script: impl FnMut(&mut Http2Server, ScriptEvent<'_>) -> bool,
) {
    let mut connection = Http2Server::new(config);
    let (mut input, mut head) = (Vec::new(), RequestHead::new());
    send(socket, &mut connection);
    loop {
        let mut buffer = [0; 8192];
        match socket.read(&mut buffer) {
            Ok(0) | Err(_) => return,
            Ok(read) => input.extend_from_slice(&buffer[..read]),
        }
        let mut goes_on = true;
        while let Ok(got) = connection.receive(&input, &mut head) {
            goes_on &= match got.event {
                ClientEvent::Partial => break,
                ClientEvent::Request { stream, end, malformed } => {
                    assert_eq!(malformed, None);
                    script(&mut connection, ScriptEvent::Request(stream, &head, end))
                }
                ClientEvent::Data { stream, data, end } => {
                    connection.release(stream, data.len());
                    script(&mut connection, ScriptEvent::Data(stream, &input[data], end))
                }
                ClientEvent::Reset { stream } => script(&mut connection, ScriptEvent::Reset(stream)),
                ClientEvent::Nothing | ClientEvent::BodyMalformed { .. } => true,
            };
            input.drain(..got.consumed);
        }
        send(socket, &mut connection);
        if !goes_on {
            return;
        }
    }
}

fn send(socket: &mut dyn TestSocket, connection: &mut Http2Server) {
    connection.schedule(usize::MAX);
    let output = connection.output();
    while !output.is_empty() {
        let mut slices = [IoSlice::new(&[]); 8];
        let count = output.slices(&mut slices);
        let Ok(written) = socket.write_vectored(&slices[..count]) else { return };
        output.advance(written);
    }
    let _ = socket.flush();
}

/// Answers 200 with a text.
pub fn answer(connection: &mut Http2Server, stream: u32, text: &str) -> bool {
    connection.respond(stream, 200, [], false);
    connection.send(stream, Bytes::copy_from_slice(text.as_bytes()), true);
    true
}

/// Boxed local future.
pub type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

pub fn boxed<'a, T>(future: impl Future<Output = T> + 'a) -> Boxed<'a, T> {
    Box::pin(future)
}

/// Polls all futures concurrently and returns their results in order.
pub async fn together<T>(mut all: Vec<Boxed<'_, T>>) -> Vec<T> {
    let mut done: Vec<Option<T>> = all.iter().map(|_| None).collect();
    poll_fn(|cx| {
        for (future, done) in all.iter_mut().zip(&mut done).filter(|(_, done)| done.is_none()) {
            if let Poll::Ready(result) = future.as_mut().poll(cx) {
                *done = Some(result);
            }
        }
        if done.iter().all(Option::is_some) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    done.into_iter().flatten().collect()
}

/// Creates a request over HTTP/2.
pub fn http2(method: Method, fields: &str) -> OriginRequest {
    let head = format!("{} /path HTTP/1.1\r\nHost: origin\r\n{fields}\r\n", method.as_str());
    super::request(method, Protocol::Http2 { head: head.into(), is_secure: false })
}
