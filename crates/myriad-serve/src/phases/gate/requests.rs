//! `limit_req`.

use std::rc::Rc;
use std::time::Duration;

use myriad_log::Level;
use myriad_script::EvalError;

use super::{Verdict, Waiting};
use crate::exchange::{Exchange, Request};
use crate::limits::{Asked, Limit, LimitStatus};
use crate::runtime::RequestLimits;

/// The longest key, bytes (nginx counts its length in sixteen bits).
const LONGEST_KEY: usize = 65_535;

/// Asks the limits: the request is let in, held back, or refused.
pub(super) fn judge(exchange: &mut Exchange, rules: &RequestLimits) -> Verdict {
    let visit = Rc::clone(exchange.request.visit());
    let status = &visit.requests;
    if status.get().is_some() {
        return Verdict::Pass;
    }
    let keys = match keys(exchange, rules) {
        Ok(keys) => keys,
        Err(error) => {
            exchange.request.log(Level::Error, format_args!("{error}"));
            return Verdict::Fail(500);
        }
    };
    if keys.is_empty() {
        return Verdict::Pass;
    }
    let request = &exchange.request;
    let dry = if rules.answer.dry_run { ", dry run" } else { "" };
    // The clock of this moment: requests of one connection may have been received together.
    let now = myriad_net::clock::now_ms();
    let waits = match ask(request, rules, &keys, now) {
        Ok(waits) => waits,
        Err(()) if rules.answer.dry_run => {
            status.set(Some(LimitStatus::RejectedDryRun));
            return Verdict::Pass;
        }
        Err(()) => {
            status.set(Some(LimitStatus::Rejected));
            return Verdict::Fail(rules.answer.status);
        }
    };
    let Some(Wait { ms, excess, zone }) = waits else {
        status.set(Some(LimitStatus::Passed));
        return Verdict::Pass;
    };
    let (whole, part) = (excess / 1000, excess % 1000);
    request.log(
        rules.delay_level,
        format_args!("delaying request{dry}, excess: {whole}.{part:03}, by zone \"{zone}\""),
    );
    if rules.answer.dry_run {
        status.set(Some(LimitStatus::DelayedDryRun));
        return Verdict::Pass;
    }
    status.set(Some(LimitStatus::Delayed));
    Verdict::Wait(Waiting::Pause(Duration::from_millis(ms)))
}

/// The longest wait that the limits ask for.
struct Wait<'a> {
    ms: u64,
    excess: u64,
    zone: &'a str,
}

/// The keys of the limits that have one for this request, by the limit's index.
fn keys(exchange: &mut Exchange, rules: &RequestLimits) -> Result<Vec<(usize, Vec<u8>)>, EvalError> {
    let Exchange { request, frame } = exchange;
    let mut keys = Vec::with_capacity(rules.limits.len());
    for (index, (zone, _)) in rules.limits.iter().enumerate() {
        let mut key = Vec::new();
        zone.key.eval(request, frame, &mut key)?;
        if key.len() > LONGEST_KEY {
            let name = &zone.name;
            request.log(
                Level::Error,
                format_args!("the value of the key of zone \"{name}\" is more than {LONGEST_KEY} bytes"),
            );
        } else if !key.is_empty() {
            keys.push((index, key));
        }
    }
    Ok(keys)
}

/// Asks every limit, and counts the request only where all let it in.
fn ask<'a>(
    request: &Request,
    rules: &'a RequestLimits,
    keys: &[(usize, Vec<u8>)],
    now: u64,
) -> Result<Option<Wait<'a>>, ()> {
    let mut longest: Option<Wait<'a>> = None;
    let mut consider = |limit: &Limit, zone: &'a str, excess: u64| {
        let ms = limit.wait_ms(excess);
        if ms > longest.as_ref().map_or(0, |longest| longest.ms) {
            longest = Some(Wait { ms, excess, zone });
        }
    };
    let (last, others) = keys.split_last().ok_or(())?;
    for (index, key) in others {
        let (zone, limit) = &rules.limits[*index];
        within(request, rules, &zone.name, zone.table.ask(key, *limit, now))?;
    }
    let (zone, limit) = &rules.limits[last.0];
    let excess = within(request, rules, &zone.name, zone.table.ask_and_count(&last.1, *limit, now))?;
    consider(limit, &zone.name, excess);
    for (index, key) in others.iter().rev() {
        let (zone, limit) = &rules.limits[*index];
        consider(limit, &zone.name, zone.table.count(key, *limit, now));
    }
    Ok(longest)
}

fn within(request: &Request, rules: &RequestLimits, zone: &str, asked: Asked) -> Result<u64, ()> {
    match asked {
        Asked::Within(excess) => Ok(excess),
        Asked::Beyond(excess) => {
            let dry = if rules.answer.dry_run { ", dry run" } else { "" };
            let (whole, part) = (excess / 1000, excess % 1000);
            request.log(
                rules.answer.level,
                format_args!("limiting requests{dry}, excess: {whole}.{part:03} by zone \"{zone}\""),
            );
            Err(())
        }
        Asked::NoRoom => {
            request.log(Level::Alert, format_args!("could not allocate node in zone \"{zone}\""));
            Err(())
        }
    }
}
