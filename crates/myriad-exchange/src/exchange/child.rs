//! Exchanges that another exchange creates: subrequests, slices, copies of the request.

use std::cell::RefCell;
use std::rc::Rc;

use myriad_http::uri::{normalize_path, split_target};
use myriad_http::{Known, RequestHead};
use myriad_net::RequestBody;

use super::cache_state::CacheState;
use super::exchange_buffers::ExchangeBuffers;
use super::lineage::{Lineage, MAX_DEPTH, TooMany};
use super::parts::{Route, UriForm};
use super::{BufferedBody, Exchange, Request, Slice};

/// Request fields that subrequests do not have: fields that would make the response partial, conditional, encoded or a
/// tunnel, and fields that describe a request body, because subrequests have no body.
const NOT_FOR_SUBREQUESTS: [Known; 12] = [
    Known::AcceptEncoding,
    Known::ContentLength,
    Known::Expect,
    Known::IfMatch,
    Known::IfModifiedSince,
    Known::IfNoneMatch,
    Known::IfRange,
    Known::IfUnmodifiedSince,
    Known::Range,
    Known::Te,
    Known::TransferEncoding,
    Known::Upgrade,
];

/// Converts the head of a client's request into the head of a subrequest: GET, without the fields in
/// [`NOT_FOR_SUBREQUESTS`].
fn strip(head: &mut RequestHead) {
    head.set_method_get();
    for field in NOT_FOR_SUBREQUESTS {
        head.fields_mut().remove_known(field);
    }
}

impl Request {
    /// Returns the request's relation to its parent and subrequests, creating it if necessary.
    pub fn begin_lineage(&mut self) -> &mut Lineage {
        let began_ms = self.received.at_ms;
        self.received.lineage.get_or_insert_with(|| Box::new(Lineage::begun_at(began_ms)))
    }

    /// Returns the state shared by the SSI pages of a client's request and its subrequests; a new state if the request
    /// has no lineage yet.
    pub fn shared_by_pages(&self) -> Rc<RefCell<myriad_script::ssi::SsiState>> {
        self.received.lineage.as_ref().map(|lineage| Rc::clone(&lineage.pages)).unwrap_or_default()
    }

    /// Makes this request answer errors with an empty response instead of an error page, because the code that started
    /// the request handles errors.
    pub fn leave_errors_empty(&mut self) {
        self.begin_lineage().errors_empty = true;
    }
}

impl Exchange {
    /// Marks a subrequest as a background task: no client waits for its response. The results of the client's limits
    /// (`limit_req`, `limit_conn`) remain valid, so they are not checked again; its slots for requests to origins are
    /// counted separately from the client's.
    pub fn go_to_background(&mut self) {
        self.request.begin_lineage().in_background = true;
        if let Some(visit) = &mut self.request.outcome.limit_results {
            *visit = Rc::new(visit.detached());
        }
    }

    /// Returns a copy of the exchange like [`Self::snapshot`]. The copy shares the results of the client's limits
    /// (`limit_req`, `limit_conn`).
    pub fn body_companion(&mut self) -> Box<Self> {
        self.request.begin_lineage();
        let visit = Rc::clone(self.request.limit_results());
        let mut copy = self.snapshot();
        copy.request.outcome.limit_results = Some(visit);
        copy
    }

    /// Creates an exchange that requests another slice of the same response (`slice`), in the same location, starting
    /// at its content handler. Slices are requested one after another, so only their nesting is limited: returns
    /// [`TooMany`] if this exchange is already nested as deeply as permitted.
    pub fn piece(&mut self, slice: Slice) -> Result<Box<Self>, TooMany> {
        let mut lineage = self.request.begin_lineage().clone();
        if lineage.depth >= MAX_DEPTH {
            return Err(TooMany);
        }
        lineage.depth += 1;
        lineage.errors_empty = true;
        let mut piece = self.body_companion();
        let request = &mut piece.request;
        strip(&mut request.received.head);
        request.cache.slice.set(Some(slice));
        request.received.set_time_us(myriad_net::clock::now_us());
        request.route.internal = true;
        request.shortcut.depends_on_more.set(true);
        request.received.lineage = Some(Box::new(lineage));
        Ok(piece)
    }

