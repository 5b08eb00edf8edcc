//! Report of a fetch to the request that started it.

use myriad_http::ResponseHead;
use myriad_upstream::OriginResponse;
use tokio::sync::oneshot;

use super::no_response::NoResponse;

/// Report that the request which started a fetch receives once, in addition to the page that all waiters read.
pub(crate) enum FetchReport {
    /// The page is being stored; this is the origin's head, including cookies.
    Admitted(ResponseHead),
    /// The stored page is confirmed.
    Confirmed,
    /// The stored page is confirmed, but the fields of the 304 are private; the client's own request must be sent.
    Unconfirmed,
    /// The response is private, and was made without the client's fields; the client's own request must be sent.
    Incomplete,
    /// The page being stored is another variant than the client's. It varies by these fields.
    OtherVariant(Vec<u8>),
    /// The response is for this client alone, for this reason.
    Refused(Box<OriginResponse>, &'static str),
    /// The application has closed the site: this response is sent instead of a stale page.
    Closed(Box<OriginResponse>),
    /// No response was received.
    Failed(NoResponse),
}

/// Channel for the report of a fetch; `None` for a background refresh.
pub(super) type Reporter = Option<oneshot::Sender<FetchReport>>;

/// Sends the report if a receiver exists. A receiver that has been dropped is ignored.
pub(super) fn report(reporter: Reporter, report: FetchReport) {
    if let Some(reporter) = reporter {
        let _ = reporter.send(report);
    }
}
