//! Parts of a request.

use std::cell::{Cell, OnceCell};
use std::net::SocketAddr;
use std::rc::Rc;

use myriad_encode::Coding;
use myriad_http::{MethodSet, RequestHead};
use myriad_net::{Connection, RequestBody, SentReport};

use super::{BufferedBody, DecisionSink, FeatureState, LimitResults, Lineage, RequestTrace};
use crate::runtime::{PlaceId, ServerId};

/// Request before any processing: its connection, and its head as the client sent it; for a subrequest, a head
/// derived from the client's.
#[derive(Clone)]
pub struct IncomingRequest {
    /// Connection of the client.
    pub connection: Rc<Connection>,
    /// Number of the request on its connection.
    pub number: u32,
    /// Request head as received.
    pub head: Box<RequestHead>,
    /// Time at which the head was complete, in milliseconds of the process clock ([`myriad_net::clock`]).
    pub at_ms: u64,
    /// The same time, in microseconds.
    pub at_us: u64,
    /// Client address reported by a trusted proxy; port 0 if no port was reported.
    pub real: Option<SocketAddr>,
    /// Position among subrequests; `None` for a request without subrequests.
    pub lineage: Option<Box<Lineage>>,
    /// Trace context of the request; set when it is first used.
    pub trace: OnceCell<Rc<RequestTrace>>,
    /// Receiver of the processing steps, if the request is being explained.
    pub sink: Option<Rc<dyn DecisionSink>>,
}

impl IncomingRequest {
    /// Returns the time at which the head was complete, in seconds since the Unix epoch by the system clock, for dates.
    pub fn wall_s(&self) -> u64 {
        myriad_net::clock::to_wall_ms(self.at_ms) / 1000
    }
}

/// Routing state of a request, as determined by the phases so far.
#[derive(Clone, Default)]
pub struct Route {
    /// Virtual server.
    pub server: ServerId,
    /// Current place, whose settings apply.
    pub place: PlaceId,
    /// Decoded and normalized URI, including rewrites.
    pub uri: Vec<u8>,
    /// Arguments, without `?`.
    pub args: Vec<u8>,
    /// Host in lower case without port; the server's name if the request has no host.
    pub host: Vec<u8>,
    /// True after an internal redirect.
    pub internal: bool,
    /// Number of internal redirects so far.
    pub redirects: u8,
    /// True if the content is requested with GET although the request has another method: a HEAD request that shares
    /// the page of GET, or an error page.
    pub as_get: bool,
    /// Origin of the URI.
    pub form: UriForm,
}

impl Route {
    /// Returns the route for a copy of the request for the same page: in the same place, as if no redirect had
    /// occurred.
    pub(super) fn of_same_page(&self) -> Self {
        let form = UriForm {
            changed: self.form.changed,
            off_location: self.form.off_location,
            below_alias: self.form.below_alias,
            ..UriForm::default()
        };
        Self { internal: false, redirects: 0, form, ..self.clone() }
    }
}

/// History of a request's URI.
#[derive(Clone, Copy, Default)]
pub struct UriForm {
    /// True if the URI as sent contained an escape.
    pub escaped: bool,
    /// True if a rewrite or an internal redirect changed the URI that the client sent.
    pub changed: bool,
    /// True if the URI is the result of a rewrite within its location, so that it need not start with the location's
    /// prefix.
    pub off_location: bool,
    /// Number of `rewrite` directives that have matched.
    pub rewrites: u8,
    /// True if a `try_files` selected this named location by an element other than the last: a name with the extension
    /// `.gz` is then the compressed copy of a page.
    pub by_candidate: bool,
    /// True if the gzip copy next to the file at the URI is sent.
    pub packed: bool,
    /// True if the URI is a name that `try_files` found below the alias of a regular expression.
    pub below_alias: bool,
}

