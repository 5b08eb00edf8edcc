//! Check of `limit_conn`: counts a request against each limit until it completes, or rejects it.

use std::rc::Rc;
use std::sync::Arc;

use myriad_log::LogLevel;
use myriad_script::EvalError;

use super::table::{ConnectionTable, CountedRequest};
use crate::limit_response::LimitResponse;
use crate::limit_zone::LimitZone;
use myriad_exchange::exchange::{
    Check, CheckVerdict, Exchange, LimitResults, LimitStatus, Request, exchange_buffers,
};
use myriad_exchange::runtime::LimitDecision;

/// Maximum length of a `limit_conn` key, in bytes, as in nginx. A request with a longer key is not counted.
const LONGEST_KEY: usize = 255;

/// Compiled `limit_conn` of a location.
pub(super) struct LimitConn {
    /// Zones of the `limit_conn` directives in source order, each with its maximum number of concurrent requests per
    /// key.
    pub limits: Vec<(Arc<LimitZone<ConnectionTable>>, u16)>,
    /// Status, log level and dry run for requests beyond a limit.
    pub answer: LimitResponse,
    /// `origin_only`: the check runs before a request is sent to the origin, not when it enters the location.
    pub origin_only: bool,
}

impl Check for LimitConn {
    fn name(&self) -> &'static str {
        "limit_conn"
    }

    fn judge(&self, exchange: &mut Exchange) -> CheckVerdict {
        let visit = Rc::clone(exchange.request.limit_results());
        if self.origin_only {
            return self.judge_before_origin(exchange, &visit);
        }
        let status = &visit.connections;
        if status.get().is_some() {
            return CheckVerdict::Pass;
        }
        let held = match self.count_request(exchange) {
            Ok(held) => held,
            Err(error) => {
                exchange.request.log(LogLevel::Error, format_args!("{error}"));
                return CheckVerdict::Fail(500);
            }
        };
        match held {
            None if self.answer.dry_run => status.set(Some(LimitStatus::RejectedDryRun)),
            None => {
                status.set(Some(LimitStatus::Rejected));
                return CheckVerdict::Fail(self.answer.status);
            }
            Some(held) if held.is_empty() => {}
            Some(held) => {
                status.set(Some(LimitStatus::Passed));
                *visit.client_slots.borrow_mut() = Some(Box::new(held));
            }
        }
        CheckVerdict::Pass
    }

    fn explain(&self, _: &Request) -> (String, CheckVerdict) {
        ("would count this connection".to_owned(), CheckVerdict::Pass)
    }

    fn judges_subrequests(&self) -> bool {
        true
    }
}

impl LimitConn {
    /// Counts a request before it is sent to its origin, and stores the guards of the counts in `visit`. A subrequest
    /// is not counted while another request of the same client request is in flight to an origin. Rejects a request
    /// beyond a limit (except in a dry run); the status is 500 if a key cannot be evaluated.
    fn judge_before_origin(&self, exchange: &mut Exchange, visit: &LimitResults) -> CheckVerdict {
        if exchange.request.is_subrequest() && visit.active_fetches.get() > 0 {
            return CheckVerdict::Pass;
        }
        match self.count_request(exchange) {
            Ok(Some(held)) => *visit.origin_slots.borrow_mut() = Some(Box::new(held)),
            Ok(None) if self.answer.dry_run => {}
            Ok(None) => return CheckVerdict::Fail(self.answer.status),
            Err(error) => {
                exchange.request.log(LogLevel::Error, format_args!("{error}"));
                return CheckVerdict::Fail(500);
            }
        }
        CheckVerdict::Pass
    }

    /// Counts the request in every zone that has a key for it, and returns the guards of the counts. Returns `None` if
    /// the key has reached its limit in a zone or the table of a zone is full, which is logged; then nothing remains
    /// counted.
    fn count_request(&self, exchange: &mut Exchange) -> Result<Option<Vec<CountedRequest>>, EvalError> {
        let mut held = Vec::with_capacity(self.limits.len());
        for (zone, most) in &self.limits {
            let found = exchange_buffers::with_buffer(|key| {
                zone.key(exchange, LONGEST_KEY, key)?;
                Ok((!key.is_empty()).then(|| zone.table.try_count(key, *most)))
            })?;
            match found {
                None => {}
                Some(Some(counted)) => {
                    zone.counts.add(LimitDecision::Passed);
                    held.push(counted);
                }
                Some(None) => {
                    let dry = self.answer.dry_run;
                    zone.counts.add(if dry {
                        LimitDecision::RejectedDryRun
                    } else {
                        LimitDecision::Rejected
                    });
                    let dry = if self.answer.dry_run { ", dry run," } else { "" };
                    let name = &zone.name;
                    let message = format_args!("limiting connections{dry} by zone \"{name}\"");
                    exchange.request.log(self.answer.level, message);
                    return Ok(None);
                }
            }
        }
        Ok(Some(held))
    }
}
