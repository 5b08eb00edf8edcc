//! Where an exchange stands among subrequests.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// How deep subrequests may stand in each other, as in nginx (one more than `NGX_HTTP_MAX_SUBREQUESTS`).
pub(super) const DEEPEST: u8 = 51;
/// How many subrequests one request may cause in all. nginx bounds those at hand by a counter of 16 bits; here the total
/// is bounded, so that pages that include each other twice end.
const MOST: u32 = 4096;

/// What an exchange shares with those it causes, and those that caused it.
#[derive(Clone, Default)]
pub struct Lineage {
    /// How many requests this one stands in; 0 for the client's own.
    pub depth: u8,
    /// When the client's own request began, milliseconds since the epoch.
    pub began_ms: u64,
    /// An error is answered by nothing: whoever asked has a text of its own for it.
    pub errors_empty: bool,
    /// Nobody waits for the answer: a mirrored request, and what it causes.
    pub in_background: bool,
    /// It is asked with a head of its own, whose target is what it is for (ESI); else its head is that of the client's request.
    pub own_head: bool,
    /// What pages with SSI share.
    pub(super) pages: Rc<RefCell<myriad_ssi::Shared>>,
    /// Subrequests begun so far for the client's own request.
    begun: Rc<Cell<u32>>,
}

/// A subrequest too many: pages that include each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooMany;

impl Lineage {
    /// That of a client's own request, which began at that time, milliseconds since the epoch.
    pub(super) fn begun_at(began_ms: u64) -> Self {
        Self { began_ms, ..Self::default() }
    }

    /// That of a request which stands in this one.
    pub(super) fn child(&self) -> Result<Self, TooMany> {
        if self.depth >= DEEPEST || self.begun.get() >= MOST {
            return Err(TooMany);
        }
        self.begun.set(self.begun.get() + 1);
        Ok(Self { depth: self.depth + 1, errors_empty: false, own_head: false, ..self.clone() })
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
