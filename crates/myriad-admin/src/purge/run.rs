//! Execution of purges in zones.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use myriad_log::{ErrorLog, LogLevel};
use myriad_policy::{PurgeCommand, PurgeTarget};
use myriad_store::{KeyRef, LoggedPurge, PurgeCount, PurgeError, PurgeKind, PurgeScope};

use myriad_net::clock::{now_ms, wall_ms};
use myriad_store::page::key::of_other_codings;
use myriad_store::page::{PageZone, PurgeLogEntry, PurgeSource, purge_predicate};

/// Maximum length of the description of a purge in the log, in bytes, without the `...` after a truncated one.
const LONGEST_NAME: usize = 500;

/// Number of stored pages that one batch checks against pattern purges.
const TEND_BATCH: usize = 1024;
/// Maximum number of batches that one call of [`advance_purges`] checks.
const TEND_BATCHES: usize = 64;
/// Maximum duration of one call of [`advance_purges`], checked between batches.
const TEND_TIME: Duration = Duration::from_millis(10);

/// Result of a purge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PurgeResult {
    /// The purge is complete: this many pages were removed or made stale.
    Done(usize),
    /// The purge is complete for all known pages, at least this many. It also applies to files of a previous process,
    /// which are still being scanned.
    AtLeast(usize),
    /// The purge is in effect. Its pages are removed (or made stale) and counted in the background; the count is
    /// logged.
    Accepted,
}

impl PurgeResult {
    /// Returns the combined result of purges in two zones.
    #[must_use]
    pub fn and(self, other: PurgeResult) -> PurgeResult {
        match (self, other) {
            (Self::Accepted, _) | (_, Self::Accepted) => Self::Accepted,
            (Self::Done(a), Self::Done(b)) => Self::Done(a + b),
            (Self::AtLeast(a) | Self::Done(a), Self::AtLeast(b) | Self::Done(b)) => Self::AtLeast(a + b),
        }
    }
}

/// Reason why a purge failed.
#[derive(Debug)]
pub enum PurgeFailure {
    /// The pattern is invalid, for this reason.
    Pattern(String),
    /// No zone has this name.
    NoZone(String),
    /// Too many pattern purges are still in progress.
    TooMany,
    /// The purge is in effect, but could not be written to disk: a restart would lose it.
    Unlogged(io::Error),
}

impl fmt::Display for PurgeFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pattern(why) => f.write_str(why),
            Self::TooMany => f.write_str("too many concurrent purges; try again later"),
            Self::Unlogged(error) => {
                write!(f, "the purge is in effect, but cannot be stored and is lost at a restart: {error}")
            }
            Self::NoZone(name) => write!(f, "unknown cache zone \"{name}\""),
        }
    }
}

impl std::error::Error for PurgeFailure {}

impl From<PurgeError> for PurgeFailure {
    fn from(error: PurgeError) -> Self {
        match error {
            PurgeError::Rule => Self::Pattern("the pattern is too long".to_owned()),
            PurgeError::TooMany => Self::TooMany,
            PurgeError::Unlogged(error) => Self::Unlogged(error),
        }
    }
}

/// Executes a purge in all `zones`. If the command selects pages by URL, tag or key, the pages under `keys` are purged
/// too. When this returns `Ok`, the purge is in effect, also after a crash. After an error, the remaining zones are not
/// purged.
pub async fn run(
    zones: &[Arc<PageZone>],
    command: &PurgeCommand,
    keys: &[Vec<u8>],
    by: PurgeSource,
) -> Result<PurgeResult, PurgeFailure> {
    let mut outcome = PurgeResult::Done(0);
    for zone in zones {
        outcome = outcome.and(run_in(zone, command, keys, by).await?.outcome);
    }
    Ok(outcome)
}

