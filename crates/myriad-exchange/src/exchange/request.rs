//! State of a request that is being processed, and functions that return its common properties.

use std::cell::OnceCell;
use std::net::IpAddr;
use std::rc::Rc;

use myriad_http::{Known, Method, RequestHead};
use myriad_net::{Connection, RequestBody};
use myriad_script::Frame;

use super::cache_state::CacheState;
use super::exchange_buffers;
use super::exchange_buffers::ExchangeBuffers;
use super::parts::{ErrorState, IncomingRequest, RequestOutcome, Route, ShortcutFacts, Upload};
use super::{LimitResults, OriginState};
use crate::runtime::Generation;
use crate::runtime::{Place, RealIp, Runtime, VirtualServer};

/// Request with the memory of its scripts (rewrite rules, maps, templates).
pub struct Exchange {
    /// Memory of scripts: user variables, captures and results of maps.
    pub frame: Box<Frame>,
    /// State of the request, which scripts read through [`myriad_script::Environment`].
    pub request: Request,
}

/// State of a request, divided into parts so that a step can borrow only the parts that it needs.
pub struct Request {
    /// Configuration that was in use when the request arrived, with the worker's resources for it.
    pub site: Rc<Generation>,
    /// Connection and head of the request as received.
    pub received: IncomingRequest,
    /// Server, location and URI determined so far.
    pub route: Route,
    /// Errors of the request so far, and the settings of `error_page` for its response.
    pub errors: ErrorState,
    /// Facts that decide whether similar requests may use the shortcut, that is, reuse this request's routing.
    pub shortcut: ShortcutFacts,
    /// Body of the client's request: as it arrives, or buffered.
    pub upload: Upload,
    /// State of the page look-up in the cache.
    pub cache: CacheState,
    /// State of the request's attempts to contact origins; `None` before the first.
    pub origin: Option<Box<OriginState>>,
    /// Result of the request, for logs and counters.
    pub outcome: RequestOutcome,
}

impl Request {
    pub(super) fn new(
        site: &Rc<Generation>,
        connection: &Rc<Connection>,
        body: RequestBody,
        scratch: ExchangeBuffers,
    ) -> Self {
        let ExchangeBuffers { head, uri, args, host, key, read, frame: _ } = scratch;
        let at_us = myriad_net::clock::now_us();
        let received = IncomingRequest {
            connection: Rc::clone(connection),
            number: connection.requests.get(),
            head,
            at_ms: at_us / 1000,
            at_us,
            real: None,
            lineage: None,
            trace: OnceCell::new(),
            sink: None,
        };
        Self {
            site: Rc::clone(site),
            received,
            route: Route { uri, args, host, ..Route::default() },
            errors: ErrorState::default(),
            shortcut: ShortcutFacts::new(read),
            upload: Upload { body, length: None, buffered: None },
            cache: CacheState { key, ..CacheState::default() },
            origin: None,
            outcome: RequestOutcome::default(),
        }
    }

    /// Returns a copy of the request for a task that outlives the exchange, or for a nested exchange: with its head,
    /// route and cache key, but without its body, errors and results.
    pub(super) fn snapshot(&self) -> Self {
        Self {
            site: Rc::clone(&self.site),
            received: IncomingRequest { sink: None, ..self.received.clone() },
            route: self.route.of_same_page(),
            errors: ErrorState::default(),
            shortcut: ShortcutFacts::default(),
            upload: Upload {
                body: RequestBody::empty(),
                // Such a request is a GET request without body, although the received head is that of a POST request.
                length: self.cache.shared_by_condition.then_some(0),
                buffered: None,
            },
            cache: self.cache.of_same_page(),
            origin: None,
            outcome: RequestOutcome::default(),
        }
    }

    /// Returns the compiled configuration that was in use when the request arrived.
    pub fn runtime(&self) -> &Runtime {
        &self.site.runtime
    }

    /// Returns the settings of the location that the request is in at the moment.
    pub fn place(&self) -> &Place {
        self.site.runtime.place(self.route.place)
    }

    /// Returns the virtual server that processes the request.
    pub fn server(&self) -> &VirtualServer {
        self.site.runtime.server(self.route.server)
    }

