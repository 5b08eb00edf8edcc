//! What an origin answers.

use std::any::Any;
use std::cell::RefCell;
use std::fmt;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use myriad_http::body::BoxBody;
use myriad_http::head::ResponseHead;
use myriad_http::{Fields, Known};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::address::Address;
use crate::peer::Active;
use crate::stream::Counted;

/// A response: its head, and its body to be pulled.
pub struct OriginResponse {
    /// The head, as the origin sent it.
    pub head: ResponseHead,
    /// The body without its framing, read from the origin only as it is pulled. It ends with `None` when the
    /// origin said so and with an error when it broke off, so what ended without an error is complete. Dropped
    /// early, it closes the connection.
    pub body: BoxBody,
    /// The connection after 101 (RFC 9110 §15.2.2); `body` is empty then.
    pub upgraded: Option<Upgraded>,
    /// The peer that answered.
    pub peer: Address,
    /// What requests call that peer by; none without `sticky`.
    pub sid: Option<Arc<str>>,
    /// The fields behind a chunked body, once it has ended; none for a body that cannot have any.
    pub trailers: Option<Trailers>,
}

/// The receiver of the trailer section, when it comes (RFC 9112 section 7.1.2).
pub type Trailers = Rc<RefCell<Fields>>;

/// A connection that speaks another protocol from now on, such as WebSocket.
pub struct Upgraded {
    /// What the origin sent beyond the head.
    pub leftover: Bytes,
    /// The connection.
    pub stream: UpgradedStream,
}

/// The connection behind an [`Upgraded`]; until it is dropped, its peer counts it as a request that is under way (`max_conns`).
#[derive(Debug)]
pub struct UpgradedStream {
    connection: Counted,
    held: Box<Held>,
}

/// What is given back when the connection ends; in a box, for few answers have it.
#[derive(Debug)]
struct Held {
    _active: Rc<Active>,
    more: Option<Box<dyn Any>>,
}

impl UpgradedStream {
    pub(crate) fn new(connection: Counted, active: Rc<Active>) -> Self {
        Self { connection, held: Box::new(Held { _active: active, more: None }) }
    }

    /// Holds something until the connection ends, in the place of what it held before.
    pub fn hold(&mut self, held: Box<dyn Any>) {
        self.held.more = Some(held);
    }
}

impl AsyncRead for UpgradedStream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().connection.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for UpgradedStream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().connection.stream).poll_write(cx, buf)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().connection.stream).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().connection.stream).poll_shutdown(cx)
    }
}

impl fmt::Debug for OriginResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OriginResponse")
            .field("status", &self.head.status)
            .field("length", &self.body.size_hint())
            .field("upgraded", &self.upgraded.is_some())
            .field("peer", &self.peer)
            .finish_non_exhaustive()
    }
}

/// Fields of which a response has one; nginx obeys the first and passes no other on.
const SINGULAR: [Known; 9] = [
    Known::ContentType,
    Known::Date,
    Known::ETag,
    Known::LastModified,
    Known::Location,
    Known::Refresh,
    Known::Server,
    Known::Status,
    Known::XAccelRedirect,
];

/// Two readers of a repeated field may each take another of its values: only the first stays.
pub(crate) fn keep_first(head: &mut ResponseHead, warn: impl Fn(&str)) {
    for name in SINGULAR {
        if !head.fields.is_repeated(name) {
            continue;
        }
        let first = head.fields.known(name).map(<[u8]>::to_vec).unwrap_or_default();
        head.fields.set_known(name, &first);
        warn(&format!("upstream sent duplicate header line: \"{}\", ignored", name.as_str()));
    }
}
