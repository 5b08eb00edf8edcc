//! Report of a fetch to the request that started it.

use myriad_http::ResponseHead;
use myriad_upstream::OriginResponse;
use tokio::sync::oneshot;

use super::no_response::NoResponse;

/// Result of a fetch for the request that started it. All waiters, including this one, also read the page.
pub(crate) enum FetchReport {
    /// The page is being stored. Contains the origin's head, with its cookies.
    Admitted(ResponseHead),
    /// The origin has confirmed the stored page with a 304.
    Confirmed,
    /// The origin has confirmed the stored page, but the 304 has private fields: the client's own request must be sent.
    Unconfirmed,
    /// The response is private, but was requested without the client's own fields: the client's own request must be
    /// sent.
    Incomplete,
    /// The page that is stored is another variant than the client's; the names of its `Vary` fields.
    OtherVariant(Vec<u8>),
    /// The response is not stored and only for this client, with the reason.
    Refused(Box<OriginResponse>, &'static str),
    /// The application is in maintenance: this response is sent instead of a stale page.
    Closed(Box<OriginResponse>),
    /// No usable response was received.
    Failed(NoResponse),
}

/// Sender of the result; `None` for a background refresh.
pub(super) type Reporter = Option<oneshot::Sender<FetchReport>>;

/// Sends the result, if a request waits for it.
pub(super) fn report(reporter: Reporter, report: FetchReport) {
    if let Some(reporter) = reporter {
        let _ = reporter.send(report);
    }
}
