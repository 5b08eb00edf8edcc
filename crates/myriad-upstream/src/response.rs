//! Responses of origins.

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

use crate::address::PeerAddress;
use crate::peer::ActiveRequest;
use crate::stream::CountedStream;

/// Response: its head, and a body to be read.
pub struct OriginResponse {
    /// Head, as sent by the origin.
    pub head: ResponseHead,
    /// Body without framing, read from the origin on demand.
    ///
    /// It finishes with `None` when the origin has completed it and with an error when it was aborted, so a body
    /// without an error is complete. Dropping it early closes the connection.
    pub body: BoxBody,
    /// Connection after 101 (RFC 9110 §15.2.2); `body` is empty then.
    pub upgraded: Option<Upgraded>,
    /// Peer that sent the response.
    pub peer: PeerAddress,
    /// Identifier by which requests select that peer; `None` without `sticky`.
    pub sid: Option<Arc<str>>,
    /// Trailer fields of a chunked body, available once it is complete; `None` for a body that cannot have any.
    pub trailers: Option<Trailers>,
}

/// Receiver of the trailer section (RFC 9112 section 7.1.2).
pub type Trailers = Rc<RefCell<Fields>>;

/// Connection that switches to another protocol, such as WebSocket.
pub struct Upgraded {
    /// Bytes received after the head.
    pub leftover: Bytes,
    /// Connection.
    pub stream: UpgradedStream,
}

/// Connection of an [`Upgraded`]. Until it is dropped, its peer counts it as an active request (`max_conns`).
#[derive(Debug)]
pub struct UpgradedStream {
    connection: CountedStream,
    resources: Box<HeldResources>,
}

/// Resources released with the connection; boxed, because few responses have them.
#[derive(Debug)]
struct HeldResources {
    _active: Rc<ActiveRequest>,
    more: Option<Box<dyn Any>>,
}

impl UpgradedStream {
    pub(crate) fn new(connection: CountedStream, active: Rc<ActiveRequest>) -> Self {
        Self { connection, resources: Box::new(HeldResources { _active: active, more: None }) }
    }

    /// Stores a value until the connection is closed, replacing the value stored before.
    pub fn attach(&mut self, held: Box<dyn Any>) {
        self.resources.more = Some(held);
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

/// Fields that may occur only once in a response; nginx uses the first and does not forward the others.
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

/// Removes repetitions of these fields: recipients could use different values.
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
