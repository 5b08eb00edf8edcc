//! Where an exchange stands among subrequests.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use myriad_http::{Known, RequestHead};
use myriad_net::RequestBody;

use super::Slice;
use super::scratch::Scratch;
use super::{Exchange, Request};

/// How deep subrequests may stand in each other, as in nginx (one more than `NGX_HTTP_MAX_SUBREQUESTS`).
const DEEPEST: u8 = 51;
/// How many subrequests one request may cause in all. nginx bounds those at hand by a counter of 16 bits; here the total
/// is bounded, so that pages that include each other twice end.
const MOST: u32 = 4096;

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

/// What an exchange shares with those it causes, and those that caused it.
#[derive(Clone, Default)]
pub(crate) struct Lineage {
    /// How many requests this one stands in; 0 for the client's own.
    pub depth: u8,
    /// When the client's own request began, milliseconds since the epoch.
    pub began_ms: u64,
    /// An error is answered by nothing: whoever asked has a text of its own for it.
    pub errors_empty: bool,
    /// What pages with SSI share.
    pages: Rc<RefCell<myriad_ssi::Shared>>,
    /// Subrequests begun so far for the client's own request.
    begun: Rc<Cell<u32>>,
}

/// A subrequest too many: pages that include each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooMany;

impl Lineage {
    fn child(&self) -> Result<Self, TooMany> {
        if self.depth >= DEEPEST || self.begun.get() >= MOST {
            return Err(TooMany);
        }
        self.begun.set(self.begun.get() + 1);
        Ok(Self { depth: self.depth + 1, errors_empty: false, ..self.clone() })
    }
}

/// Makes of a head one that a subrequest is asked with.
fn strip(head: &mut RequestHead) {
    head.ask_by_get();
    for field in NOT_FOR_SUBREQUESTS {
        head.fields_mut().remove_known(field);
    }
}

impl Request {
    /// The lineage, made where there is none yet.
    pub(crate) fn begin_lineage(&mut self) -> &mut Lineage {
        let began_ms = self.received_ms;
        self.lineage.get_or_insert_with(|| Box::new(Lineage { began_ms, ..Lineage::default() }))
    }

    /// What pages with SSI share, of this request and all that it is a part of.
    pub(crate) fn shared_by_pages(&self) -> Rc<RefCell<myriad_ssi::Shared>> {
        self.lineage.as_ref().map(|lineage| Rc::clone(&lineage.pages)).unwrap_or_default()
    }

    /// Answers errors by nothing from now on, for whoever asked has a text of its own for them.
    pub(crate) fn leave_errors_empty(&mut self) {
        self.begin_lineage().errors_empty = true;
    }
}

impl Exchange {
    /// A copy for what stays with the request, its body: of the same lineage, under the visitor's limits.
    pub(crate) fn companion(&mut self) -> Box<Self> {
        self.request.begin_lineage();
        let visit = Rc::clone(self.request.visit());
        let mut copy = self.snapshot();
        copy.request.visit = Some(visit);
        copy
    }

    /// An exchange within this one, for another piece of the same answer: in the same place, at its content. Pieces follow
    /// each other, so that their number needs no bound.
    pub(crate) fn piece(&mut self, slice: Slice) -> Result<Box<Self>, TooMany> {
        let mut lineage = self.request.begin_lineage().clone();
        if lineage.depth >= DEEPEST {
            return Err(TooMany);
        }
        lineage.depth += 1;
        lineage.errors_empty = true;
        let mut piece = self.companion();
        let request = &mut piece.request;
        strip(&mut request.head);
        request.slice.set(Some(slice));
        request.received_ms = myriad_net::clock::now_ms();
        request.internal = true;
        request.strayed.set(true);
        request.lineage = Some(Box::new(lineage));
        Ok(piece)
    }

    /// An exchange within this one, for another URI of the same server: asked by GET, without a body, with the client's
    /// fields and a copy of the variables.
    pub(crate) fn child(&mut self, uri: &[u8], args: &[u8]) -> Result<Box<Self>, TooMany> {
        let parent = &mut self.request;
        let lineage = parent.begin_lineage().child()?;
        let mut head = parent.head.clone();
        strip(&mut head);
        let scratch = Scratch {
            head,
            uri: uri.to_vec(),
            args: args.to_vec(),
            host: parent.host.clone(),
            ..Scratch::default()
        };
        let mut request = Request::new(&parent.site, &parent.connection, RequestBody::empty(), scratch);
        request.number = parent.number;
        request.server = parent.server;
        request.place = parent.server().place;
        request.internal = true;
        // What the client sent is not what is asked for.
        request.uri_changed = true;
        request.strayed.set(true);
        request.real = parent.real;
        request.visit.clone_from(&parent.visit);
        request.lineage = Some(Box::new(lineage));
        Ok(Box::new(Self { frame: self.frame.clone(), request }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_is_bounded_for_each_and_number_for_all() {
        let mut lineage = Lineage::default();
        for depth in 1..=DEEPEST {
            lineage = lineage.child().unwrap_or_else(|_| panic!("{depth}"));
        }
        assert!(lineage.child().is_err());
        let root = Lineage::default();
        let first = root.child().unwrap_or_else(|_| panic!("the first"));
        for number in 1..MOST {
            let parent = if number % 2 == 0 { &root } else { &first };
            assert!(parent.child().is_ok(), "{number}");
        }
        assert!(root.child().is_err() && first.child().is_err());
        assert!(Lineage::default().child().is_ok(), "another request has a number of its own");
    }
}
