//! Check of `limit_req`: admits, delays or rejects a request.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use myriad_log::LogLevel;
use myriad_script::EvalError;

use super::table::{Limit, LimitOutcome, RequestTable};
use crate::limit_response::LimitResponse;
use crate::limit_zone::LimitZone;
use myriad_exchange::exchange::{Check, CheckVerdict, Exchange, LimitStatus, Request};
use myriad_exchange::runtime::LimitDecision;

/// Maximum length of a `limit_req` key, in bytes: nginx stores the length in sixteen bits. A request with a longer key
/// is not counted.
const LONGEST_KEY: usize = 65_535;

/// Compiled `limit_req` of a location.
pub(super) struct LimitReq {
    /// Zones of the `limit_req` directives in source order, each with its rate, burst and delay.
    pub limits: Vec<(Arc<LimitZone<RequestTable>>, Limit)>,
    /// Status, log level and dry run for requests beyond a limit.
    pub answer: LimitResponse,
    /// `origin_only`: the check runs before a request is sent to the origin, not when it enters the location.
    pub origin_only: bool,
    /// Log level of a delay: one below that of a rejection, at lowest `info`.
    pub delay_level: LogLevel,
}

/// Error: the request is beyond a limit, which has been logged.
struct LimitExceeded;

/// Longest of the delays that the limits require.
struct LongestDelay<'a> {
    ms: u64,
    /// Excess of the request over the rate, in thousandths of a request.
    excess: u64,
    zone: &'a str,
}

impl Check for LimitReq {
    fn name(&self) -> &'static str {
        "limit_req"
    }

    fn judge(&self, exchange: &mut Exchange) -> CheckVerdict {
        let visit = Rc::clone(exchange.request.limit_results());
        let status = if self.origin_only { &visit.origin_requests } else { &visit.requests };
        // A client request is counted once, together with its subrequests. With `origin_only` it is counted each time
        // that it is sent to an origin.
        if status.get().is_some() && (!self.origin_only || exchange.request.is_subrequest()) {
            return CheckVerdict::Pass;
        }
        let keys = match self.keys(exchange) {
            Ok(keys) => keys,
            Err(error) => {
                exchange.request.log(LogLevel::Error, format_args!("{error}"));
                return CheckVerdict::Fail(500);
            }
        };
        if keys.is_empty() {
            return CheckVerdict::Pass;
        }
        // The time of receipt is not used: several requests of one connection may have been received together.
        let now = myriad_net::clock::now_ms();
        let (found, verdict) = match self.check_limits(&exchange.request, &keys, now) {
            Ok(None) => (LimitStatus::Passed, CheckVerdict::Pass),
            Ok(Some(wait)) => self.delay(&exchange.request, &wait),
            Err(LimitExceeded) if self.answer.dry_run => (LimitStatus::RejectedDryRun, CheckVerdict::Pass),
            Err(LimitExceeded) => (LimitStatus::Rejected, CheckVerdict::Fail(self.answer.status)),
        };
        status.set(Some(found));
        verdict
    }

    fn explain(&self, _: &Request) -> (String, CheckVerdict) {
        ("would count this request".to_owned(), CheckVerdict::Pass)
    }

    fn judges_subrequests(&self) -> bool {
        true
    }
}

impl LimitReq {
    /// Returns the keys of the request, each with the index of its limit; limits without a key for the request are left
    /// out.
    fn keys(&self, exchange: &mut Exchange) -> Result<Vec<(usize, Vec<u8>)>, EvalError> {
        let mut keys = Vec::with_capacity(self.limits.len());
        for (index, (zone, _)) in self.limits.iter().enumerate() {
            let mut key = Vec::new();
            zone.key(exchange, LONGEST_KEY, &mut key)?;
            if !key.is_empty() {
                keys.push((index, key));
            }
        }
        Ok(keys)
    }

