//! Exchanges that another one causes: subrequests, pieces, what stays with a body.

use std::cell::RefCell;
use std::rc::Rc;

use myriad_http::uri::{normalize_path, split_target};
use myriad_http::{Known, RequestHead};
use myriad_net::RequestBody;

use super::cache_facts::CacheFacts;
use super::lineage::{DEEPEST, Lineage, TooMany};
use super::parts::{Route, UriForm};
use super::scratch::Scratch;
use super::{Exchange, Gathered, Request, Slice};

/// Fields that would make of an answer a part, a confirmation, a coding or a tunnel; and those that belong to the body,
/// which stays with the request that it came with.
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

/// Makes of a head one that a subrequest is asked with.
fn strip(head: &mut RequestHead) {
    head.ask_by_get();
    for field in NOT_FOR_SUBREQUESTS {
        head.fields_mut().remove_known(field);
    }
}

impl Request {
    /// The lineage, made where there is none yet.
    pub fn begin_lineage(&mut self) -> &mut Lineage {
        let began_ms = self.received.at_ms;
        self.received.lineage.get_or_insert_with(|| Box::new(Lineage::begun_at(began_ms)))
    }

    /// What pages with SSI share, of this request and all that it is a part of.
    pub fn shared_by_pages(&self) -> Rc<RefCell<myriad_ssi::Shared>> {
        self.received.lineage.as_ref().map(|lineage| Rc::clone(&lineage.pages)).unwrap_or_default()
    }

    /// Answers errors by nothing from now on, for whoever asked has a text of its own for them.
    pub fn leave_errors_empty(&mut self) {
        self.begin_lineage().errors_empty = true;
    }
}

impl Exchange {
    /// Makes of a subrequest one that nobody waits for. It has been let in with its visitor, whose limits it is asked no more; what it
    /// takes of an origin is its own.
    pub fn go_to_background(&mut self) {
        self.request.begin_lineage().in_background = true;
        if let Some(visit) = &mut self.request.outcome.visit {
            *visit = Rc::new(visit.apart());
        }
    }

    /// A copy for what stays with the request, its body: of the same lineage, under the visitor's limits.
    pub fn companion(&mut self) -> Box<Self> {
        self.request.begin_lineage();
        let visit = Rc::clone(self.request.visit());
        let mut copy = self.snapshot();
        copy.request.outcome.visit = Some(visit);
        copy
    }

    /// An exchange within this one, for another piece of the same answer: in the same place, at its content. Pieces follow
    /// each other, so that their number needs no bound.
    pub fn piece(&mut self, slice: Slice) -> Result<Box<Self>, TooMany> {
        let mut lineage = self.request.begin_lineage().clone();
        if lineage.depth >= DEEPEST {
            return Err(TooMany);
        }
        lineage.depth += 1;
        lineage.errors_empty = true;
        let mut piece = self.companion();
        let request = &mut piece.request;
        strip(&mut request.received.head);
        request.cache.slice.set(Some(slice));
        request.received.at_ms = myriad_net::clock::now_ms();
        request.route.internal = true;
        request.shortcut.strayed.set(true);
        request.received.lineage = Some(Box::new(lineage));
        Ok(piece)
    }

    /// A request for the same URL as a visitor would make it of whom nothing is known: by GET, without cookies, at the server's rules,
    /// whose variables are not set yet. Errors are answered by nothing. None where the target is no path.
    pub fn stranger(&mut self) -> Option<Box<Self>> {
        let mut stranger = self.companion();
        let request = &mut stranger.request;
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
        request.cache = CacheFacts::default();
        request.shortcut.strayed.set(true);
        request.leave_errors_empty();
        stranger.frame = Box::default();
        Some(stranger)
    }

    /// Gives this subrequest the method and the fields of the visitor's request, and its body where that was gathered.
    pub fn resemble(&mut self, visitors: &Self, with_body: bool) {
        let mut head = visitors.request.received.head.clone();
        for field in [Known::Expect, Known::Te, Known::TransferEncoding, Known::Upgrade] {
            head.fields_mut().remove_known(field);
        }
        let gathered = visitors.request.upload.gathered.clone().filter(|_| with_body);
        if gathered.is_none() {
            head.fields_mut().remove_known(Known::ContentLength);
        }
        self.request.received.head = head;
        self.request.upload.length = gathered.as_ref().map(Gathered::length);
        self.request.upload.gathered = gathered;
    }

    /// An exchange within this one, for another URI of the same server: asked by GET, without a body, with the client's
    /// fields and a copy of the variables.
    pub fn child(&mut self, uri: &[u8], args: &[u8]) -> Result<Box<Self>, TooMany> {
        let parent = &mut self.request;
        let lineage = parent.begin_lineage().child()?;
        let mut head = parent.received.head.clone();
        strip(&mut head);
        let scratch = Scratch {
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
        // What the client sent is not what is asked for.
        request.route.form.changed = true;
        request.shortcut.strayed.set(true);
        request.received.real = parent.received.real;
        request.received.trace.clone_from(&parent.received.trace);
        request.outcome.visit.clone_from(&parent.outcome.visit);
        request.received.lineage = Some(Box::new(lineage));
        Ok(Box::new(Self { frame: self.frame.clone(), request }))
    }
}
