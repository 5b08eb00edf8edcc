//! Parts of the state of a request: the request as received, its route, errors, body and result.

use std::cell::{Cell, OnceCell};
use std::net::SocketAddr;
use std::rc::Rc;

use myriad_encode::Coding;
use myriad_http::{MethodSet, RequestHead};
use myriad_net::{Connection, RequestBody, SentReport};

use super::{BufferedBody, DecisionSink, FeatureState, LimitResults, Lineage, RequestTrace};
use crate::runtime::{PlaceId, ServerId};

/// Request as received, before any processing: its connection and head. A subrequest has a head derived from that of
/// the client's request.
#[derive(Clone)]
pub struct IncomingRequest {
    /// Connection on which the client sent the request.
    pub connection: Rc<Connection>,
    /// Number of the request on its client connection, from 1 on.
    pub number: u32,
    /// Request line and header fields as received, except that `Host` is normalized, and for the changes by
    /// `more_set_input_headers` and tracing (`traceparent`, `tracestate`).
    pub head: Box<RequestHead>,
    /// Time at which the request head was complete, in milliseconds of the process clock ([`myriad_net::clock`]); for a
    /// subrequest, the time at which it was created; after `echo_reset_timer`, the time of that directive.
    pub at_ms: u64,
    /// Same time as [`Self::at_ms`], in microseconds of the process clock.
    pub at_us: u64,
    /// Client address that a trusted proxy reported, or the address that this server uses in requests that it creates;
    /// port 0 means that the port is unknown. `None` otherwise: the address of the connection applies.
    pub real: Option<SocketAddr>,
    /// Relation to parent and subrequests; `None` for a client's request that has not needed it yet, for example
    /// because it has started no subrequest.
    pub lineage: Option<Box<Lineage>>,
    /// Trace context of the request; set when it is first needed.
    pub trace: OnceCell<Rc<RequestTrace>>,
    /// Receiver of the decisions about the request, if the request is being explained to a user.
    pub sink: Option<Rc<dyn DecisionSink>>,
}

impl IncomingRequest {
    /// Sets [`Self::at_us`], and [`Self::at_ms`] accordingly. `at_us` is in microseconds of the process clock.
    pub fn set_time_us(&mut self, at_us: u64) {
        (self.at_us, self.at_ms) = (at_us, at_us / 1000);
    }

    /// Returns the time [`Self::at_ms`] by the system clock, in seconds since the Unix epoch.
    pub fn wall_s(&self) -> u64 {
        myriad_net::clock::to_wall_ms(self.at_ms) / 1000
    }
}

/// Routing state of a request: the server, location and URI determined so far.
#[derive(Clone, Default)]
pub struct Route {
    /// Virtual server that processes the request.
    pub server: ServerId,
    /// Location (or other configuration level) that the request is in at the moment, whose settings apply.
    pub place: PlaceId,
    /// Decoded and normalized path of the request, after rewrites.
    pub uri: Vec<u8>,
    /// Query string of the request, without `?`, after rewrites.
    pub args: Vec<u8>,
    /// Host of the request, in lower case and without port, or as `more_set_input_headers` has set it; the name of the
    /// virtual server if the request contains no host.
    pub host: Vec<u8>,
    /// True after an internal redirect, and for subrequests: locations marked `internal` may be used.
    pub internal: bool,
    /// Number of internal redirects so far.
    pub redirects: u8,
    /// True if the content is requested with GET although the client's method is another, for example for a HEAD
    /// request that shares the page of GET, for an error page, or after `X-Accel-Redirect`.
    pub as_get: bool,
    /// Properties of the request's URI and its history.
    pub form: UriForm,
}

