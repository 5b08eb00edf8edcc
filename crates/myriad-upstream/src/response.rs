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

/// Response of an origin: its head, and a body to be read.
pub struct OriginResponse {
    /// Head sent by the origin, without repetitions of fields that may occur only once; without `Transfer-Encoding`
    /// over FastCGI, SCGI and uwsgi. For memcached and tunnels, a head created by this crate.
    pub head: ResponseHead,
    /// Body without framing, read from the origin on demand.
    ///
    /// Its last item is `None` if the origin has completed the body, or an error if the body was aborted. Dropping an
    /// incomplete body closes the connection, or resets the stream over HTTP/2.
    pub body: BoxBody,
    /// Connection after 101 (RFC 9110 §15.2.2) or for a tunnel; `body` is empty then. `None` for other responses.
    pub upgraded: Option<Upgraded>,
    /// Address of the peer that sent the response.
    pub peer: PeerAddress,
    /// `sticky` identifier of the peer that sent the response; `None` without `sticky`.
    pub sid: Option<Arc<str>>,
    /// Trailer fields, filled at the end of the body; `None` unless the body is chunked or the protocol is HTTP/2.
    pub trailers: Option<Trailers>,
}

/// Shared receiver of the trailer section (RFC 9112 section 7.1.2).
pub type Trailers = Rc<RefCell<Fields>>;

/// Connection that switches to another protocol, such as WebSocket.
pub struct Upgraded {
    /// Bytes received from the peer after the response head.
    pub leftover: Bytes,
    /// Connection to the peer.
    pub stream: UpgradedStream,
}

/// Connection of an [`Upgraded`]. Until it is dropped, its peer counts it as an active request (`max_conns`).
#[derive(Debug)]
pub struct UpgradedStream {
    connection: CountedStream,
    resources: Box<HeldResources>,
}

/// Values that are dropped when the connection is closed; boxed, because few responses have them.
#[derive(Debug)]
struct HeldResources {
    _active: Rc<ActiveRequest>,
    more: Option<Box<dyn Any>>,
}

impl UpgradedStream {
    pub(crate) fn new(connection: CountedStream, active: Rc<ActiveRequest>) -> Self {
        Self { connection, resources: Box::new(HeldResources { _active: active, more: None }) }
    }

    /// Attaches a value that is dropped when the connection is closed; replaces and drops a value attached before.
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

/// Fields that may occur only once in a response; like nginx, Myriad uses the first and drops the others.
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

/// Removes repetitions of [`SINGULAR`] fields, which recipients could interpret differently, and calls `warn` once for
/// each repeated name.
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
