//! Access control of purges.

use std::cell::Cell;
use std::fmt;

use myriad_http::Method;
use myriad_log::Level;

use crate::purge::{foreign_page, own_host};
use myriad_exchange::exchange::Step;
use myriad_exchange::exchange::{Request, Stranger};
use myriad_exchange::runtime::Network;

/// Maximum number of log lines per second and worker about rejected purges.
const MOST_LINES: u32 = 5;

/// Reason why a request may not purge.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Forbidden {
    Stranger(Stranger),
    /// A browser sends the request for a page of another site.
    ForeignPage,
    /// The request is a GET, which any page can make a browser send, and names a host that is not a name of the server.
    UnknownHost,
}

impl fmt::Display for Forbidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stranger(stranger) => stranger.fmt(f),
            Self::ForeignPage => f.write_str("the request originates from a page of another site"),
            Self::UnknownHost => f.write_str(
                "the host of the GET request is not a \"server_name\"; add it there, or define who may purge with \"from\" or \"allow\"",
            ),
        }
    }
}

/// Scope of a purge request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Single URL of the requested host. A foreign name that resolves to this server has no pages here.
    OwnUrl,
    Any,
}

/// Returns whether the request may purge, according to `from` if configured.
pub(crate) fn may(request: &Request, from: Option<&[Network]>, reach: Reach) -> Result<(), Forbidden> {
    request.may_administer(from).map_err(Forbidden::Stranger)?;
    is_own(request, from.is_some())?;
    if from.is_some() || !matches!(request.received.head.method(), Method::Get | Method::Head) {
        return Ok(());
    }
    // Some browsers only send `Referer` with a GET caused by another page.
    if foreign_page::is_led_from_elsewhere(request) {
        return Err(Forbidden::ForeignPage);
    }
    if reach == Reach::Any && !own_host::is_known(request) { Err(Forbidden::UnknownHost) } else { Ok(()) }
}

/// Checks a request whose address has already been accepted. `behind_proxy` is set if the address may be that of a
/// proxy.
pub(crate) fn is_own(request: &Request, behind_proxy: bool) -> Result<(), Forbidden> {
    if foreign_page::is_asking(request, behind_proxy) { Err(Forbidden::ForeignPage) } else { Ok(()) }
}

/// Answers with 403. Log lines are limited to five per second, since any client can cause them.
pub(crate) fn refuse(request: &Request, why: Forbidden) -> Step {
    thread_local! {
        static REFUSALS: Refusals = const { Refusals { second: Cell::new(0), count: Cell::new(0) } };
    }
    match REFUSALS.with(|refusals| refusals.count(request.received.at_ms / 1000)) {
        Line::Plain => request.log(Level::Error, format_args!("purge forbidden: {why}")),
        Line::After(untold) => {
            request.log(
                Level::Error,
                format_args!("purge forbidden ({untold} similar messages suppressed): {why}"),
            );
        }
        Line::None => {}
    }
    Step::Error(403)
}

/// Counter of rejections per second.
struct Refusals {
    second: Cell<u64>,
    count: Cell<u32>,
}

/// Log line of a rejection.
#[derive(Debug, PartialEq, Eq)]
enum Line {
    Plain,
    /// Line with the number of previous rejections that were not logged.
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
