//! Parsers for the arguments of `*_cache*` directives.

#![allow(clippy::unnecessary_wraps, reason = "setters share one signature")]

use myriad_conf::registry::{Arguments, SetterResult, use_cache_zone};
use myriad_conf::settings::OriginSettings;
use myriad_conf::{Text, Word};
use myriad_policy::{Grace, Invalidate, Methods, StatusMatch, UseStale, ValidFor};

use crate::settings::{CacheSettings, CacheValid, CacheZone};

pub(super) fn cache(origin: &mut OriginSettings, args: &mut Arguments<'_>) -> SetterResult {
    let zone = args.text(0)?;
    origin.own_mut::<CacheSettings>().zone = if zone.value == b"off" {
        CacheZone::Off
    } else {
        if zone.is_empty() {
            return Err(args.invalid(0, "the name of a zone, or off"));
        }
        use_cache_zone(args, &zone);
        CacheZone::Zone(zone)
    };
    Ok(())
}

/// Statuses to which a `*_cache_valid` time without statuses applies, as in nginx.
const DEFAULT_STATUSES: [u16; 3] = [200, 301, 302];

pub(super) fn cache_valid(origin: &mut OriginSettings, args: &mut Arguments<'_>) -> SetterResult {
    let list = &mut origin.own_mut::<CacheSettings>().valid;
    args.start(list);
    let last = args.len() - 1;
    let text = args.bytes(last).contains(&b'$').then(|| args.text(last)).transpose()?;
    let ms = if text.is_some() { 0 } else { args.millis(last)? };
    let of = |status| CacheValid { valid: ValidFor { status, ms }, text: text.clone() };
    if last == 0 {
        list.extend(DEFAULT_STATUSES.map(|code| of(StatusMatch::Code(code))));
    }
    for index in 0..last {
        let status = match args.bytes(index) {
            b"any" => StatusMatch::Any,
            _ => match args.count(index) {
                Ok(code @ 100..=599) => StatusMatch::Code(code as u16),
                _ => return Err(args.invalid(index, "\"any\" or a status from 100 to 599")),
            },
        };
        list.push(of(status));
    }
    Ok(())
}

pub(super) fn cache_methods(origin: &mut OriginSettings, args: &mut Arguments<'_>) -> SetterResult {
    let stored_methods = &mut origin.own_mut::<CacheSettings>().methods;
    let mut methods = if args.first { Methods::default() } else { *stored_methods };
    for index in 0..args.len() {
        methods.post |= args.choice(index, &[("GET", false), ("HEAD", false), ("POST", true)])?;
    }
    *stored_methods = methods;
    Ok(())
}

fn add_texts(list: &mut Vec<Text>, args: &Arguments<'_>) {
    args.start(list);
    list.extend(args.words().iter().map(Word::to_text));
}

pub(super) fn cache_bypass(origin: &mut OriginSettings, args: &mut Arguments<'_>) -> SetterResult {
    add_texts(&mut origin.own_mut::<CacheSettings>().bypass, args);
    Ok(())
}

pub(super) fn cache_share(origin: &mut OriginSettings, args: &mut Arguments<'_>) -> SetterResult {
    add_texts(&mut origin.own_mut::<CacheSettings>().share, args);
    Ok(())
}

pub(super) fn no_cache(origin: &mut OriginSettings, args: &mut Arguments<'_>) -> SetterResult {
    add_texts(&mut origin.own_mut::<CacheSettings>().no_cache, args);
    Ok(())
}

pub(super) fn use_stale(origin: &mut OriginSettings, args: &mut Arguments<'_>) -> SetterResult {
    let http = !origin.protocol.has_environment();
    let before = origin.own_mut::<CacheSettings>().use_stale;
    let mut when = if args.first { UseStale::default() } else { before };
    // `off` disables all values, including those of later directives.
    let mut off = !args.first && before == UseStale::default();
    for index in 0..args.len() {
        let field = match args.bytes(index) {
            b"error" => &mut when.error,
            b"timeout" => &mut when.timeout,
            b"invalid_header" => &mut when.invalid_header,
            b"updating" => &mut when.updating,
            b"http_500" => &mut when.http_500,
            b"http_502" if http => &mut when.http_502,
            b"http_503" => &mut when.http_503,
            b"http_504" if http => &mut when.http_504,
            b"http_403" => &mut when.http_403,
            b"http_404" => &mut when.http_404,
            b"http_429" => &mut when.http_429,
            b"off" => &mut off,
            _ => {
                return Err(
                    args.invalid(index, "error, timeout, invalid_header, updating, http_500 etc., or off")
                );
            }
        };
        *field = true;
    }
    origin.own_mut::<CacheSettings>().use_stale = if off { UseStale::default() } else { when };
    Ok(())
}

pub(super) fn cache_stale(origin: &mut OriginSettings, args: &mut Arguments<'_>) -> SetterResult {
    let time = |index| if args.bytes(index) == b"off" { Ok(u64::MAX) } else { args.millis(index) };
    origin.own_mut::<CacheSettings>().stale = Grace { refresh_ms: time(0)?, failure_ms: time(1)? };
    Ok(())
}

/// Parses `*_cache_adaptive`. The minimum is at least one second: below, each visit would cause a fetch.
pub(super) fn cache_adaptive(origin: &mut OriginSettings, args: &mut Arguments<'_>) -> SetterResult {
    let min_ms = if args.bytes(0) == b"off" { None } else { Some(args.millis(0)?) };
    if min_ms.is_some_and(|ms| ms < 1000) {
        return Err(args.invalid(0, "a time of at least 1s, or off"));
    }
    origin.own_mut::<CacheSettings>().adaptive = min_ms;
    Ok(())
}

/// Parses `*_cache_negative`. Only statuses that report the absence of a resource, in general or for this request, are
/// valid (403, 404, 410, 451): for other statuses, the rule would store a redirect or a page, and `*_cache_valid`
/// covers server errors.
pub(super) fn cache_negative(origin: &mut OriginSettings, args: &mut Arguments<'_>) -> SetterResult {
    let list = &mut origin.own_mut::<CacheSettings>().negative;
    list.clear();
    let last = args.len() - 1;
    if last == 0 {
        return if args.bytes(0) == b"off" {
            Ok(())
        } else {
            Err(args.invalid(0, "statuses and a time, or off"))
        };
    }
    let valid = args.millis(last)?;
    for index in 0..last {
        match args.count(index) {
            Ok(code @ (403 | 404 | 410 | 451)) => list.push((code as u16, valid)),
            _ => return Err(args.invalid(index, "403, 404, 410 or 451")),
        }
    }
    Ok(())
}

pub(super) fn cache_invalidate(origin: &mut OriginSettings, args: &mut Arguments<'_>) -> SetterResult {
    let choices =
        [("off", Invalidate::Nothing), ("redirect", Invalidate::Redirects), ("on", Invalidate::Everything)];
    origin.own_mut::<CacheSettings>().invalidate = args.choice(0, &choices)?;
    Ok(())
}
