//! QUIC client without an HTTP/3 layer: the test sends every byte.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use quinn::{RecvStream, SendStream, VarInt};

use super::link::Link;
use super::{Failure, QuicVisitor};
use crate::wait_for;

/// QUIC connection.
pub struct BareQuic {
    link: Link,
    streams: Vec<(SendStream, Option<RecvStream>)>,
    /// Accepted unidirectional streams of the server, by type.
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

    /// Connects like `connect_bare` without waiting for the handshake: the first bytes are 0-RTT data. Returns an error
    /// if the server has issued no session.
    pub fn connect_bare_early(&self, port: u16) -> Result<BareQuic, String> {
        BareQuic::new(self, port, true).map_err(|error| error.to_string())
    }
}

impl BareQuic {
    fn new(visitor: &QuicVisitor, port: u16, early: bool) -> Result<Self, Failure> {
        let (link, _) = Link::new(visitor, port, "localhost", early)?;
        Ok(Self { link, streams: Vec::new(), one_way: Vec::new() })
    }

    /// Runs a future with a timeout.
    fn within<T>(&self, work: impl Future<Output = Result<T, Failure>>) -> Result<T, String> {
        self.link.within(work).map_err(|error| format!("{error:?}"))
    }

    /// Opens a stream, unidirectional if `one_way` is true, and sends these bytes on it; returns its index for the
    /// other methods.
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

    /// Sends more bytes on a stream.
    pub fn send(&mut self, stream: usize, bytes: &[u8]) -> Result<(), String> {
        let (mut sender, receiver) = self.streams.remove(stream);
        let outcome = self.within(async { Ok(sender.write_all(bytes).await?) });
        self.streams.insert(stream, (sender, receiver));
        outcome
    }

    /// Returns whether the server permits another bidirectional stream; the stream is then opened and dropped.
    pub fn may_open(&self) -> bool {
        self.link.runtime.block_on(async {
            let mut opened = pin!(self.link.connection.open_bi());
            poll_fn(|cx| Poll::Ready(opened.as_mut().poll(cx).is_ready())).await
        })
    }

    /// Sends bytes on a stream up to the current flow control limit; returns their number.
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

    /// Finishes the sending side of a stream.
    pub fn end(&mut self, stream: usize) {
        let _ = self.streams[stream].0.finish();
    }

    /// Resets the sending side of a stream.
    pub fn reset(&mut self, stream: usize, code: u32) {
        let _ = self.streams[stream].0.reset(VarInt::from_u32(code));
    }

    /// Reads a stream to its end; returns an error if it has more than a mebibyte.
    pub fn answer(&mut self, stream: usize) -> Result<Vec<u8>, String> {
        self.long_answer(stream, 1 << 20)
    }

    /// Reads a stream to its end; returns an error if it has more than `most` bytes.
    pub fn long_answer(&mut self, stream: usize, most: usize) -> Result<Vec<u8>, String> {
        let mut receiver = self.streams[stream].1.take().expect("a two-way stream, not read yet");
        self.within(async move { Ok(receiver.read_to_end(most).await?) })
    }

    /// Reads the first `count` bytes of a response; the rest is read later.
    pub fn begun_answer(&mut self, stream: usize, count: usize) -> Result<Vec<u8>, String> {
        let mut receiver = self.streams[stream].1.take().expect("a two-way stream, not read yet");
        let mut bytes = vec![0; count];
        let outcome = self.within(async { Ok(receiver.read_exact(&mut bytes).await?) });
        self.streams[stream].1 = Some(receiver);
        outcome.map(|()| bytes)
    }

    /// Waits until the server resets a stream, without reading it, and returns the code.
    pub fn reset_code(&mut self, stream: usize) -> u64 {
        let mut receiver = self.streams[stream].1.take().expect("a two-way stream, not read yet");
        let code = self.within(async move { Ok(receiver.received_reset().await?) });
        code.expect("a stream that does not fail").expect("a reset, no end").into_inner()
    }

    /// Reads the next `count` bytes of the server's unidirectional stream of this type.
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
        let at = self.one_way.iter().position(|(known, _)| *known == kind).expect("a stream of this type");
        let (_, mut stream) = self.one_way.remove(at);
        let mut bytes = vec![0; count];
        let outcome = self.within(async { Ok(stream.read_exact(&mut bytes).await?) });
        self.one_way.insert(at, (kind, stream));
        outcome.map(|()| bytes)
    }

    /// Waits until the connection has closed, and returns the reason.
    pub fn ended(&self) -> quinn::ConnectionError {
        self.link.ended()
    }

    /// Returns whether the connection is open.
    pub fn is_open(&self) -> bool {
        self.link.connection.close_reason().is_none()
    }

    /// Polls until `holds` returns true, and processes the datagrams of the server in the meantime.
    pub fn wait_until(&self, what: &str, mut holds: impl FnMut() -> bool) {
        wait_for(what, || {
            self.wait(Duration::from_millis(5));
            holds()
        });
    }

    /// Waits, so that datagrams in transit arrive.
    pub fn wait(&self, time: Duration) {
        self.link.wait(time);
    }
}