/// Errors so far, and settings of an `error_page` for the next response.
#[derive(Default)]
pub struct ErrorState {
    /// Status of the error while its error page is generated.
    pub status: Option<u16>,
    /// True if a further error gets the built-in page, because an error page was used and `recursive_error_pages` was
    /// off there.
    pub pages_end: bool,
    /// Status that an `error_page` has set for the next response.
    pub forced_status: Option<u16>,
    /// Methods that the resource supports, if this server rejected the request's method (`Allow`); otherwise empty.
    pub supported: MethodSet,
    /// Media type and field lines carried over by an `X-Accel-Redirect`.
    pub carried: Option<Box<CarriedFields>>,
}

/// Fields carried over from the redirecting response to the sent response.
#[derive(Default)]
pub struct CarriedFields {
    /// `Content-Type`.
    pub media_type: Option<Vec<u8>>,
    /// `Location`, if the response has none.
    pub location: Option<Vec<u8>>,
    /// Other field lines.
    pub lines: Vec<u8>,
}

/// Facts that decide whether similar requests may use the shortcut.
pub struct ShortcutFacts {
    /// Bytes of this request that the site's rules read, if it may use the shortcut; otherwise empty.
    pub read: Vec<u8>,
    /// Set if the result depends on anything other than these bytes.
    pub depends_on_more: Cell<bool>,
    /// Time until which the file tests made so far are valid, in milliseconds since the epoch.
    pub valid_until_ms: Cell<u64>,
}

impl ShortcutFacts {
    /// Creates the state before any byte was read. `read` is a buffer for reuse.
    pub(super) fn new(read: Vec<u8>) -> Self {
        Self { read, depends_on_more: Cell::new(false), valid_until_ms: Cell::new(u64::MAX) }
    }
}

impl Default for ShortcutFacts {
    fn default() -> Self {
        Self::new(Vec::new())
    }
}

/// Request body for an origin.
pub struct Upload {
    /// Body that has not been read yet.
    pub body: RequestBody,
    /// Length of the body, in bytes, once it was buffered for an origin.
    pub length: Option<u64>,
    /// Buffered body: for an origin, or because it may be a part of the cache key (`*_cache_methods POST`).
    pub buffered: Option<BufferedBody>,
}

/// Outcome of a request.
#[derive(Default)]
pub struct RequestOutcome {
    /// Response head, once it was generated.
    pub head: SentHead,
    /// Sent bytes and times; set when the exchange is finished.
    pub sent: SentReport,
    /// True if the response was not available immediately.
    pub waited: bool,
    /// Time at which the exchange finished, in milliseconds since the epoch; 0 before.
    pub finished_ms: u64,
    /// The same time, in microseconds.
    pub finished_us: u64,
    /// Rate limit from `set $limit_rate` or `X-Accel-Limit-Rate`, in bytes per second.
    pub limit_rate: Option<u64>,
    /// Results of the client's limits, and the slots that the exchange occupies until it finishes; `None` if no limits
    /// were checked.
    pub limit_results: Option<Rc<LimitResults>>,
    /// Per-request state of features.
    pub feature_state: FeatureState,
}

impl RequestOutcome {
    /// Records the time at which the exchange finished, unless it is already set.
    pub fn end(&mut self) {
        if self.finished_us == 0 {
            self.finished_us = myriad_net::clock::now_us();
            self.finished_ms = self.finished_us / 1000;
        }
    }
}

/// Head of the response.
#[derive(Default)]
pub struct SentHead {
    /// `$status`.
    pub status: u16,
    /// Field lines for `$sent_http_*`; stored only if a log format reads them.
    pub fields: Vec<u8>,
    /// Media type before `charset` was appended: `$sent_http_content_type` until the head is complete.
    pub unnamed_type: Option<Box<[u8]>>,
    /// Trailer lines for `$sent_trailer_*`.
    pub trailers: Vec<u8>,
    /// Content coding of the sent body.
    pub coding: Coding,
    /// Size before compression, in bytes, for `$gzip_ratio`; 0 without compression.
    pub uncompressed: u64,
    /// Sizes before and after compression of a body that is compressed during transmission.
    pub encoding_sizes: Option<Rc<EncodingSizes>>,
}

/// Number of bytes that an encoder has consumed and produced so far.
#[derive(Default)]
pub struct EncodingSizes {
    /// Consumed bytes.
    pub taken: Cell<u64>,
    /// Produced bytes.
    pub given: Cell<u64>,
}
