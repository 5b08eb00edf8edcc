//! The parts of a request.

use std::cell::{Cell, OnceCell};
use std::net::SocketAddr;
use std::rc::Rc;

use myriad_encode::Coding;
use myriad_http::{MethodSet, RequestHead};
use myriad_net::{Connection, RequestBody, Sent};

use super::{Gathered, Lineage, Remembered, Sink, Traced, Visit};
use crate::runtime::{PlaceId, ServerId};

/// What came: the head as the client sent it, and how it came here.
#[derive(Clone)]
pub struct Received {
    /// The client's connection.
    pub connection: Rc<Connection>,
    /// The number of the request on it.
    pub number: u32,
    /// The head as it came.
    pub head: Box<RequestHead>,
    /// Time at which the head was complete, milliseconds of the process clock ([`myriad_net::clock`]).
    pub at_ms: u64,
    /// The same in microseconds.
    pub at_us: u64,
    /// The client's address as a trusted proxy told it; port 0 where none was told.
    pub real: Option<SocketAddr>,
    /// Where the request stands among subrequests; none for one that has to do with none.
    pub lineage: Option<Box<Lineage>>,
    /// What the request is in traces; none until somebody asks.
    pub trace: OnceCell<Rc<Traced>>,
    /// Where the request's way is told, where it is one to be explained.
    pub sink: Option<Rc<dyn Sink>>,
}

impl Received {
    /// Time at which the head was complete, seconds since the Unix epoch by the system clock: for dates.
    pub fn wall_s(&self) -> u64 {
        myriad_net::clock::to_wall_ms(self.at_ms) / 1000
    }
}

/// Where a request goes: what the phases have found so far.
#[derive(Clone, Default)]
pub struct Route {
    /// The virtual server.
    pub server: ServerId,
    /// The settings that hold now.
    pub place: PlaceId,
    /// The URI: decoded, normalised, as rewrites left it.
    pub uri: Vec<u8>,
    /// The arguments, without `?`.
    pub args: Vec<u8>,
    /// The host in lower case without port; the server's name where the request has none.
    pub host: Vec<u8>,
    /// Whether an internal redirect led here.
    pub internal: bool,
    /// Internal redirects so far.
    pub redirects: u8,
    /// What is asked for by GET although the request said another method: a HEAD request that shares the page of GET, an
    /// error page.
    pub as_get: bool,
    /// How the URI came about.
    pub form: UriForm,
}

impl Route {
    /// For a copy of the request that is for the same page: in the same place, as if no redirect had led there.
    pub(super) fn of_same_page(&self) -> Self {
        let form = UriForm {
            changed: self.form.changed,
            off_location: self.form.off_location,
            behind_alias: self.form.behind_alias,
            ..UriForm::default()
        };
        Self { internal: false, redirects: 0, form, ..self.clone() }
    }
}

/// How a request's URI came about.
#[derive(Clone, Copy, Default)]
pub struct UriForm {
    /// Whether the URI as sent held an escape.
    pub escaped: bool,
    /// Whether a rewrite or an internal redirect has made another URI than the client sent.
    pub changed: bool,
    /// Whether a rewrite that stayed in its location made the URI, so that it need not begin with the location's prefix.
    pub off_location: bool,
    /// How often a `rewrite` has matched.
    pub rewrites: u8,
    /// Whether a `try_files` led to this named location although it was not its last word: then a name that ends in
    /// `.gz` is the compressed copy of a page.
    pub by_candidate: bool,
    /// Whether the file at the URI is sent as the gzip copy that lies beside it.
    pub packed: bool,
    /// Whether the URI is a name that `try_files` has found behind the alias of a regular expression.
    pub behind_alias: bool,
}

