//! Directives `origin_queue` and `origin_priority`, and their parsers.

use myriad_conf::Diagnostic;
use myriad_conf::registry::{Arguments, Contexts, Directive, ONE, Set, SetterResult, between};
use myriad_conf::settings::Settings;

use super::class::PriorityClass;
use super::settings::{Concurrency, OriginQueueRules, QueueSettings, StatusRules};

/// Default of `queue=`: maximum number of requests that wait for an origin.
const WAITING: u32 = 200;
/// Default of `timeout=`: maximum time that a request waits for an origin, in milliseconds.
const TIMEOUT_MS: u64 = 10_000;
/// Default of `max=` with `concurrency=auto`: maximum number of concurrent requests to an origin.
const LEARNT: u32 = 64;
/// Default of `interval=` (pause between two status requests), in milliseconds.
const INTERVAL_MS: u64 = 1_000;
/// Minimum of `interval=`, in milliseconds: each status request occupies the pool.
const SHORTEST_INTERVAL_MS: u64 = 100;
/// Maximum of `interval=`, in milliseconds: the load changes within seconds.
const LONGEST_INTERVAL_MS: u64 = 60_000;
/// Maximum of `concurrency=`, `max=` and `queue=`: a waiting request occupies some kilobytes.
const MOST: u32 = 65_535;

pub(super) static ROWS: &[Directive] = &[
    Directive::new(
        "origin_queue",
        Contexts::HSL,
        between(1, 8),
        Set::Settings(origin_queue),
        "Limits concurrent requests to an origin, over all workers (`zone=NAME concurrency=N`, or `concurrency=auto \
             max=N` to adapt to its latency); further requests are queued: at most `queue=` (200), for at most `timeout=` \
             (10s). Beyond that the stale page is served if `*_cache_use_stale` includes `error`, `timeout` or `http_503`, \
             otherwise 503 with `Retry-After`. `release=head` frees the slot when the response header has arrived. \
             `status=/fpm-status` requests the status of php-fpm (its `pm.status_path`) every second (`interval=`), and \
             limits concurrent requests to the number of its available children.",
    )
    .default("off")
    .own(),
    Directive::new(
        "origin_priority",
        Contexts::HSL,
        ONE,
        Set::Settings(origin_priority),
        "Priority of requests in `origin_queue`: `high` (0), `normal` (1, also for any other value), `low` (2), `last` \
             (3); a text with variables. After each quarter of the maximum wait, a request rises by one class. `high` \
             requests may occupy at most half of the queue; further ones count as `normal`, so clients that can choose their \
             priority cannot block others. Background refreshes and mirrored requests are `last`.",
    )
    .default("normal")
    .own(),
];

fn origin_queue(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let rules = &mut settings.feature_mut::<QueueSettings>().queue;
    if args.len() == 1 && args.bytes(0) == b"off" {
        *rules = None;
        return Ok(());
    }
    *rules = Some(read(args)?);
    Ok(())
}

