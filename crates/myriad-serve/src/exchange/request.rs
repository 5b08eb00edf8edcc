//! What scripts may read of a request.

use std::cell::Cell;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;

use myriad_encode::Coding;
use myriad_http::RequestHead;
use myriad_net::{Connection, RequestBody, Sent};
use myriad_policy::CacheStatus;

use super::Visit;
use super::scratch::Scratch;
use super::{Gathered, Slice};
use super::{Lineage, OriginFacts};
use crate::explain::Trace;
use crate::runtime::{Page, Place, PlaceId, Runtime, Server, ServerId};
use crate::worker::Generation;

/// The state of a request that its variables show.
pub(crate) struct Request {
    /// The site as it was when the request began.
    pub site: Rc<Generation>,
    /// The client's connection.
    pub connection: Rc<Connection>,
    /// The number of the request on it.
    pub number: u32,
    /// The head as it came.
    pub head: RequestHead,
    /// The body, still to be read.
    pub body: RequestBody,
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
    /// Whether the URI as sent held an escape.
    pub escaped: bool,
    /// Whether a rewrite or an internal redirect has made another URI than the client sent.
    pub uri_changed: bool,
    /// Whether a rewrite that stayed in its location made the URI, so that it need not begin with the location's prefix.
    pub off_location: bool,
    /// How often a `rewrite` has matched.
    pub rewrites: u8,
    /// Whether an internal redirect led here.
    pub internal: bool,
    /// Internal redirects so far.
    pub redirects: u8,
    /// Whether a `try_files` led to this named location although it was not its last word: then a name that ends in
    /// `.gz` is the compressed copy of a page.
    pub by_candidate: bool,
    /// Whether the file at the URI is sent as the gzip copy that lies beside it.
    pub packed: bool,
    /// What is written down of the request's way, where it is one to be explained.
    pub trace: Option<Rc<Trace>>,
    /// Set while an error page is made: the status of the error.
    pub error_status: Option<u16>,
    /// Whether a further error gets the built-in page: one has had its page, and `recursive_error_pages` was off there.
    pub error_pages_end: bool,
    /// The status that an `error_page` has set for the answer to come.
    pub forced_status: Option<u16>,
    /// When the head was complete, milliseconds since the epoch.
    pub received_ms: u64,
    /// What `set $limit_rate` or `X-Accel-Limit-Rate` said, bytes a second.
    pub limit_rate: Option<u64>,
    /// The bytes that the site's rules read of this request, where it may take the short way; else empty.
    pub read: Vec<u8>,
    /// Something besides these bytes has had a say.
    pub strayed: Cell<bool>,
    /// Until when the file tests made so far are believed, milliseconds since the epoch.
    pub believed_until_ms: Cell<u64>,
    /// A HEAD request that stands for the GET whose page it shares.
    pub as_get: bool,
    /// Bytes of the body, once it was gathered for an origin.
    pub body_length: Option<u64>,
    /// The body, once it was gathered: for an origin, or because the cache's key may hold it (`*_cache_methods POST`).
    pub gathered: Option<Gathered>,
    /// What an `X-Accel-Redirect` takes along: media type and field lines.
    pub carried: Option<Box<Carried>>,
    /// How often the page was waited for in vain.
    pub retries: u8,
    /// The client's address as a trusted proxy told it; port 0 where none was told.
    pub real: Option<SocketAddr>,
    /// The visitor's limits; none where none were asked.
    pub visit: Option<Rc<Visit>>,
    /// The piece that is asked for, where a place with `slice` was asked for `$slice_range`.
    pub slice: Cell<Option<Slice>>,
    /// Where the request stands among subrequests; none for one that has to do with none.
    pub lineage: Option<Box<Lineage>>,
    /// The cache's part.
    pub cache: CacheFacts,
    /// The origin's part.
    pub origin: Option<Box<OriginFacts>>,
    /// The answer, once its head was made.
    pub answered: Answered,
    /// What was sent; set when the exchange is over.
    pub sent: Sent,
    /// Whether the answer had to be waited for.
    pub waited: bool,
    /// When the exchange was over.
    pub finished_ms: u64,
}

/// What goes from the answer that redirects to the answer that is sent.
#[derive(Default)]
pub(crate) struct Carried {
    /// `Content-Type`.
    pub media_type: Option<Vec<u8>>,
    /// `Location`, where the answer has none of its own.
    pub location: Option<Vec<u8>>,
    /// Other fields, as lines.
    pub lines: Vec<u8>,
}

/// The cache's part in an exchange.
#[derive(Default)]
pub(crate) struct CacheFacts {
    /// `$upstream_cache_status`.
    pub status: Option<CacheStatus>,
    /// `$upstream_cache_key`.
    pub key: Vec<u8>,
    /// A page that is no longer fresh, to stand in for a failure.
    pub stale: Option<Page>,
    /// By which fields the page varies, where that was found out by asking for it.
    pub varies: Option<Vec<u8>>,
    /// The codings of a client that takes none of those that are made here.
    pub codings: Option<Box<OtherCodings>>,
    /// The refresh of the stale page that is served.
    pub refresh: Option<tokio::task::JoinHandle<()>>,
    /// `$upstream_cache_age`, seconds.
    pub age_s: Option<u64>,
    /// The zone that has set [`Self::status`], by its place in [`Runtime::zone_list`].
    pub zone: u16,
    /// Which zone a variable has chosen, where one does.
    pub chosen: Option<u16>,
    /// The origin's head at hand came with the page that this request itself has fetched here.
    pub fetched: bool,
    /// The file that the page was sought in.
    pub sought: Option<myriad_store::Sought>,
    /// The open body of a page that lies on disk.
    pub opened: Option<myriad_store::BodyReader>,
}

