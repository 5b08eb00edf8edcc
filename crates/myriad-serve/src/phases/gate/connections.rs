//! `limit_conn`.

use myriad_log::Level;
use myriad_script::EvalError;

use super::Verdict;
use crate::exchange::{Exchange, scratch};
use crate::limits::{Held, LimitStatus};
use crate::runtime::ConnectionLimits;

/// The longest key, bytes, as in nginx.
const LONGEST_KEY: usize = 255;

/// Counts the request against every limit until it is over, or refuses it.
pub(super) fn judge(exchange: &mut Exchange, rules: &ConnectionLimits) -> Verdict {
    if exchange.request.visit().connections.get().is_some() {
        return Verdict::Pass;
    }
    let held = match hold(exchange, rules) {
        Ok(held) => held,
        Err(error) => {
            exchange.request.log(Level::Error, format_args!("{error}"));
            return Verdict::Fail(500);
        }
    };
    let visit = exchange.request.visit();
    let Some(held) = held else {
        if rules.answer.dry_run {
            visit.connections.set(Some(LimitStatus::RejectedDryRun));
            return Verdict::Pass;
        }
        visit.connections.set(Some(LimitStatus::Rejected));
        return Verdict::Fail(rules.answer.status);
    };
    if !held.is_empty() {
        visit.connections.set(Some(LimitStatus::Passed));
        visit.held.borrow_mut().extend(held);
    }
    Verdict::Pass
}

/// A place in every zone that has a key for this request; none where one of them is full.
fn hold(exchange: &mut Exchange, rules: &ConnectionLimits) -> Result<Option<Vec<Held>>, EvalError> {
    let Exchange { request, frame } = exchange;
    let mut held = Vec::with_capacity(rules.limits.len());
    for (zone, most) in &rules.limits {
        let place = scratch::with_buffer(|key| {
            zone.key.eval(request, frame, key)?;
            if key.len() > LONGEST_KEY {
                let name = &zone.name;
                request.log(
                    Level::Error,
                    format_args!("the value of the key of zone \"{name}\" is more than {LONGEST_KEY} bytes"),
                );
                key.clear();
            }
            Ok(if key.is_empty() { None } else { Some(zone.table.hold(key, *most)) })
        })?;
        match place {
            None => {}
            Some(Some(place)) => held.push(place),
            Some(None) => {
                let dry = if rules.answer.dry_run { ", dry run," } else { "" };
                let name = &zone.name;
                request.log(rules.answer.level, format_args!("limiting connections{dry} by zone \"{name}\""));
                return Ok(None);
            }
        }
    }
    Ok(Some(held))
}