    /// Creates an anonymous request for the URL of this request: GET, without cookies and without the fields in
    /// [`NOT_FOR_SUBREQUESTS`]. Its processing starts at the server's rewrite rules with no variables set, and its
    /// errors produce empty responses. Returns `None` if the target is not a valid path.
    pub fn anonymous_request(&mut self) -> Option<Box<Self>> {
        let mut anonymous = self.body_companion();
        let request = &mut anonymous.request;
        strip(&mut request.received.head);
        request.received.head.fields_mut().remove_known(Known::Cookie);
        let split = split_target(request.received.head.target()).ok()?;
        let mut uri = Vec::with_capacity(split.path.len());
        normalize_path(split.path, request.server().merge_slashes, &mut uri).ok()?;
        let escaped = split.path.iter().any(|byte| matches!(byte, b'%' | b'+'));
        request.route = Route {
            server: request.route.server,
            place: request.server().place,
            uri,
            args: split.query.unwrap_or_default().to_vec(),
            host: std::mem::take(&mut request.route.host),
            form: UriForm { escaped, ..UriForm::default() },
            ..Route::default()
        };
        request.cache = CacheState::default();
        request.shortcut.depends_on_more.set(true);
        request.leave_errors_empty();
        anonymous.frame = Box::default();
        Some(anonymous)
    }

    /// Replaces the head of this subrequest by that of the client's request `visitors`, including its method, without
    /// `Expect`, `TE`, `Transfer-Encoding` and `Upgrade`. If `with_body` is set and the client's body has been
    /// buffered, it is copied, too; otherwise the subrequest has no body.
    pub fn copy_client_request(&mut self, visitors: &Self, with_body: bool) {
        let mut head = visitors.request.received.head.clone();
        for field in [Known::Expect, Known::Te, Known::TransferEncoding, Known::Upgrade] {
            head.fields_mut().remove_known(field);
        }
        let gathered = visitors.request.upload.buffered.clone().filter(|_| with_body);
        if gathered.is_none() {
            head.fields_mut().remove_known(Known::ContentLength);
        }
        self.request.received.head = head;
        self.request.upload.length = gathered.as_ref().map(BufferedBody::length);
        self.request.upload.buffered = gathered;
    }

    /// Creates a subrequest for another URI of the same server: GET, without a body, with a copy of the variables of
    /// this exchange and of its header fields except those in [`NOT_FOR_SUBREQUESTS`]. Fails with [`TooMany`] if
    /// subrequests are nested too deeply or too numerous.
    pub fn child(&mut self, uri: &[u8], args: &[u8]) -> Result<Box<Self>, TooMany> {
        let parent = &mut self.request;
        let lineage = parent.begin_lineage().child()?;
        let mut head = parent.received.head.clone();
        strip(&mut head);
        let scratch = ExchangeBuffers {
            head,
            uri: uri.to_vec(),
            args: args.to_vec(),
            host: parent.route.host.clone(),
            key: Vec::new(),
            read: Vec::new(),
            frame: None,
        };
        let mut request =
            Request::new(&parent.site, &parent.received.connection, RequestBody::empty(), scratch);
        request.received.number = parent.received.number;
        request.route.server = parent.route.server;
        request.route.place = parent.server().place;
        request.route.internal = true;
        // The URI differs from the URI that the client sent.
        request.route.form.changed = true;
        request.shortcut.depends_on_more.set(true);
        request.received.real = parent.received.real;
        request.received.trace.clone_from(&parent.received.trace);
        request.outcome.limit_results.clone_from(&parent.outcome.limit_results);
        request.received.lineage = Some(Box::new(lineage));
        Ok(Box::new(Self { frame: self.frame.clone(), request }))
    }
}
