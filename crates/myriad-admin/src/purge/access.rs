//! Access control of purge requests.

use std::cell::Cell;
use std::fmt;

use myriad_http::Method;
use myriad_log::LogLevel;

use crate::purge::{foreign_page, own_host};
use myriad_exchange::exchange::PhaseStep;
use myriad_exchange::exchange::{AdminDenied, Request};
use myriad_exchange::runtime::Network;

/// Maximum number of log lines about denied purges, per second and worker.
const MOST_LINES: u32 = 5;

/// Reason why a request may not purge.
#[derive(Clone, Copy, Debug)]
pub(crate) enum PurgeDenied {
    /// The client's address is not permitted, or, without `from`, a proxy has forwarded the request.
    NotAllowed(AdminDenied),
    /// A browser sent the request on behalf of a page of another site.
    ForeignPage,
    /// The host of a GET or HEAD request is neither a name nor an address of this server. Any page of another site can
    /// make a browser send such a request.
    UnknownHost,
}

impl fmt::Display for PurgeDenied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAllowed(stranger) => stranger.fmt(f),
            Self::ForeignPage => f.write_str("the request originates from a page of another site"),
            Self::UnknownHost => f.write_str(
                "the host of the GET request is not a \"server_name\"; add it there, or define who may purge with \"from\" or \"allow\"",
            ),
        }
    }
}

/// Pages that a purge by GET or HEAD can affect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PurgeReach {
    /// Only a URL of the requested host. The host need not be a name of this server: a foreign name that resolves to
    /// this server has no pages here.
    OwnUrl,
    /// Any page.
    Any,
}

/// Checks whether the request may purge; returns the reason if it may not. `from` are the permitted networks; `None`
/// permits clients on a Unix socket, on loopback or with the address that they connected to, unless a proxy forwarded
/// the request. The request must not originate from a page of another site. Without `from`, a GET or HEAD must also
/// have no `Referer` of another host and, if it can purge more than a URL of its host, its host must be a name or
/// address of this server.
pub(crate) fn check_purge_access(
    request: &Request,
    from: Option<&[Network]>,
    reach: PurgeReach,
) -> Result<(), PurgeDenied> {
    request.may_administer(from).map_err(PurgeDenied::NotAllowed)?;
    check_not_foreign_page(request, from.is_some())?;
    if from.is_some() || !matches!(request.received.head.method(), Method::Get | Method::Head) {
        return Ok(());
    }
    // With a GET caused by another page, some browsers send only `Referer`.
    if foreign_page::has_foreign_referer(request) {
        return Err(PurgeDenied::ForeignPage);
    }
    if reach == PurgeReach::Any && !own_host::is_known(request) {
        Err(PurgeDenied::UnknownHost)
    } else {
        Ok(())
    }
}

/// Returns [`PurgeDenied::ForeignPage`] if a request, whose address has already been accepted, was caused by a page of
/// another site. `behind_proxy` is true if the request may have come through a proxy.
pub(crate) fn check_not_foreign_page(request: &Request, behind_proxy: bool) -> Result<(), PurgeDenied> {
    if foreign_page::is_foreign_page(request, behind_proxy) { Err(PurgeDenied::ForeignPage) } else { Ok(()) }
}

/// Logs the denial and returns 403. Each worker logs at most [`MOST_LINES`] denials per second, because any client can
/// cause them.
pub(crate) fn deny_purge(request: &Request, why: PurgeDenied) -> PhaseStep {
    thread_local! {
        static REFUSALS: DenialCounter = const { DenialCounter { second: Cell::new(0), count: Cell::new(0) } };
    }
    match REFUSALS.with(|refusals| refusals.count(request.received.at_ms / 1000)) {
        DenialLog::Plain => request.log(LogLevel::Error, format_args!("purge forbidden: {why}")),
        DenialLog::After(untold) => {
            request.log(
                LogLevel::Error,
                format_args!("purge forbidden ({untold} similar messages suppressed): {why}"),
            );
        }
        DenialLog::None => {}
    }
    PhaseStep::Error(403)
}

/// Counter of denied purges in the current second, which limits the log lines about them.
struct DenialCounter {
    second: Cell<u64>,
    count: Cell<u32>,
}

/// Decision about the log line for a denied purge.
#[derive(Debug, PartialEq, Eq)]
enum DenialLog {
    /// Log line about this denial only.
    Plain,
    /// Log line about this denial that also gives the number of denials suppressed since the last line.
    After(u32),
    /// No line: the maximum per second is reached.
    None,
}

impl DenialCounter {
    fn count(&self, second: u64) -> DenialLog {
        if self.second.replace(second) != second {
            let suppressed = self.count.replace(1).saturating_sub(MOST_LINES);
            return if suppressed > 0 { DenialLog::After(suppressed) } else { DenialLog::Plain };
        }
        let count = self.count.get().saturating_add(1);
        self.count.set(count);
        if count <= MOST_LINES { DenialLog::Plain } else { DenialLog::None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flood_of_refusals_is_a_few_lines_and_a_count() {
        let refusals = DenialCounter { second: Cell::new(0), count: Cell::new(0) };
        let logged = (0..1000).filter(|_| refusals.count(7) == DenialLog::Plain).count();
        assert_eq!(logged, 5);
        assert_eq!(refusals.count(8), DenialLog::After(995));
        assert_eq!(refusals.count(8), DenialLog::Plain);
        assert_eq!(refusals.count(9), DenialLog::Plain);
    }
}
