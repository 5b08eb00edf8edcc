//! Limits that count only requests to the origin: `limit_req ... origin_only`, `limit_conn ... origin_only`.

use std::any::Any;
use std::sync::Arc;

use myriad_exchange::exchange::{CheckVerdict, Exchange};
use myriad_upstream::OriginError;

/// Checks the limits with `origin_only` of a location, and waits if a limit delays the request. The returned guard
/// counts against `limit_conn` until it is dropped. It is `None` without a `limit_conn`, for a subrequest while
/// another request of its client request is in flight to an origin, and if only `limit_conn_dry_run` admits the
/// request.
///
/// # Errors
///
/// Returns an error if the request must not be sent to the origin. The limit has already logged the reason.
pub(crate) async fn apply(exchange: &mut Exchange) -> Result<Option<Box<dyn Any>>, OriginError> {
    let Some(gate) = exchange.request.place().entry.origin_gate.as_ref().map(Arc::clone) else {
        return Ok(None);
    };
    for check in &gate.checks {
        let mut verdict = check.judge(exchange);
        while let CheckVerdict::Wait(pending) = verdict {
            verdict = pending.wait(exchange).await;
        }
        if let CheckVerdict::Fail(status) | CheckVerdict::Refuse(status) = verdict {
            let why = format!("{} rejected the request to the origin", check.name());
            return Err(OriginError::limited(status, why));
        }
    }
    Ok(exchange.request.limit_results().origin_slots.take())
}