    /// Checks every limit, and counts the request only if all of them admit it. Returns the longest delay; `None` if no
    /// limit requires one. `keys` must not be empty.
    fn check_limits(
        &self,
        request: &Request,
        keys: &[(usize, Vec<u8>)],
        now: u64,
    ) -> Result<Option<LongestDelay<'_>>, LimitExceeded> {
        let mut longest: Option<LongestDelay<'_>> = None;
        let mut consider = |index: usize, excess: u64| {
            let (zone, limit) = &self.limits[index];
            let ms = limit.wait_ms(excess);
            if ms > longest.as_ref().map_or(0, |longest| longest.ms) {
                longest = Some(LongestDelay { ms, excess, zone: &zone.name });
            }
        };
        let (last, others) = keys.split_last().ok_or(LimitExceeded)?;
        for (index, key) in others {
            let (zone, limit) = &self.limits[*index];
            self.excess_within(request, zone, zone.table.check(key, *limit, now))?;
        }
        let (zone, limit) = &self.limits[last.0];
        let excess = self.excess_within(request, zone, zone.table.check_and_count(&last.1, *limit, now))?;
        consider(last.0, excess);
        for (index, key) in others.iter().rev() {
            let (zone, limit) = &self.limits[*index];
            consider(*index, zone.table.count(key, *limit, now));
        }
        for (index, _) in keys {
            let zone = &self.limits[*index].0;
            let waits = longest.as_ref().is_some_and(|longest| longest.zone == &*zone.name);
            zone.counts.add(match (waits, self.answer.dry_run) {
                (false, _) => LimitDecision::Passed,
                (true, false) => LimitDecision::Delayed,
                (true, true) => LimitDecision::DelayedDryRun,
            });
        }
        Ok(longest)
    }

    /// Returns the excess of a request within a limit. Beyond it, or if the zone has no space for the key, logs and
    /// counts the rejection and returns an error.
    fn excess_within(
        &self,
        request: &Request,
        zone: &LimitZone<RequestTable>,
        asked: LimitOutcome,
    ) -> Result<u64, LimitExceeded> {
        if !matches!(asked, LimitOutcome::Within(_)) {
            let dry = self.answer.dry_run;
            zone.counts.add(if dry { LimitDecision::RejectedDryRun } else { LimitDecision::Rejected });
        }
        let zone = &zone.name;
        match asked {
            LimitOutcome::Within(excess) => Ok(excess),
            LimitOutcome::Beyond(excess) => {
                let (whole, part) = (excess / 1000, excess % 1000);
                let dry = self.dry_run_suffix();
                request.log(
                    self.answer.level,
                    format_args!("limiting requests{dry}, excess: {whole}.{part:03} by zone \"{zone}\""),
                );
                Err(LimitExceeded)
            }
            LimitOutcome::NoRoom => {
                request.log(LogLevel::Alert, format_args!("could not allocate node in zone \"{zone}\""));
                Err(LimitExceeded)
            }
        }
    }

    /// Logs the delay of a request, and returns the status and the verdict that waits for this time. With
    /// `limit_req_dry_run` the request is not delayed.
    fn delay(&self, request: &Request, wait: &LongestDelay<'_>) -> (LimitStatus, CheckVerdict) {
        let LongestDelay { ms, excess, zone } = *wait;
        let (whole, part) = (excess / 1000, excess % 1000);
        let dry = self.dry_run_suffix();
        request.log(
            self.delay_level,
            format_args!("delaying request{dry}, excess: {whole}.{part:03}, by zone \"{zone}\""),
        );
        if self.answer.dry_run {
            return (LimitStatus::DelayedDryRun, CheckVerdict::Pass);
        }
        let pause = async move |_: &mut Exchange| {
            tokio::time::sleep(Duration::from_millis(ms)).await;
            CheckVerdict::Pass
        };
        (LimitStatus::Delayed, CheckVerdict::wait(pause))
    }

    fn dry_run_suffix(&self) -> &'static str {
        if self.answer.dry_run { ", dry run" } else { "" }
    }
}
