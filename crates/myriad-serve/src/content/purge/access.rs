//! Who may purge.

use std::cell::Cell;

use crate::content::Step;
use crate::error_log::Level;
use crate::exchange::Request;
use crate::runtime::Network;

/// Lines about purges that were refused that a worker writes in one second.
const MOST_LINES: u32 = 5;

/// Whether the request may purge, by `from` where it is written.
pub(super) fn may(request: &Request, from: Option<&[Network]>) -> bool {
    request.may_administer(from)
}

/// Answers with 403, and writes a line, but no flood of them.
pub(super) fn refuse(request: &Request) -> Step {
    thread_local! {
        static REFUSALS: Refusals = const { Refusals { second: Cell::new(0), count: Cell::new(0) } };
    }
    match REFUSALS.with(|refusals| refusals.count(request.received_ms / 1000)) {
        Line::Plain => request.log(Level::Error, format_args!("purge forbidden")),
        Line::After(untold) => {
            request.log(Level::Error, format_args!("purge forbidden, as were {untold} before it"));
        }
        Line::None => {}
    }
    Step::Error(403)
}

/// Counts refusals, second by second.
struct Refusals {
    second: Cell<u64>,
    count: Cell<u32>,
}

/// What is written of a refusal.
#[derive(Debug, PartialEq, Eq)]
enum Line {
    Plain,
    /// That so many before it were not told.
    After(u32),
    None,
}

impl Refusals {
    fn count(&self, second: u64) -> Line {
        if self.second.replace(second) != second {
            let untold = self.count.replace(1).saturating_sub(MOST_LINES);
            return if untold > 0 { Line::After(untold) } else { Line::Plain };
        }
        let count = self.count.get().saturating_add(1);
        self.count.set(count);
        if count <= MOST_LINES { Line::Plain } else { Line::None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flood_of_refusals_is_a_few_lines_and_a_count() {
        let refusals = Refusals { second: Cell::new(0), count: Cell::new(0) };
        let told = (0..1000).filter(|_| refusals.count(7) == Line::Plain).count();
        assert_eq!(told, 5);
        assert_eq!(refusals.count(8), Line::After(995));
        assert_eq!(refusals.count(8), Line::Plain);
        assert_eq!(refusals.count(9), Line::Plain);
    }
}