fn read(args: &Arguments<'_>) -> Result<OriginQueueRules, Diagnostic> {
    let (mut zone, mut concurrency, mut most) = (None, None, None);
    let (mut most_waiting, mut timeout_ms, mut until_head) = (WAITING, TIMEOUT_MS, false);
    let (mut status, mut interval) = (None, None);
    for index in 0..args.len() {
        let word = args.bytes(index);
        let (name, value) = word.split_at(word.iter().position(|byte| *byte == b'=').map_or(0, |at| at + 1));
        match name {
            b"zone=" => zone = Some(zone_name(args, index, value)?),
            b"concurrency=" if value == b"auto" => concurrency = Some(None),
            b"concurrency=" => concurrency = Some(Some(count(args, index, name.len(), 1)?)),
            b"max=" => most = Some((index, count(args, index, name.len(), 1)?)),
            b"queue=" => most_waiting = count(args, index, name.len(), 0)?,
            b"timeout=" => timeout_ms = args.millis_after(index, name.len())?,
            b"status=" => status = Some(status_path(args, index, value)?),
            b"interval=" => interval = Some((index, interval_ms(args, index, name.len())?)),
            b"release=" if value == b"head" || value == b"body" => until_head = value == b"head",
            _ => {
                return Err(args.invalid(
                    index,
                    "`off`, or `zone=NAME`, `concurrency=N` or `concurrency=auto`, `max=N`, `queue=N`, `timeout=TIME`, \
                     `release=head` or `release=body`, `status=/PATH`, `interval=TIME`",
                ));
            }
        }
    }
    let missing = |what: &str, example: &str| {
        let message = format!("\"origin_queue\" must have \"{what}\" parameter");
        Diagnostic::error(args.node.span, message).help(format!("write `{example}`"))
    };
    let zone = zone.ok_or_else(|| missing("zone", "origin_queue zone=php concurrency=8;"))?;
    let concurrency = match (concurrency, most) {
        (None, _) => return Err(missing("concurrency", "origin_queue zone=php concurrency=8;")),
        (Some(Some(_)), Some((index, _))) => {
            return Err(args
                .error(index, "\"max=\" requires `concurrency=auto`")
                .help("set the number of concurrent requests with `concurrency=`"));
        }
        (Some(Some(number)), None) => Concurrency::Fixed(number),
        (Some(None), most) => Concurrency::Learned { max: most.map_or(LEARNT, |(_, most)| most) },
    };
    let status = status_rules(args, status, interval)?;
    Ok(OriginQueueRules { zone, concurrency, max_waiting: most_waiting, timeout_ms, until_head, status })
}

/// Combines `status=` and `interval=`. Returns `None` without `status=`, and an error for `interval=` without it.
fn status_rules(
    args: &Arguments<'_>,
    path: Option<Box<[u8]>>,
    interval: Option<(usize, u64)>,
) -> Result<Option<StatusRules>, Diagnostic> {
    match (path, interval) {
        (None, Some((index, _))) => {
            let what = "\"interval=\" requires \"status=\"";
            Err(args.error(index, what).help("set `status=` to php-fpm's `pm.status_path`"))
        }
        (path, interval) => {
            let interval_ms = interval.map_or(INTERVAL_MS, |(_, interval_ms)| interval_ms);
            Ok(path.map(|path| StatusRules { path, interval_ms }))
        }
    }
}

/// Parses the path of `status=`, which php-fpm compares with the requested script name. Returns an error unless it
/// begins with `/`, is longer than that, and contains no `?` and no `$`.
fn status_path(args: &Arguments<'_>, index: usize, value: &[u8]) -> Result<Box<[u8]>, Diagnostic> {
    let is_path = value.len() > 1 && value[0] == b'/' && !value.contains(&b'?') && !value.contains(&b'$');
    if is_path {
        Ok(value.into())
    } else {
        Err(args
            .invalid(index, "`status=/PATH`, equal to php-fpm's `pm.status_path`, without `?` and variables"))
    }
}

fn interval_ms(args: &Arguments<'_>, index: usize, skip: usize) -> Result<u64, Diagnostic> {
    let interval_ms = args.millis_after(index, skip)?;
    if (SHORTEST_INTERVAL_MS..=LONGEST_INTERVAL_MS).contains(&interval_ms) {
        Ok(interval_ms)
    } else {
        Err(args.invalid(index, "from 100ms to 60s"))
    }
}

fn zone_name(args: &Arguments<'_>, index: usize, value: &[u8]) -> Result<String, Diagnostic> {
    match std::str::from_utf8(value) {
        Ok(name) if !name.is_empty() && !name.contains(':') => Ok(name.to_owned()),
        _ => Err(args.invalid(index, "`zone=NAME`, without a size: `queue=` sets the size")),
    }
}

fn count(args: &Arguments<'_>, index: usize, skip: usize, least: u32) -> Result<u32, Diagnostic> {
    let number = args.small(index, skip)?;
    if (least..=MOST).contains(&number) {
        Ok(number)
    } else {
        Err(args.invalid(index, format!("from {least} to {MOST}")))
    }
}

fn origin_priority(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let text = args.text(0)?;
    if !text.has_variables() && PriorityClass::parse(text.bytes()).is_none() {
        return Err(args.invalid(
            0,
            "`high`, `normal`, `low`, `last`, or a text with variables that evaluates to one of them",
        ));
    }
    settings.feature_mut::<QueueSettings>().priority = Some(text);
    Ok(())
}
