//! Limits that count what goes to an origin alone: `limit_req ... origin_only`, `limit_conn ... origin_only`.

use std::any::Any;
use std::sync::Arc;

use myriad_exchange::exchange::{Exchange, Verdict};
use myriad_upstream::OriginError;

/// Asks the limits before the origin of a place, and waits where they say so. An error says that the origin is not to be asked; the
/// limit has told the error log why. What comes of it counts until it is dropped.
pub(crate) async fn pass(exchange: &mut Exchange) -> Result<Option<Box<dyn Any>>, OriginError> {
    let Some(gate) = exchange.request.place().entry.origin_gate.as_ref().map(Arc::clone) else {
        return Ok(None);
    };
    for check in &gate.checks {
        let mut verdict = check.judge(exchange);
        while let Verdict::Wait(pending) = verdict {
            verdict = pending.wait(exchange).await;
        }
        if let Verdict::Fail(status) | Verdict::Refuse(status) = verdict {
            let why = format!("{} keeps the request from its origin", check.name());
            return Err(OriginError::limited(status, why));
        }
    }
    Ok(exchange.request.visit().origin_held.take())
}