    /// Returns the scheme that the client used, to this server or to a trusted proxy: `https` or `http`.
    pub fn scheme(&self) -> &'static str {
        if self.is_https() { "https" } else { "http" }
    }

    /// Returns true if the client used https: to this server, or according to the `X-Forwarded-Proto` of a proxy in
    /// `forwarded_scheme_from` or `set_real_ip_from`. Of a proxy in `set_real_ip_from`, the field must occur once.
    pub fn is_https_from_client(&self) -> bool {
        if self.is_https() {
            return true;
        }
        let Some(believed) = self.place().features.get::<RealIp>() else { return false };
        let client = self.received.connection.peer.ip();
        if !believed.from.iter().any(|network| network.contains(client)) {
            return false;
        }
        let mut values = self.received.head.fields().get_all(b"X-Forwarded-Proto");
        // Only a single value is trusted: with two, it is unclear which is correct.
        values.next().is_some_and(|scheme| scheme.eq_ignore_ascii_case(b"https")) && values.next().is_none()
    }

    /// Returns the client's address: the address that a trusted proxy reported, otherwise the peer address of the
    /// connection; `None` if that is a Unix socket.
    pub fn client(&self) -> Option<IpAddr> {
        self.received.real.map(|real| real.ip()).or_else(|| self.received.connection.peer.ip())
    }

    /// Returns true if the client requests a tunnel (CONNECT); false for subrequests of the request, and for content
    /// that is requested with GET instead, such as an error page.
    pub fn is_connect(&self) -> bool {
        self.received.head.method() == Method::Connect && !self.route.as_get && !self.is_subrequest()
    }

    /// Returns true for a subrequest, whose response is not sent to the client directly.
    pub fn is_subrequest(&self) -> bool {
        self.received.lineage.as_ref().is_some_and(|lineage| lineage.depth > 0)
    }

    /// Returns true if the target in the request head is the requested URI; false for a subrequest that shares the head
    /// of its parent.
    pub fn has_own_target(&self) -> bool {
        self.received.lineage.as_ref().is_none_or(|lineage| lineage.depth == 0 || lineage.own_head)
    }

    /// Returns true if the exchange runs in the background ([`Exchange::go_to_background`]).
    pub fn is_in_background(&self) -> bool {
        self.received.lineage.as_ref().is_some_and(|lineage| lineage.in_background)
    }

    /// Returns path and query as the client sent them; `None` if the request target has no path.
    pub fn sent_uri(&self) -> Option<&[u8]> {
        Some(super::target::request_uri(self.received.head.target())).filter(|uri| uri.starts_with(b"/"))
    }

    /// Returns the results of the client's limits (`limit_req`, `limit_conn`), creating an empty value if necessary.
    pub fn limit_results(&mut self) -> &Rc<LimitResults> {
        self.outcome.limit_results.get_or_insert_default()
    }

    /// Counts a request to an origin. If the client's request has `X-Forwarded-For`, but no trusted proxy reported an
    /// address, also counts the address of the connection as that of an untrusted proxy. Subrequests are excluded from
    /// this second count.
    pub fn count_fetch(&self) {
        self.site.worker.counters.fetches.add(1);
        let has_field = self.received.head.fields().has(Known::XForwardedFor);
        if has_field && self.received.real.is_none() && !self.is_subrequest() {
            let sender = self.received.connection.peer.ip().map(|sender| sender.to_canonical());
            self.site.worker.observation.shared.senders.count(sender);
        }
    }

    /// Counts the cache status of a finished request in the counters of its cache zone. Does nothing if the request has
    /// no cache status, or if its zone is not in [`Runtime::zone_list`]. `bytes` is the number of sent body bytes.
    pub fn count_cache_status(&self, bytes: u64) {
        let Some(status) = self.cache.report.status else { return };
        if let Some(Some(zone)) = self.site.runtime.zone_list.get(usize::from(self.cache.report.zone)) {
            zone.counts.add(self.site.worker.number, status, bytes);
        }
    }

    /// Returns the state of the request's attempts to contact origins, creating it if necessary.
    pub fn origin_mut(&mut self) -> &mut OriginState {
        self.origin.get_or_insert_default()
    }

    /// Limits the time for which later requests may reuse the routing result of this request: until `until_ms`, in
    /// milliseconds of the process clock, at most. Called for each file check, with the time until which the check is
    /// valid.
    pub fn limit_validity(&self, until_ms: u64) {
        self.shortcut.valid_until_ms.set(self.shortcut.valid_until_ms.get().min(until_ms));
    }
}

impl Exchange {
    /// Starts an exchange for the request with the head `head`. The head is moved into the exchange; `head` then
    /// contains a reusable head, possibly with the contents of an earlier request.
    pub fn begin(
        site: &Rc<Generation>,
        head: &mut RequestHead,
        connection: &Rc<Connection>,
        body: RequestBody,
    ) -> Box<Self> {
        let mut scratch = exchange_buffers::take();
        std::mem::swap(&mut *scratch.head, head);
        let frame = scratch.frame.take().unwrap_or_default();
        // Allocating first allows the value, 1 KB long, to be constructed in place.
        let room = Box::new_uninit();
        Box::write(room, Self { frame, request: Request::new(site, connection, body, scratch) })
    }

    /// Returns a copy of the exchange for a task that outlives the exchange, such as a shared fetch of its page: with
    /// its variables, head, route and cache key, but without its body, errors and results.
    pub fn snapshot(&self) -> Box<Self> {
        Box::new(Self { frame: self.frame.clone(), request: self.request.snapshot() })
    }

    /// Destroys the exchange and returns its buffers, and the head of the origin's response, to their pools. The
    /// buffers are moved out one by one, because the whole exchange is 1 KB long.
    pub fn recycle(self: Box<Self>) {
        if let Some(head) = self.request.origin.and_then(|origin| origin.head) {
            myriad_upstream::give_head(head);
        }
        exchange_buffers::recycle(exchange_buffers::ExchangeBuffers {
            head: self.request.received.head,
            uri: self.request.route.uri,
            args: self.request.route.args,
            host: self.request.route.host,
            key: self.request.cache.key,
            read: self.request.shortcut.read,
            frame: Some(self.frame),
        });
    }
}
