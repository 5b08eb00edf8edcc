//! What a fetch reports to the visitor who caused it.

use myriad_http::ResponseHead;
use myriad_upstream::OriginResponse;
use tokio::sync::oneshot;

use super::no_answer::NoAnswer;

/// What the visitor who caused a fetch is told once, beside the page that all waiters read.
pub(crate) enum Report {
    /// The page is on its way into the cache; this is the origin's head, cookies and all.
    Admitted(ResponseHead),
    /// The page that was stored is confirmed.
    Confirmed,
    /// The page that was stored is confirmed, but what came with that is for this visitor alone, who has to ask.
    Unconfirmed,
    /// The answer is for one visitor alone, and was made without what this one says, who has to ask.
    Incomplete,
    /// The page on its way into the cache is another variant than this visitor's: it varies by these fields.
    OtherVariant(Vec<u8>),
    /// The answer is for this visitor alone, for this reason.
    Refused(Box<OriginResponse>, &'static str),
    /// The application has closed the site: this response is shown, and no stale page.
    Closed(Box<OriginResponse>),
    /// There is no answer.
    Failed(NoAnswer),
}

/// Where a fetch reports to; none where it is a refresh behind a visitor.
pub(super) type Reporter = Option<oneshot::Sender<Report>>;

/// Reports, where somebody wants to know. Who has gone needs no report.
pub(super) fn report(reporter: Reporter, report: Report) {
    if let Some(reporter) = reporter {
        let _ = reporter.send(report);
    }
}