/// Executes the purges that the response of an origin requests. Its hard purges by URL or tag are combined into one,
/// and its soft ones into another.
pub async fn run_all(zone: &PageZone, commands: &[PurgeCommand]) -> Result<(), PurgeFailure> {
    for soft in [false, true] {
        let of_kind = || commands.iter().filter(|command| command.soft == soft);
        let addresses: Vec<u64> = of_kind().flat_map(|command| command.what.addresses()).collect();
        let labels: Vec<u64> = of_kind().flat_map(|command| command.what.labels()).collect();
        if !addresses.is_empty() || !labels.is_empty() {
            let covered = PurgeScope::Exact { keys: &[], addresses: &addresses, labels: &labels };
            if !labels.is_empty() {
                zone.recent_purges.note_labels(&labels);
            }
            let purged = zone.zone.purge_from(covered, purge_kind(soft), stale_from()).await?;
            let exact: Vec<&PurgeTarget> =
                of_kind().map(|command| &command.what).filter(|what| what.is_exact()).collect();
            let what = exact.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            let word = exact.first().map_or("url", |what| what.kind());
            log_purge(zone, (word, what), soft, PurgeSource::Origin, applied_purge(&purged));
        }
        for command in of_kind().filter(|command| !command.what.is_exact()) {
            run_in(zone, command, &[], PurgeSource::Origin).await?;
        }
    }
    Ok(())
}

/// Purge that has taken effect in a zone.
#[derive(Clone, Copy, Debug)]
pub struct AppliedPurge {
    /// Number of purged pages, or the state of the purge.
    pub outcome: PurgeResult,
    /// Sequence number of the purge in the zone ([`myriad_store::page::PurgeResults`]).
    pub number: u64,
}

/// Returns an error text if the pattern of a purge is invalid.
pub fn check(what: &PurgeTarget) -> Result<(), String> {
    if what.is_exact() || *what == PurgeTarget::All { Ok(()) } else { purge_predicate(what).map(drop) }
}

/// Executes a purge in one zone, like [`run`].
pub async fn run_in(
    zone: &PageZone,
    command: &PurgeCommand,
    keys: &[Vec<u8>],
    by: PurgeSource,
) -> Result<AppliedPurge, PurgeFailure> {
    run_with_stale_time(zone, command, keys, stale_from(), by).await
}

/// Marks pages of a zone as invalid: they are fetched before they are used again, but may be used if that fetch fails.
pub async fn invalidate_in(
    zone: &PageZone,
    what: &PurgeTarget,
    by: PurgeSource,
) -> Result<AppliedPurge, PurgeFailure> {
    run_with_stale_time(zone, &PurgeCommand { what: what.clone(), soft: true }, &[], 0, by).await
}

/// Executes a purge in one zone. A soft purge makes pages stale since the time `from`; 0 means that they must be
/// fetched before they are used again.
async fn run_with_stale_time(
    zone: &PageZone,
    command: &PurgeCommand,
    keys: &[Vec<u8>],
    from: u64,
    by: PurgeSource,
) -> Result<AppliedPurge, PurgeFailure> {
    let (addresses, labels) = (command.what.addresses(), command.what.labels());
    let named = match &command.what {
        PurgeTarget::Keys(keys) => &keys[..],
        _ => &[],
    };
    let keys = named.iter().map(|key| &**key).chain(keys.iter().map(|key| &key[..]));
    let keys: Vec<_> = keys.flat_map(|key| [key.to_vec(), of_other_codings(key)]).collect();
    let all_keys: Vec<_> = keys.iter().map(|key| KeyRef::new(key)).collect();
    if !command.what.is_exact() {
        zone.recent_purges.note_all();
    } else if !labels.is_empty() {
        zone.recent_purges.note_labels(&labels);
    }
    let (mut rule, mut name);
    let covered = if command.what.is_exact() {
        PurgeScope::Exact { keys: &all_keys, addresses: &addresses, labels: &labels }
    } else if command.what == PurgeTarget::All {
        PurgeScope::All
    } else {
        purge_predicate(&command.what).map(drop).map_err(PurgeFailure::Pattern)?;
        rule = Vec::new();
        command.encode(&mut rule);
        name = command.what.to_string();
        shorten_name(&mut name);
        PurgeScope::Rule { name: &name, rule: &rule }
    };
    let purged = zone.zone.purge_from(covered, purge_kind(command.soft), from).await?;
    let made = applied_purge(&purged);
    log_purge(zone, (command.what.kind(), command.what.to_string()), command.soft, by, made);
    Ok(made)
}