/// Codings that only the origin may know, and what follows from them for the page.
pub(crate) struct OtherCodings {
    /// Their names, in one spelling.
    pub names: Box<[u8]>,
    /// Whether [`CacheFacts::key`] is that of pages for such clients alone.
    pub apart: bool,
    /// The generation of everybody's page: a page for such clients alone that is older no longer counts.
    pub younger_than: u64,
    /// That page, where this request has one of its own or fetches it.
    pub everybodys: Option<Page>,
}

/// The head of the answer.
#[derive(Default)]
pub(crate) struct Answered {
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
pub(crate) struct Tally {
    /// Taken in.
    pub taken: Cell<u64>,
    /// Given out.
    pub given: Cell<u64>,
}

impl Request {
    pub(super) fn new(
        site: &Rc<Generation>,
        connection: &Rc<Connection>,
        body: RequestBody,
        scratch: Scratch,
    ) -> Self {
        let Scratch { head, uri, args, host, key, read, frame: _ } = scratch;
        Self {
            site: Rc::clone(site),
            connection: Rc::clone(connection),
            number: connection.requests.get(),
            head,
            body,
            server: 0,
            place: 0,
            uri,
            args,
            host,
            escaped: false,
            uri_changed: false,
            off_location: false,
            rewrites: 0,
            internal: false,
            redirects: 0,
            by_candidate: false,
            packed: false,
            trace: None,
            error_status: None,
            error_pages_end: false,
            forced_status: None,
            received_ms: myriad_net::clock::now_ms(),
            limit_rate: None,
            read,
            strayed: Cell::new(false),
            believed_until_ms: Cell::new(u64::MAX),
            as_get: false,
            body_length: None,
            gathered: None,
            carried: None,
            retries: 0,
            real: None,
            visit: None,
            slice: Cell::new(None),
            lineage: None,
            cache: CacheFacts { key, ..CacheFacts::default() },
            origin: None,
            answered: Answered::default(),
            sent: Sent::default(),
            waited: false,
            finished_ms: 0,
        }
    }

    /// The site.
    pub(crate) fn runtime(&self) -> &Runtime {
        &self.site.runtime
    }

    /// The settings that hold now.
    pub(crate) fn place(&self) -> &Place {
        self.site.runtime.place(self.place)
    }

    /// The virtual server.
    pub(crate) fn server(&self) -> &Server {
        self.site.runtime.server(self.server)
    }

    /// `https` or `http`.
    pub(crate) fn scheme(&self) -> &'static str {
        if self.connection.tls().is_some() { "https" } else { "http" }
    }

    /// Whether the visitor came by https: to this server, or to a proxy that is believed here (`set_real_ip_from`).
    pub(crate) fn came_by_https(&self) -> bool {
        if self.connection.tls().is_some() {
            return true;
        }
        let Some(believed) = &self.place().real_ip else { return false };
        let client = self.connection.peer.ip();
        if !believed.from.iter().any(|network| network.0(client)) {
            return false;
        }
        let mut said = self.head.fields().get_all(b"X-Forwarded-Proto");
        // One word, of one proxy: what two say does not tell which of them is right.
        said.next().is_some_and(|scheme| scheme.eq_ignore_ascii_case(b"https")) && said.next().is_none()
    }

    /// The client's address, as a trusted proxy told it or as the socket has it; none on a unix socket.
    pub(crate) fn client(&self) -> Option<IpAddr> {
        self.real.map(|real| real.ip()).or_else(|| self.connection.peer.ip())
    }

    /// Whether this is a part of another request, and nothing of it goes to the client by itself.
    pub(crate) fn is_subrequest(&self) -> bool {
        self.lineage.as_ref().is_some_and(|lineage| lineage.depth > 0)
    }

    /// The URI as the client sent it, arguments and all; none where the target has no path of its own.
    pub(crate) fn sent_uri(&self) -> Option<&[u8]> {
        Some(super::variables::request_uri(self.head.target())).filter(|uri| uri.starts_with(b"/"))
    }

    /// What is known of the visitor, made where there is nothing yet.
    pub(crate) fn visit(&mut self) -> &Rc<Visit> {
        self.visit.get_or_insert_default()
    }

    /// Counts what the cache did for the request, once it is over.
    pub(crate) fn count_cache_status(&self) {
        let Some(status) = self.cache.status else { return };
        if let Some(Some(zone)) = self.site.runtime.zone_list.get(usize::from(self.cache.zone)) {
            zone.counts.add(self.site.worker.number, status);
        }
    }

    /// The origin's part, made where there is none yet.
    pub(crate) fn origin_mut(&mut self) -> &mut OriginFacts {
        self.origin.get_or_insert_default()
    }

    /// Notes that what the rules come to holds no longer than a file test is believed.
    pub(crate) fn believes_until(&self, until_ms: u64) {
        self.believed_until_ms.set(self.believed_until_ms.get().min(until_ms));
    }
}
