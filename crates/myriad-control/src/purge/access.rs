//! Who may purge.

use std::cell::Cell;
use std::fmt;

use myriad_http::Method;
use myriad_log::Level;

use crate::purge::{foreign_page, own_host};
use myriad_exchange::exchange::Step;
use myriad_exchange::exchange::{Request, Stranger};
use myriad_exchange::runtime::Network;

/// Lines about purges that were refused that a worker writes in one second.
const MOST_LINES: u32 = 5;

/// Why a request may not purge.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Forbidden {
    Stranger(Stranger),
    /// A browser asks, for a page of another site.
    ForeignPage,
    /// It is a GET, as any page can have a browser make, and names a host that the server does not know.
    UnknownHost,
}

impl fmt::Display for Forbidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stranger(stranger) => stranger.fmt(f),
            Self::ForeignPage => f.write_str("a browser asks for a page of another site"),
            Self::UnknownHost => f.write_str(
                "it is a GET for a host that \"server_name\" does not name: name it there, or say who may (\"from\", \"allow\")",
            ),
        }
    }
}

/// What a request is about to purge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// One URL of the host that it names. A foreign name that is made to lead here has no pages.
    OwnUrl,
    Any,
}

/// Whether the request may purge, by `from` where it is written.
pub(crate) fn may(request: &Request, from: Option<&[Network]>, reach: Reach) -> Result<(), Forbidden> {
    request.may_administer(from).map_err(Forbidden::Stranger)?;
    is_own(request, from.is_some())?;
    if from.is_some() || !matches!(request.received.head.method(), Method::Get | Method::Head) {
        return Ok(());
    }
    // `Referer` may be all that a browser says of the page that has it send a GET.
    if foreign_page::is_led_from_elsewhere(request) {
        return Err(Forbidden::ForeignPage);
    }
    if reach == Reach::Any && !own_host::is_known(request) { Err(Forbidden::UnknownHost) } else { Ok(()) }
}

/// Whether the request may purge once its address has been judged; `behind_proxy` where it may be a proxy's.
pub(crate) fn is_own(request: &Request, behind_proxy: bool) -> Result<(), Forbidden> {
    if foreign_page::is_asking(request, behind_proxy) { Err(Forbidden::ForeignPage) } else { Ok(()) }
}

/// Answers with 403. The error log gets five lines a second at most, since anybody can be refused.
pub(crate) fn refuse(request: &Request, why: Forbidden) -> Step {
    thread_local! {
        static REFUSALS: Refusals = const { Refusals { second: Cell::new(0), count: Cell::new(0) } };
    }
    match REFUSALS.with(|refusals| refusals.count(request.received.at_ms / 1000)) {
        Line::Plain => request.log(Level::Error, format_args!("purge forbidden: {why}")),
        Line::After(untold) => {
            request.log(Level::Error, format_args!("purge forbidden, as were {untold} before it: {why}"));
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
