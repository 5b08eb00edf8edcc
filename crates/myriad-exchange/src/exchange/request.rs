//! One request: its parts together, and what is asked of them.

use std::cell::OnceCell;
use std::net::IpAddr;
use std::rc::Rc;

use myriad_http::{Known, Method, RequestHead};
use myriad_net::{Connection, RequestBody};
use myriad_script::Frame;

use super::cache_facts::CacheFacts;
use super::parts::{Errors, Outcome, Received, Route, ShortcutFacts, Upload};
use super::scratch;
use super::scratch::Scratch;
use super::{OriginFacts, Visit};
use crate::runtime::{Place, RealIp, Runtime, Server};
use crate::worker::Generation;

/// A request and the memory its scripts work in.
pub struct Exchange {
    /// User variables, captures, results of maps.
    pub frame: Box<Frame>,
    /// Everything else, readable by scripts through [`myriad_script::Environment`].
    pub request: Request,
}

/// The state of a request that its variables show, in parts: a step is given those that it needs.
pub struct Request {
    /// The site as it was when the request began.
    pub site: Rc<Generation>,
    /// What came.
    pub received: Received,
    /// Where it goes.
    pub route: Route,
    /// What went wrong so far.
    pub errors: Errors,
    /// What decides whether requests like this one may take the short way.
    pub shortcut: ShortcutFacts,
    /// What is passed on to an origin.
    pub upload: Upload,
    /// The cache's part.
    pub cache: CacheFacts,
    /// The origin's part.
    pub origin: Option<Box<OriginFacts>>,
    /// What came of it.
    pub outcome: Outcome,
}

impl Request {
    pub(super) fn new(
        site: &Rc<Generation>,
        connection: &Rc<Connection>,
        body: RequestBody,
        scratch: Scratch,
    ) -> Self {
        let Scratch { head, uri, args, host, key, read, frame: _ } = scratch;
        let at_us = myriad_net::clock::now_us();
        let received = Received {
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
            errors: Errors::default(),
            shortcut: ShortcutFacts::new(read),
            upload: Upload { body, length: None, gathered: None },
            cache: CacheFacts { key, ..CacheFacts::default() },
            origin: None,
            outcome: Outcome::default(),
        }
    }

    /// A copy for work that outlives the exchange, or stands in it: what came and where it goes, without a body and with
    /// nothing that has come of it yet.
    pub(super) fn snapshot(&self) -> Self {
        Self {
            site: Rc::clone(&self.site),
            received: Received { sink: None, ..self.received.clone() },
            route: self.route.of_same_page(),
            errors: Errors::default(),
            shortcut: ShortcutFacts::default(),
            upload: Upload { body: RequestBody::empty(), length: None, gathered: None },
            cache: self.cache.of_same_page(),
            origin: None,
            outcome: Outcome::default(),
        }
    }

    /// The site.
    pub fn runtime(&self) -> &Runtime {
        &self.site.runtime
    }

    /// The settings that hold now.
    pub fn place(&self) -> &Place {
        self.site.runtime.place(self.route.place)
    }

    /// The virtual server.
    pub fn server(&self) -> &Server {
        self.site.runtime.server(self.route.server)
    }

