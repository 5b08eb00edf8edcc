//! A client of QUIC that says nothing of HTTP/3 by itself: what it says is in the test's hands, byte for byte.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use quinn::{RecvStream, SendStream, VarInt};

use super::link::Link;
use super::{Failure, QuicVisitor};
use crate::wait_for;

/// A connection.
pub struct BareQuic {
    link: Link,
    streams: Vec<(SendStream, Option<RecvStream>)>,
    /// The server's one-way streams that were taken, by their types.
    one_way: Vec<(u8, RecvStream)>,
}

impl std::fmt::Debug for BareQuic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("BareQuic").field(&self.link.connection.remote_address()).finish()
    }
}

impl QuicVisitor {
    /// Connects to a port of the loopback address and opens no streams.
    pub fn connect_bare(&self, port: u16) -> Result<BareQuic, String> {
        BareQuic::new(self, port, false).map_err(|error| error.to_string())
    }

    /// The same without waiting for the handshake: what is sent first is 0-RTT data, if the server has told of a session.
    pub fn connect_bare_early(&self, port: u16) -> Result<BareQuic, String> {
        BareQuic::new(self, port, true).map_err(|error| error.to_string())
    }
}

impl BareQuic {
    fn new(visitor: &QuicVisitor, port: u16, early: bool) -> Result<Self, Failure> {
        let (link, _) = Link::new(visitor, port, "localhost", early)?;
        Ok(Self { link, streams: Vec::new(), one_way: Vec::new() })
    }

    /// Does something that takes time, within bounds.
    fn within<T>(&self, work: impl Future<Output = Result<T, Failure>>) -> Result<T, String> {
        self.link.within(work).map_err(|error| format!("{error:?}"))
    }

    /// Opens a stream and sends these bytes on it; the number to speak of it.
    pub fn open(&mut self, one_way: bool, bytes: &[u8]) -> Result<usize, String> {
        let opened = async {
            let (mut sender, receiver) = if one_way {
                (self.link.connection.open_uni().await?, None)
            } else {
                let (sender, receiver) = self.link.connection.open_bi().await?;
                (sender, Some(receiver))
            };
            sender.write_all(bytes).await?;
            Ok((sender, receiver))
        };
        let stream = self.within(opened)?;
        self.streams.push(stream);
        Ok(self.streams.len() - 1)
    }

    /// Sends more on a stream.
    pub fn send(&mut self, stream: usize, bytes: &[u8]) -> Result<(), String> {
        let (mut sender, receiver) = self.streams.remove(stream);
        let outcome = self.within(async { Ok(sender.write_all(bytes).await?) });
        self.streams.insert(stream, (sender, receiver));
        outcome
    }

    /// Whether the server lets one more two-way stream be opened; it is opened then, and left.
    pub fn may_open(&self) -> bool {
        self.link.runtime.block_on(async {
            let mut opened = pin!(self.link.connection.open_bi());
            poll_fn(|cx| Poll::Ready(opened.as_mut().poll(cx).is_ready())).await
        })
    }

    /// Sends as much on a stream as the server has room for now; how much that was.
    pub fn fill(&mut self, stream: usize, bytes: &[u8]) -> usize {
        let sender = &mut self.streams[stream].0;
        self.link.runtime.block_on(async {
            let mut sent = 0;
            while sent < bytes.len() {
                let mut written = pin!(sender.write(&bytes[sent..]));
                match poll_fn(|cx| Poll::Ready(written.as_mut().poll(cx))).await {
                    Poll::Ready(Ok(count)) => sent += count,
                    Poll::Ready(Err(_)) | Poll::Pending => break,
                }
            }
            sent
        })
    }

    /// Ends the client's side of a stream.
    pub fn end(&mut self, stream: usize) {
        let _ = self.streams[stream].0.finish();
    }

    /// Breaks the client's side of a stream off.
    pub fn reset(&mut self, stream: usize, code: u32) {
        let _ = self.streams[stream].0.reset(VarInt::from_u32(code));
    }

    /// All that comes on a stream until it ends, a mebibyte at most.
    pub fn answer(&mut self, stream: usize) -> Result<Vec<u8>, String> {
        self.long_answer(stream, 1 << 20)
    }

    /// The same of an answer of so many bytes at most.
    pub fn long_answer(&mut self, stream: usize, most: usize) -> Result<Vec<u8>, String> {
        let mut receiver = self.streams[stream].1.take().expect("a two-way stream, not read yet");
        self.within(async move { Ok(receiver.read_to_end(most).await?) })
    }

    /// The first bytes, so many, of an answer: the rest is read later.
    pub fn begun_answer(&mut self, stream: usize, count: usize) -> Result<Vec<u8>, String> {
        let mut receiver = self.streams[stream].1.take().expect("a two-way stream, not read yet");
        let mut bytes = vec![0; count];
        let outcome = self.within(async { Ok(receiver.read_exact(&mut bytes).await?) });
        self.streams[stream].1 = Some(receiver);
        outcome.map(|()| bytes)
    }

    /// The code by which the server resets a stream of which nothing is read.
    pub fn reset_code(&mut self, stream: usize) -> u64 {
        let mut receiver = self.streams[stream].1.take().expect("a two-way stream, not read yet");
        let code = self.within(async move { Ok(receiver.received_reset().await?) });
        code.expect("a stream that does not fail").expect("a reset, no end").into_inner()
    }

    /// The next bytes, so many, of the server's one-way stream of that type.
    pub fn told(&mut self, kind: u8, count: usize) -> Result<Vec<u8>, String> {
        while !self.one_way.iter().any(|(known, _)| *known == kind) {
            let taken = self.within(async {
                let mut stream = self.link.connection.accept_uni().await?;
                let mut kind = [0];
                stream.read_exact(&mut kind).await?;
                Ok((kind[0], stream))
            })?;
            self.one_way.push(taken);
        }
        let at = self.one_way.iter().position(|(known, _)| *known == kind).expect("it is there");
        let (_, mut stream) = self.one_way.remove(at);
        let mut bytes = vec![0; count];
        let outcome = self.within(async { Ok(stream.read_exact(&mut bytes).await?) });
        self.one_way.insert(at, (kind, stream));
        outcome.map(|()| bytes)
    }

    /// Waits until the connection has ended, and tells why.
    pub fn ended(&self) -> quinn::ConnectionError {
        self.link.ended()
    }

    /// Whether it has not ended.
    pub fn is_open(&self) -> bool {
        self.link.connection.close_reason().is_none()
    }

    /// Polls until it holds, and answers the server's datagrams meanwhile.
    pub fn wait_until(&self, what: &str, mut holds: impl FnMut() -> bool) {
        wait_for(what, || {
            self.wait(Duration::from_millis(5));
            holds()
        });
    }

    /// Lets time pass, so that what is on its way arrives.
    pub fn wait(&self, time: Duration) {
        self.link.wait(time);
    }
}