/// What went wrong so far, and what an `error_page` has said about the answer to come.
#[derive(Default)]
pub struct Errors {
    /// Set while an error page is made: the status of the error.
    pub status: Option<u16>,
    /// Whether a further error gets the built-in page: one has had its page, and `recursive_error_pages` was off there.
    pub pages_end: bool,
    /// The status that an `error_page` has set for the answer to come.
    pub forced_status: Option<u16>,
    /// Methods that the resource supports, where this server refused the request's method (`Allow`); else empty.
    pub supported: MethodSet,
    /// What an `X-Accel-Redirect` takes along: media type and field lines.
    pub carried: Option<Box<Carried>>,
}

/// What goes from the answer that redirects to the answer that is sent.
#[derive(Default)]
pub struct Carried {
    /// `Content-Type`.
    pub media_type: Option<Vec<u8>>,
    /// `Location`, where the answer has none of its own.
    pub location: Option<Vec<u8>>,
    /// Other fields, as lines.
    pub lines: Vec<u8>,
}

/// What decides whether requests like this one may take the short way.
pub struct ShortcutFacts {
    /// The bytes that the site's rules read of this request, where it may take the short way; else empty.
    pub read: Vec<u8>,
    /// Something besides these bytes has had a say.
    pub strayed: Cell<bool>,
    /// Until when the file tests made so far are believed, milliseconds since the epoch.
    pub believed_until_ms: Cell<u64>,
}

impl ShortcutFacts {
    /// Nothing was read yet; `read` lends its memory.
    pub(super) fn new(read: Vec<u8>) -> Self {
        Self { read, strayed: Cell::new(false), believed_until_ms: Cell::new(u64::MAX) }
    }
}

impl Default for ShortcutFacts {
    fn default() -> Self {
        Self::new(Vec::new())
    }
}

/// What is passed on to an origin besides the head.
pub struct Upload {
    /// The body, still to be read.
    pub body: RequestBody,
    /// Bytes of the body, once it was gathered for an origin.
    pub length: Option<u64>,
    /// The body, once it was gathered: for an origin, or because the cache's key may hold it (`*_cache_methods POST`).
    pub gathered: Option<Gathered>,
}

/// What came of a request.
#[derive(Default)]
pub struct Outcome {
    /// The answer, once its head was made.
    pub answered: Answered,
    /// What was sent; set when the exchange is over.
    pub sent: Sent,
    /// Whether the answer had to be waited for.
    pub waited: bool,
    /// When the exchange was over, milliseconds since the epoch; 0 before.
    pub finished_ms: u64,
    /// The same in microseconds.
    pub finished_us: u64,
    /// What `set $limit_rate` or `X-Accel-Limit-Rate` said, bytes a second.
    pub limit_rate: Option<u64>,
    /// What the visitor's limits said, and the seats that the exchange holds to its end; none where none were asked.
    pub visit: Option<Rc<Visit>>,
    /// What features remember.
    pub remembered: Remembered,
}

impl Outcome {
    /// Notes that the exchange is over, unless that is known.
    pub fn end(&mut self) {
        if self.finished_us == 0 {
            self.finished_us = myriad_net::clock::now_us();
            self.finished_ms = self.finished_us / 1000;
        }
    }
}

/// The head of the answer.
#[derive(Default)]
pub struct Answered {
    /// `$status`.
    pub status: u16,
    /// Field lines, for `$sent_http_*`; kept only where a log format reads them.
    pub fields: Vec<u8>,
    /// The media type, before `charset` named one behind it: `$sent_http_content_type` until the head is whole.
    pub unnamed_type: Option<Box<[u8]>>,
    /// Field lines behind the body, for `$sent_trailer_*`.
    pub trailers: Vec<u8>,
    /// The coding that was sent.
    pub coding: Coding,
    /// Bytes before compression, for `$gzip_ratio`; 0 where nothing was compressed.
    pub uncompressed: u64,
    /// The same and what came of it, for a body that is compressed on its way.
    pub tally: Option<Rc<Tally>>,
}

/// Bytes that an encoder has taken in and given out so far.
#[derive(Default)]
pub struct Tally {
    /// Taken in.
    pub taken: Cell<u64>,
    /// Given out.
    pub given: Cell<u64>,
}
