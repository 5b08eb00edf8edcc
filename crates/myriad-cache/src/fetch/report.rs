//! Report of a fetch to the request that started it.

use myriad_http::ResponseHead;
use myriad_upstream::OriginResponse;
use tokio::sync::oneshot;

use super::no_response::NoResponse;

/// Result of a fetch, sent to the request that started it. After `Admitted`, `Confirmed` and `OfCluster`, that
/// request reads the page in flight like all waiters.
pub(crate) enum FetchReport {
    /// The page is being stored. Contains the origin's head, with its cookies.
    Admitted(ResponseHead),
    /// Another node of the cluster has fetched the page, which is being stored.
    OfCluster,
    /// The origin has confirmed the stored page with a 304.
    Confirmed,
    /// The origin has confirmed the stored page, but the 304 cannot be shared: it has private fields, data of the
    /// visitor, or another `Vary`. The client's own request must be sent.
    Unconfirmed,
    /// The response cannot be shared, and was requested without the client's own fields: the client's own request must
    /// be sent.
    Incomplete,
    /// The response is stored as another variant than the client needs. Contains the names of its `Vary` fields,
    /// separated by commas.
    OtherVariant(Vec<u8>),
    /// The response is not stored and only for this client. Contains the reason for `$upstream_cache_reason`.
    Refused(Box<OriginResponse>, &'static str),
    /// The application is in maintenance: this response is sent instead of a stale page.
    Closed(Box<OriginResponse>),
    /// No usable response was received.
    Failed(NoResponse),
}

/// Sender of the result to the request that started the fetch; `None` for a background refresh.
pub(super) type Reporter = Option<oneshot::Sender<FetchReport>>;

/// Sends the result of a fetch to the request that started it; does nothing if `reporter` is `None`.
pub(super) fn report(reporter: Reporter, report: FetchReport) {
    if let Some(reporter) = reporter {
        let _ = reporter.send(report);
    }
}
