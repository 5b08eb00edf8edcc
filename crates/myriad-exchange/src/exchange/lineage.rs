//! Position of an exchange among subrequests.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// Maximum nesting depth of subrequests, as in nginx (one more than `NGX_HTTP_MAX_SUBREQUESTS`).
pub(super) const MAX_DEPTH: u8 = 51;
/// Maximum total number of subrequests of one request. nginx limits concurrent subrequests by a 16-bit counter; the
/// total is limited here, so that pages that include each other twice terminate.
const MAX_SUBREQUESTS: u32 = 4096;

/// State that an exchange shares with the exchanges it causes and with those that caused it.
#[derive(Clone, Default)]
pub struct Lineage {
    /// Nesting depth; 0 for a client's request.
    pub depth: u8,
    /// Start time of the client's request, in milliseconds since the epoch.
    pub began_ms: u64,
    /// Set if an error produces an empty response, because the requesting code has its own text for it.
    pub errors_empty: bool,
    /// Set if no response waits for this exchange: a mirrored request and the subrequests it causes.
    pub in_background: bool,
    /// Set if the exchange has its own head, whose target is the requested URI (ESI); otherwise it has the head of the
    /// client's request.
    pub own_head: bool,
    /// State shared by SSI pages.
    pub(super) pages: Rc<RefCell<myriad_script::ssi::SsiState>>,
    /// Number of subrequests started so far for the client's request.
    begun: Rc<Cell<u32>>,
}

/// Error: too many subrequests, because pages include each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooMany;

impl Lineage {
    /// Creates the lineage of a client's request that started at `began_ms`, in milliseconds since the epoch.
    pub(super) fn begun_at(began_ms: u64) -> Self {
        Self { began_ms, ..Self::default() }
    }

    /// Creates the lineage of a request nested in this one.
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
        assert!(Lineage::default().child().is_ok(), "another request has a number of its own");
    }
}
