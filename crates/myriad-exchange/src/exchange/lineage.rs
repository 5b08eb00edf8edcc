//! Relation of an exchange to its parent and subrequests.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// Maximum nesting depth of subrequests, as in nginx (one more than `NGX_HTTP_MAX_SUBREQUESTS`).
pub(super) const MAX_DEPTH: u8 = 51;
/// Maximum total number of subrequests of a client's request, so that pages that include each other terminate. nginx
/// limits only concurrent subrequests.
const MAX_SUBREQUESTS: u32 = 4096;

/// Relation of a request to its parent and subrequests: state that it inherits or shares.
#[derive(Clone, Default)]
pub struct Lineage {
    /// Nesting depth of the subrequest; 0 for a client's request.
    pub depth: u8,
    /// Start time of the client's request, in milliseconds of the process clock.
    pub began_ms: u64,
    /// Set if errors produce empty responses, because the code that started the request handles errors itself.
    pub errors_empty: bool,
    /// Set if no client waits for the response, as for a mirrored request or `post_action`, and for their subrequests.
    pub in_background: bool,
    /// Set if the exchange has its own request head, whose target is the requested URI (ESI). Otherwise the head is a
    /// copy of the head of the client's request, with the client's target.
    pub own_head: bool,
    /// State that the SSI pages of a client's request and of its subrequests share.
    pub(super) pages: Rc<RefCell<myriad_script::ssi::SsiState>>,
    /// Number of subrequests started so far for the client's request; subrequests for slices are not counted.
    begun: Rc<Cell<u32>>,
}

/// Error: too many subrequests, probably because pages include each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooMany;

impl Lineage {
    /// Creates the lineage of a client's request that started at `began_ms`, in milliseconds of the process clock.
    pub(super) fn begun_at(began_ms: u64) -> Self {
        Self { began_ms, ..Self::default() }
    }

    /// Creates the lineage of a subrequest of this exchange. The subrequest does not inherit [`Self::errors_empty`] and
    /// [`Self::own_head`]. Fails if the depth or the total number of subrequests has reached its maximum.
    pub(super) fn child(&self) -> Result<Self, TooMany> {
        if self.depth >= MAX_DEPTH || self.begun.get() >= MAX_SUBREQUESTS {
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
        for depth in 1..=MAX_DEPTH {
            lineage = lineage.child().unwrap_or_else(|_| panic!("{depth}"));
        }
        assert!(lineage.child().is_err());
        let root = Lineage::default();
        let first = root.child().unwrap_or_else(|_| panic!("the first"));
        for number in 1..MAX_SUBREQUESTS {
            let parent = if number % 2 == 0 { &root } else { &first };
            assert!(parent.child().is_ok(), "{number}");
        }
        assert!(root.child().is_err() && first.child().is_err());
        assert!(Lineage::default().child().is_ok(), "each client request has its own count");
    }
}
