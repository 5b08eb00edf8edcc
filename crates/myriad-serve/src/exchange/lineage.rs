//! Where an exchange stands among subrequests.

use std::cell::Cell;
use std::rc::Rc;

use myriad_http::Known;
use myriad_net::RequestBody;

use super::scratch::Scratch;
use super::{Exchange, Request};

/// How deep subrequests may stand in each other, as in nginx (`NGX_HTTP_MAX_SUBREQUESTS`).
const DEEPEST: u8 = 50;
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
#[derive(Clone)]
pub(crate) struct Lineage {
    /// How many requests this one stands in; 0 for the client's own.
    pub depth: u8,
    /// When the client's own request began, milliseconds since the epoch.
    pub began_ms: u64,
    /// Subrequests begun so far for the client's own request.
    begun: Rc<Cell<u32>>,
}

/// A subrequest too many: pages that include each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooMany;

impl Lineage {
    fn root(request: &Request) -> Self {
        Self { depth: 0, began_ms: request.received_ms, begun: Rc::default() }
    }

    fn child(&self) -> Result<Self, TooMany> {
        if self.depth >= DEEPEST || self.begun.get() >= MOST {
            return Err(TooMany);
        }
        self.begun.set(self.begun.get() + 1);
        Ok(Self { depth: self.depth + 1, ..self.clone() })
    }
}

impl Exchange {
    /// An exchange within this one, for another URI of the same server: asked by GET, without a body, with the client's
    /// fields and a copy of the variables.
    pub(crate) fn child(&mut self, uri: &[u8], args: &[u8]) -> Result<Box<Self>, TooMany> {
        let parent = &mut self.request;
        if parent.lineage.is_none() {
            parent.lineage = Some(Box::new(Lineage::root(parent)));
        }
        let lineage = parent.lineage.as_ref().map(|lineage| lineage.child()).transpose()?;
        let mut head = parent.head.clone();
        head.ask_by_get();
        for field in NOT_FOR_SUBREQUESTS {
            head.fields_mut().remove_known(field);
        }
        let scratch = Scratch {
            head,
            uri: uri.to_vec(),
            args: args.to_vec(),
            host: parent.host.clone(),
            ..Scratch::default()
        };
        let mut request = Request::new(&parent.site, &parent.connection, RequestBody::empty(), scratch);
        request.server = parent.server;
        request.place = parent.server().place;
        request.internal = true;
        request.strayed.set(true);
        request.visit.clone_from(&parent.visit);
        request.lineage = lineage.map(Box::new);
        Ok(Box::new(Self { frame: self.frame.clone(), request }))
    }
}