impl Route {
    /// Returns the route for a copy of the request that requests the same page: the server, location and URI are
    /// copied, but the internal redirects so far are not counted.
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

/// Properties and history of a request's URI.
#[derive(Clone, Copy, Default)]
pub struct UriForm {
    /// True if the path as the client sent it contained `%` or `+`, and has not been rewritten or redirected since.
    pub escaped: bool,
    /// True if a rewrite, `set $args` or an internal redirect changed the URI that the client sent, and for subrequests
    /// of another URI.
    pub changed: bool,
    /// True if a rewrite changed the URI and the request stayed in its location. The URI then need not start with the
    /// location's prefix.
    pub off_location: bool,
    /// Number of rewrites of the URI so far, modulo 256.
    pub rewrites: u8,
    /// True if the request is in a named location that an element of `try_files` other than the last has selected. A
    /// URI with the extension `.gz` is then the compressed copy of a page.
    pub by_candidate: bool,
    /// True if the compressed copy (`.gz`) next to the file at the URI is sent.
    pub packed: bool,
    /// True if `try_files` found the URI below the `alias` of a regular expression location.
    pub below_alias: bool,
}

/// Errors of a request so far, and settings of `error_page` for the next response.
#[derive(Default)]
pub struct ErrorState {
    /// Status of the last error for which an `error_page` was used; `None` if there was none.
    pub status: Option<u16>,
    /// True if a further error gets the built-in error page, because `recursive_error_pages` is off and an `error_page`
    /// was already used.
    pub pages_end: bool,
    /// Status that an `error_page` has set for the response: the status of the error (400 for nginx's codes 494 to
    /// 497), or 200 in `error_page 404 =200 /x`; `None` if the response has the status with which it is generated.
    pub forced_status: Option<u16>,
    /// Methods for `Allow`, if this server rejected the request's method with 405; otherwise empty.
    pub supported: MethodSet,
    /// Header fields to add to the response, such as fields of an origin's response with `X-Accel-Redirect`, or
    /// `Location` for an error page that replaces a redirect; `None` if there are none.
    pub carried: Option<Box<CarriedFields>>,
}

/// Header fields that were determined before the response that is sent, and are added to it.
#[derive(Default)]
pub struct CarriedFields {
    /// `Content-Type` of the origin's response with `X-Accel-Redirect`, which replaces the `Content-Type` of the sent
    /// response; `None` if it is not replaced.
    pub media_type: Option<Vec<u8>>,
    /// Value of `Location`, added if the sent response has none.
    pub location: Option<Vec<u8>>,
    /// Lines of further fields to add, each terminated by CRLF.
    pub lines: Vec<u8>,
}

/// Facts that decide whether similar requests may use the shortcut, that is, reuse this request's routing.
pub struct ShortcutFacts {
    /// Bytes of this request that the routing rules have read, if it may use the shortcut; otherwise empty.
    pub read: Vec<u8>,
    /// Set if the routing depends on anything other than the bytes in `read`.
    pub depends_on_more: Cell<bool>,
    /// Time until which the checks of files made so far are valid, in milliseconds of the process clock.
    pub valid_until_ms: Cell<u64>,
}

impl ShortcutFacts {
    /// Creates the state of a new request. `read` is a buffer for reuse.
    pub(super) fn new(read: Vec<u8>) -> Self {
        Self { read, depends_on_more: Cell::new(false), valid_until_ms: Cell::new(u64::MAX) }
    }
}

impl Default for ShortcutFacts {
    fn default() -> Self {
        Self::new(Vec::new())
    }
}

/// Body of the client's request: as it arrives, or buffered.
pub struct Upload {
    /// Part of the request body that has not been read yet.
    pub body: RequestBody,
    /// Length of the request body in bytes; `None` until the body was buffered or dropped.
    pub length: Option<u64>,
    /// Buffered body, read in advance for an origin, for variables, or for the cache key (`*_cache_methods POST`);
    /// `None` if the body was not buffered.
    pub buffered: Option<BufferedBody>,
}

/// Result of a request, for logs and counters.
#[derive(Default)]
pub struct RequestOutcome {
    /// Head of the sent response; default values before it is generated.
    pub head: SentHead,
    /// Numbers of bytes sent for the request, and times of sending; set when the exchange is finished.
    pub sent: SentReport,
    /// True if the request had to wait for something, such as an origin or a disk.
    pub waited: bool,
    /// Time at which the exchange finished, in milliseconds of the process clock; 0 before.
    pub finished_ms: u64,
    /// Time at which the exchange finished, in microseconds of the process clock; 0 before.
    pub finished_us: u64,
    /// Rate limit from `set $limit_rate` or `X-Accel-Limit-Rate`, in bytes per second; `None` if `limit_rate` applies.
    pub limit_rate: Option<u64>,
    /// Results of the client's limits, and the slots that the request occupies until it finishes; `None` until they
    /// are first needed.
    pub limit_results: Option<Rc<LimitResults>>,
    /// State that optional features attach to the request.
    pub feature_state: FeatureState,
}

impl RequestOutcome {
    /// Sets the time at which the exchange finished to the current time, unless it is already set.
    pub fn end(&mut self) {
        if self.finished_us == 0 {
            self.finished_us = myriad_net::clock::now_us();
            self.finished_ms = self.finished_us / 1000;
        }
    }
}

/// Properties of the response head, and sizes of the body, that logs and variables need.
#[derive(Default)]
pub struct SentHead {
    /// Status code; 0 before the response head is generated.
    pub status: u16,
    /// Header field lines for `$sent_http_*`. For a client's request, empty unless the configuration reads such a
    /// variable.
    pub fields: Vec<u8>,
    /// Media type without `charset`, which `$sent_http_content_type` returns while filters run. `None` otherwise: the
    /// variable then returns the `Content-Type` in `fields`.
    pub unnamed_type: Option<Box<[u8]>>,
    /// Lines of the sent trailers, from which `$sent_trailer_*` are read.
    pub trailers: Vec<u8>,
    /// Content coding of the sent body.
    pub coding: Coding,
    /// Size of the body before compression by this server, in bytes, for `$gzip_ratio`; 0 without compression.
    pub uncompressed: u64,
    /// Sizes before and after compression, for a body that is compressed while it is sent; `None` for other bodies.
    pub encoding_sizes: Option<Rc<EncodingSizes>>,
}

/// Numbers of bytes that the encoder of a response body has consumed and produced so far.
#[derive(Default)]
pub struct EncodingSizes {
    /// Number of bytes consumed, before compression.
    pub taken: Cell<u64>,
    /// Number of bytes produced, after compression.
    pub given: Cell<u64>,
}