fn applied_purge(purged: &LoggedPurge) -> AppliedPurge {
    let outcome = match purged.count {
        PurgeCount::Exact(count) => PurgeResult::Done(count),
        PurgeCount::AtLeast(count) => PurgeResult::AtLeast(count),
        PurgeCount::Later => PurgeResult::Accepted,
    };
    AppliedPurge { outcome, number: purged.number }
}

/// Adds a purge to the purge log of its zone, for monitoring.
fn log_purge(
    zone: &PageZone,
    (kind, what): (&'static str, String),
    soft: bool,
    by: PurgeSource,
    made: AppliedPurge,
) {
    let (pages, at_least) = match made.outcome {
        PurgeResult::Done(count) => (Some(count as u64), false),
        PurgeResult::AtLeast(count) => (Some(count as u64), true),
        PurgeResult::Accepted => (None, false),
    };
    let number = made.number;
    zone.purges.note(PurgeLogEntry {
        at_ms: wall_ms(),
        kind,
        what,
        soft,
        by,
        number,
        pages,
        at_least,
        change: None,
    });
}

/// Invalidates the pages of URLs, for example after an unsafe method (RFC 9111 section 4.4): they are fetched before
/// they are used again, but may be used if that fetch fails.
pub async fn invalidate(zone: &PageZone, urls: &[PurgeTarget]) -> Result<(), PurgeFailure> {
    let addresses: Vec<u64> = urls.iter().flat_map(PurgeTarget::addresses).collect();
    let covered = PurgeScope::Exact { keys: &[], addresses: &addresses, labels: &[] };
    let made = applied_purge(&zone.zone.purge(covered, PurgeKind::Soft).await?);
    // Any client can cause this, so it is not logged if no page was affected.
    if made.outcome != PurgeResult::Done(0) {
        let what = urls.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        log_purge(zone, ("url", what), true, PurgeSource::Request, made);
    }
    Ok(())
}

/// Returns the time since which a soft purge makes pages stale, in milliseconds of the process clock. It is one second
/// ago, because a busy worker evaluates freshness at the time at which it received a request.
fn stale_from() -> u64 {
    now_ms().saturating_sub(1000)
}

fn purge_kind(soft: bool) -> PurgeKind {
    if soft { PurgeKind::Soft } else { PurgeKind::Hard }
}

/// Continues to check pages against pattern purges, for at most `TEND_TIME`, and logs completed purges. It is called
/// periodically.
pub fn advance_purges(zone: &PageZone, log: &ErrorLog) {
    let began = Instant::now();
    // Matching a pattern may take long for each page, so the time per call is limited for other work of this thread.
    for _ in 0..TEND_BATCHES {
        if zone.zone.live_purges() == 0 || began.elapsed() >= TEND_TIME {
            return;
        }
        for purge in zone.zone.maintain_purges(TEND_BATCH) {
            zone.purge_results.note(purge.number, purge.count);
            zone.purges.end(purge.number, purge.count as u64);
            let (name, count) = (purge.name, purge.count);
            let (zone, plural) = (zone.zone.name(), if count == 1 { "" } else { "s" });
            let text = format_args!("purge of {name} in zone \"{zone}\": {count} page{plural}");
            log.write(LogLevel::Notice, None, text);
        }
    }
}

/// Truncates the description of a purge to `LONGEST_NAME` bytes for the log, and marks it with `...`.
pub fn shorten_name(name: &mut String) {
    if name.len() > LONGEST_NAME {
        let end = (0..=LONGEST_NAME).rev().find(|at| name.is_char_boundary(*at)).unwrap_or(0);
        name.truncate(end);
        name.push_str("...");
    }
}
