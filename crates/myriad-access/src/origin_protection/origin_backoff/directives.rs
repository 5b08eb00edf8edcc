//! Directive `origin_backoff`, its settings and its parser.

use myriad_conf::registry::{Arguments, Contexts, Directive, Set, SetterResult, between};
use myriad_conf::settings::Settings;

/// Compiled `origin_backoff`: pauses after failed fetches, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BackoffRules {
    /// Pause after the first failed fetch of a page, in milliseconds, before the random variation of ±20%.
    pub first_ms: u64,
    /// Maximum pause after further failures, in milliseconds, before the random variation of ±20%.
    pub max_ms: u64,
}

/// `origin_backoff` of a level; `None` for `off`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct BackoffSettings(pub Option<BackoffRules>);

myriad_conf::feature_settings!(BackoffSettings);

/// Default of the maximum pause, in milliseconds; a longer first pause replaces it.
const MOST_MS: u64 = 60_000;
/// Largest pause that the directive accepts, in milliseconds: an hour.
const LONGEST_MS: u64 = 3_600_000;

pub(super) static ROWS: &[Directive] = &[Directive::new(
    "origin_backoff",
    Contexts::HSL,
    between(1, 2),
    Set::Settings(origin_backoff),
    "Delays further fetches of a cached page after a failed fetch (5xx, timeout, no connection): initial and maximum \
         delay (60s); each delay is twice the previous one, ±20%. Until then the stale page is served if \
         `*_cache_use_stale` includes the failure, otherwise 503 with `Retry-After`.",
)
.default("off")
.own()];

fn origin_backoff(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let rules = &mut settings.feature_mut::<BackoffSettings>().0;
    if args.len() == 1 && args.bytes(0) == b"off" {
        *rules = None;
        return Ok(());
    }
    let first_ms = args.millis(0)?;
    if first_ms == 0 || first_ms > LONGEST_MS {
        return Err(args.invalid(0, "`off`, or a time up to 1h"));
    }
    let most_ms = if args.len() == 2 { args.millis(1)? } else { MOST_MS.max(first_ms) };
    if !(first_ms..=LONGEST_MS).contains(&most_ms) {
        return Err(args.invalid(1, "a time up to 1h, not less than the first pause"));
    }
    *rules = Some(BackoffRules { first_ms, max_ms: most_ms });
    Ok(())
}
