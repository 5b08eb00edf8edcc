//! Request: its parts and common queries on them.

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
use crate::runtime::{Place, RealIp, Runtime, VirtualServer};
use crate::worker::Generation;

/// Request with the memory of its scripts.
pub struct Exchange {
    /// User variables, captures and results of maps.
    pub frame: Box<Frame>,
    /// All other state, readable by scripts through [`myriad_script::Environment`].
    pub request: Request,
}

/// State of a request, divided into parts so that each step can borrow only the parts that it needs.
pub struct Request {
    /// Configuration generation at the start of the request.
    pub site: Rc<Generation>,
    /// Received head and connection.
    pub received: IncomingRequest,
    /// Current server, place and URI.
    pub route: Route,
    /// Errors so far.
    pub errors: ErrorState,
    /// Facts that decide whether similar requests may use the shortcut.
    pub shortcut: ShortcutFacts,
    /// Request body for an origin.
    pub upload: Upload,
    /// Cache state.
    pub cache: CacheState,
    /// Origin state.
    pub origin: Option<Box<OriginState>>,
    /// Outcome.
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

    /// Returns a copy for work that outlives the exchange or is nested in it: with the received head and the route,
    /// without a body and without results.
    pub(super) fn snapshot(&self) -> Self {
        Self {
            site: Rc::clone(&self.site),
            received: IncomingRequest { sink: None, ..self.received.clone() },
            route: self.route.of_same_page(),
            errors: ErrorState::default(),
            shortcut: ShortcutFacts::default(),
            upload: Upload { body: RequestBody::empty(), length: None, buffered: None },
            cache: self.cache.of_same_page(),
            origin: None,
            outcome: RequestOutcome::default(),
        }
    }

    /// Returns the compiled configuration.
    pub fn runtime(&self) -> &Runtime {
        &self.site.runtime
    }

    /// Returns the current place, whose settings apply.
    pub fn place(&self) -> &Place {
        self.site.runtime.place(self.route.place)
    }

    /// Returns the virtual server.
    pub fn server(&self) -> &VirtualServer {
        self.site.runtime.server(self.route.server)
    }

    /// Returns the scheme that the client used: `https` or `http`.
    pub fn scheme(&self) -> &'static str {
        if self.is_https() { "https" } else { "http" }
    }

    /// Returns whether the client used https, to this server or to a proxy of `set_real_ip_from`.
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

    /// Returns the client's address, from a trusted proxy or the socket; `None` on a Unix socket.
    pub fn client(&self) -> Option<IpAddr> {
        self.received.real.map(|real| real.ip()).or_else(|| self.received.connection.peer.ip())
    }

    /// Returns whether the client requests a tunnel (CONNECT); false for subrequests and error pages.
    pub fn is_connect(&self) -> bool {
        self.received.head.method() == Method::Connect && !self.route.as_get && !self.is_subrequest()
    }

    /// Returns whether this is a subrequest, whose response is not sent to the client directly.
    pub fn is_subrequest(&self) -> bool {
        self.received.lineage.as_ref().is_some_and(|lineage| lineage.depth > 0)
    }

    /// Returns whether the head's target is the requested URI. It is not for a subrequest with the head of its parent.
    pub fn has_own_target(&self) -> bool {
        self.received.lineage.as_ref().is_none_or(|lineage| lineage.depth == 0 || lineage.own_head)
    }

    /// Returns whether the exchange runs in the background ([`Exchange::go_to_background`]).
    pub fn is_in_background(&self) -> bool {
        self.received.lineage.as_ref().is_some_and(|lineage| lineage.in_background)
    }

    /// Returns the URI with arguments as sent by the client; `None` if the target has no path.
    pub fn sent_uri(&self) -> Option<&[u8]> {
        Some(super::target::request_uri(self.received.head.target())).filter(|uri| uri.starts_with(b"/"))
    }

    /// Returns the limit results of the client, creating them if necessary.
    pub fn limit_results(&mut self) -> &Rc<LimitResults> {
        self.outcome.limit_results.get_or_insert_default()
    }

    /// Counts a request to an origin. Also counts its sender if that is an untrusted proxy.
    pub fn count_fetch(&self) {
        self.site.worker.counters.fetches.add(1);
        let has_field = self.received.head.fields().has(Known::XForwardedFor);
        if has_field && self.received.real.is_none() && !self.is_subrequest() {
            let sender = self.received.connection.peer.ip().map(|sender| sender.to_canonical());
            self.site.worker.observation.shared.senders.count(sender);
        }
    }

    /// Counts the cache status of a finished request, of whose body `bytes` were sent.
    pub fn count_cache_status(&self, bytes: u64) {
        let Some(status) = self.cache.report.status else { return };
        if let Some(Some(zone)) = self.site.runtime.zone_list.get(usize::from(self.cache.report.zone)) {
            zone.counts.add(self.site.worker.number, status, bytes);
        }
    }

    /// Returns the origin state, creating it if necessary.
    pub fn origin_mut(&mut self) -> &mut OriginState {
        self.origin.get_or_insert_default()
    }

    /// Limits the validity of the rules' result to that of a file test, which is valid until `until_ms`.
    pub fn limit_validity(&self, until_ms: u64) {
        self.shortcut.valid_until_ms.set(self.shortcut.valid_until_ms.get().min(until_ms));
    }
}

impl Exchange {
    /// Starts an exchange. `head` is swapped with an empty head.
    pub fn begin(
        site: &Rc<Generation>,
        head: &mut RequestHead,
        connection: &Rc<Connection>,
        body: RequestBody,
    ) -> Box<Self> {
        let mut scratch = exchange_buffers::take();
        std::mem::swap(&mut *scratch.head, head);
        let frame = scratch.frame.take().unwrap_or_default();
        // Allocating first lets the value of 1 KB be constructed in place.
        let room = Box::new_uninit();
        Box::write(room, Self { frame, request: Request::new(site, connection, body, scratch) })
    }

    /// Returns a copy for work that outlives the exchange: the fetch of a page for which other requests wait too.
    pub fn snapshot(&self) -> Box<Self> {
        Box::new(Self { frame: self.frame.clone(), request: self.request.snapshot() })
    }

    /// Returns the buffers to the pool for the next exchange. They are moved out individually, since the whole value
    /// has 1 KB.
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