    /// Returns the scheme that the client used: `https` or `http`.
    pub fn scheme(&self) -> &'static str {
        if self.is_https() { "https" } else { "http" }
    }

    /// Returns whether the client used https, to a proxy of `set_real_ip_from` too.
    pub fn came_by_https(&self) -> bool {
        if self.is_https() {
            return true;
        }
        let Some(believed) = self.place().features.get::<RealIp>() else { return false };
        let client = self.received.connection.peer.ip();
        if !believed.from.iter().any(|network| network.contains(client)) {
            return false;
        }
        let mut said = self.received.head.fields().get_all(b"X-Forwarded-Proto");
        // One word, of one proxy: what two say does not tell which of them is right.
        said.next().is_some_and(|scheme| scheme.eq_ignore_ascii_case(b"https")) && said.next().is_none()
    }

    /// The client's address, as a trusted proxy told it or as the socket has it; none on a unix socket.
    pub fn client(&self) -> Option<IpAddr> {
        self.received.real.map(|real| real.ip()).or_else(|| self.received.connection.peer.ip())
    }

    /// Whether the client wants a tunnel (CONNECT), and not the page of an error.
    pub fn is_connect(&self) -> bool {
        self.received.head.method() == Method::Connect && !self.route.as_get && !self.is_subrequest()
    }

    /// Whether this is a part of another request, and nothing of it goes to the client by itself.
    pub fn is_subrequest(&self) -> bool {
        self.received.lineage.as_ref().is_some_and(|lineage| lineage.depth > 0)
    }

    /// Whether the target of the head is what is asked for: not for a subrequest that has the head of its parent.
    pub fn has_own_target(&self) -> bool {
        self.received.lineage.as_ref().is_none_or(|lineage| lineage.depth == 0 || lineage.own_head)
    }

    /// Whether nobody waits for the answer ([`Exchange::go_to_background`]).
    pub fn is_in_background(&self) -> bool {
        self.received.lineage.as_ref().is_some_and(|lineage| lineage.in_background)
    }

    /// The URI as the client sent it, arguments and all; none where the target has no path of its own.
    pub fn sent_uri(&self) -> Option<&[u8]> {
        Some(super::target::request_uri(self.received.head.target())).filter(|uri| uri.starts_with(b"/"))
    }

    /// What is known of the visitor, made where there is nothing yet.
    pub fn visit(&mut self) -> &Rc<Visit> {
        self.outcome.visit.get_or_insert_default()
    }

    /// Counts a request that is sent to an origin, and its sender if that is a proxy that is not trusted.
    pub fn count_fetch(&self) {
        self.site.worker.counters.fetches.add(1);
        let has_field = self.received.head.fields().has(Known::XForwardedFor);
        if has_field && self.received.real.is_none() && !self.is_subrequest() {
            let sender = self.received.connection.peer.ip().map(|sender| sender.to_canonical());
            self.site.worker.sight.shared.senders.count(sender);
        }
    }

    /// Counts what the cache did for the request, once it is over; `bytes` of its body were sent.
    pub fn count_cache_status(&self, bytes: u64) {
        let Some(status) = self.cache.shown.status else { return };
        if let Some(Some(zone)) = self.site.runtime.zone_list.get(usize::from(self.cache.shown.zone)) {
            zone.counts.add(self.site.worker.number, status, bytes);
        }
    }

    /// The origin's part, made where there is none yet.
    pub fn origin_mut(&mut self) -> &mut OriginFacts {
        self.origin.get_or_insert_default()
    }

    /// Notes that what the rules come to holds no longer than a file test is believed.
    pub fn believes_until(&self, until_ms: u64) {
        self.shortcut.believed_until_ms.set(self.shortcut.believed_until_ms.get().min(until_ms));
    }
}

impl Exchange {
    /// Begins an exchange. `head` is swapped out of the driver's hands.
    pub fn begin(
        site: &Rc<Generation>,
        head: &mut RequestHead,
        connection: &Rc<Connection>,
        body: RequestBody,
    ) -> Box<Self> {
        let mut scratch = scratch::take();
        std::mem::swap(&mut *scratch.head, head);
        let frame = scratch.frame.take().unwrap_or_default();
        // Room first: a kilobyte is then made where it stays.
        let room = Box::new_uninit();
        Box::write(room, Self { frame, request: Request::new(site, connection, body, scratch) })
    }

    /// A copy for work that outlives the exchange: the fetch of a page that others wait for too.
    pub fn snapshot(&self) -> Box<Self> {
        Box::new(Self { frame: self.frame.clone(), request: self.request.snapshot() })
    }

    /// Gives the memory back for the next exchange. What is kept is moved out of where it stands: the whole is a kilobyte.
    pub fn recycle(self: Box<Self>) {
        if let Some(head) = self.request.origin.and_then(|origin| origin.head) {
            myriad_upstream::give_head(head);
        }
        scratch::give(scratch::Scratch {
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
