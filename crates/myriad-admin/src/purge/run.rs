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
use myriad_store::page::{
    PageZone, PurgeLogEntry, PurgeReceipts, PurgeSource, ReceiptsFuture, purge_predicate,
};

use super::zone_purge::{PurgeEffect, ZonePurge};

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

/// Purge that has taken effect in one or several zones.
pub struct CompletedPurge {
    /// Number of purged pages, or the state of the purge.
    pub outcome: PurgeResult,
    receipts: Vec<ReceiptsFuture>,
}

impl Default for CompletedPurge {
    fn default() -> Self {
        Self { outcome: PurgeResult::Done(0), receipts: Vec::new() }
    }
}

impl CompletedPurge {
    /// Adds the purge of a zone.
    pub fn add(&mut self, purged: AppliedPurge) {
        self.outcome = self.outcome.and(purged.outcome);
        self.receipts.extend(purged.receipts);
    }

    /// Adds another purge.
    pub fn merge(&mut self, other: CompletedPurge) {
        self.outcome = self.outcome.and(other.outcome);
        self.receipts.extend(other.receipts);
    }

    /// Waits until the other nodes of the cluster have applied the purge, or until the cluster's time limit for
    /// receipts. Returns `None` if no purged zone belongs to a cluster, and in later calls.
    pub async fn receipts(&mut self) -> Option<PurgeReceipts> {
        let mut all = None;
        for receipts in std::mem::take(&mut self.receipts) {
            let receipts = receipts.await;
            all = Some(match all {
                None => receipts,
                Some(others) => receipts.and(others),
            });
        }
        all
    }
}

/// Executes a purge in all `zones`. If the command selects pages by URL, tag or key, the pages under `keys` are purged
/// too. When this returns `Ok`, the purge is in effect on this node, also after a crash. After an error, the remaining
/// zones are not purged.
pub async fn run(
    zones: &[Arc<PageZone>],
    command: &PurgeCommand,
    keys: &[Vec<u8>],
    by: PurgeSource,
) -> Result<CompletedPurge, PurgeFailure> {
    let mut completed = CompletedPurge::default();
    for zone in zones {
        completed.add(run_in(zone, command, keys, by).await?);
    }
    Ok(completed)
}

/// Executes the purges that the response of an origin requests. Its hard purges by URL or tag are combined into one,
/// and its soft ones into another. Stops at the first purge that fails, and returns its error.
pub async fn run_all(zone: &PageZone, commands: &[PurgeCommand]) -> Result<(), PurgeFailure> {
    for effect in [PurgeEffect::Remove, PurgeEffect::MakeStale] {
        let targets = commands
            .iter()
            .filter(|command| PurgeEffect::of(command) == effect)
            .map(|command| command.what.clone());
        let (exact, others): (Vec<_>, Vec<_>) = targets.partition(PurgeTarget::is_exact);
        if !exact.is_empty() {
            let purge = ZonePurge { effect, targets: exact, keys: Vec::new() };
            run_published(zone, &purge, PurgeSource::Origin).await?;
        }
        for target in others {
            run_published(zone, &ZonePurge::of(target, effect), PurgeSource::Origin).await?;
        }
    }
    Ok(())
}

/// Purge that has taken effect in a zone.
pub struct AppliedPurge {
    /// Number of purged pages, or the state of the purge.
    pub outcome: PurgeResult,
    /// Sequence number of the purge in the zone ([`myriad_store::page::PurgeResults`]).
    pub number: u64,
    /// Receipts of the nodes of the cluster; `None` if the zone does not belong to one.
    receipts: Option<ReceiptsFuture>,
}

/// Returns an error text if the pattern of a purge is invalid.
pub fn check(what: &PurgeTarget) -> Result<(), String> {
    if what.is_exact() || *what == PurgeTarget::All { Ok(()) } else { purge_predicate(what).map(drop) }
}

/// Executes a purge in one zone, as [`run`] does in several zones.
pub async fn run_in(
    zone: &PageZone,
    command: &PurgeCommand,
    keys: &[Vec<u8>],
    by: PurgeSource,
) -> Result<AppliedPurge, PurgeFailure> {
    let mut purge = ZonePurge::of(command.what.clone(), PurgeEffect::of(command));
    if purge.is_exact() {
        purge.keys = keys.to_vec();
    }
    run_published(zone, &purge, by).await
}

/// Marks pages of a zone as invalid: they are fetched before they are used again, but may be used if that fetch fails.
pub async fn invalidate_in(
    zone: &PageZone,
    what: &PurgeTarget,
    by: PurgeSource,
) -> Result<AppliedPurge, PurgeFailure> {
    run_published(zone, &ZonePurge::of(what.clone(), PurgeEffect::Invalidate), by).await
}

/// Invalidates the pages of URLs, for example after an unsafe method (RFC 9111 section 4.4): they are fetched before
/// they are used again, but may be used if that fetch fails.
pub async fn invalidate(zone: &PageZone, urls: Vec<PurgeTarget>) -> Result<(), PurgeFailure> {
    let purge = ZonePurge { effect: PurgeEffect::Invalidate, targets: urls, keys: Vec::new() };
    let result = execute(zone, &purge).await;
    publish(zone, &purge, &result);
    let applied = result?;
    // Any client can cause this, so it is not logged if no page was affected.
    if applied.outcome != PurgeResult::Done(0) {
        log_purge(zone, &purge, PurgeSource::Request, &applied);
    }
    Ok(())
}

/// Executes and logs a purge that another node of the cluster has sent. It is not sent again.
pub async fn run_received(zone: &PageZone, purge: &ZonePurge) -> Result<(), PurgeFailure> {
    let applied = execute(zone, purge).await?;
    log_purge(zone, purge, PurgeSource::Cluster, &applied);
    Ok(())
}

/// Executes a purge, logs it, and sends it to the other nodes of the zone's cluster. If it fails, returns the error and
/// logs nothing; a purge that is in effect but could not be saved is still sent.
async fn run_published(
    zone: &PageZone,
    purge: &ZonePurge,
    by: PurgeSource,
) -> Result<AppliedPurge, PurgeFailure> {
    let result = execute(zone, purge).await;
    let receipts = publish(zone, purge, &result);
    let mut applied = result?;
    log_purge(zone, purge, by, &applied);
    applied.receipts = receipts;
    Ok(applied)
}

/// Sends a purge that is in effect, even if it could not be saved, to the other nodes of the zone's cluster. Returns
/// `None` if the zone does not belong to a cluster, or the purge is not in effect.
fn publish(
    zone: &PageZone,
    purge: &ZonePurge,
    result: &Result<AppliedPurge, PurgeFailure>,
) -> Option<ReceiptsFuture> {
    let publisher = zone.publisher.lock().clone()?;
    let is_durable = match result {
        Ok(_) => true,
        Err(PurgeFailure::Unlogged(_)) => false,
        Err(_) => return None,
    };
    Some(publisher.publish(zone.zone.name(), purge.encode(), is_durable))
}

/// Executes a purge in one zone of this node, without logging or sending it. Returns an error if its pattern is
/// invalid, too many purges are in progress, or it could not be saved.
async fn execute(zone: &PageZone, purge: &ZonePurge) -> Result<AppliedPurge, PurgeFailure> {
    let from = if purge.effect == PurgeEffect::MakeStale { stale_from() } else { 0 };
    let kind = purge.effect.kind();
    let purged = if purge.is_exact() {
        let addresses: Vec<u64> = purge.targets.iter().flat_map(PurgeTarget::addresses).collect();
        let labels: Vec<u64> = purge.targets.iter().flat_map(PurgeTarget::labels).collect();
        if !labels.is_empty() {
            zone.recent_purges.note_labels(&labels);
        }
        let keys: Vec<Vec<u8>> =
            all_keys(purge).flat_map(|key| [key.to_vec(), of_other_codings(key)]).collect();
        let keys: Vec<_> = keys.iter().map(|key| KeyRef::new(key)).collect();
        let covered = PurgeScope::Exact { keys: &keys, addresses: &addresses, labels: &labels };
        zone.zone.purge_from(covered, kind, from)
    } else {
        zone.recent_purges.note_all();
        let target = purge.targets[0].clone();
        if target == PurgeTarget::All {
            zone.zone.purge_from(PurgeScope::All, kind, from)
        } else {
            purge_predicate(&target).map(drop).map_err(PurgeFailure::Pattern)?;
            let mut name = target.to_string();
            shorten_name(&mut name);
            let mut rule = Vec::new();
            PurgeCommand { what: target, soft: kind == PurgeKind::Soft }.encode(&mut rule);
            zone.zone.purge_from(PurgeScope::Rule { name: &name, rule: &rule }, kind, from)
        }
    };
    Ok(applied_purge(&purged.await?))
}

/// Returns the cache keys of an exact purge.
fn all_keys(purge: &ZonePurge) -> impl Iterator<Item = &[u8]> {
    let named = purge.targets.iter().flat_map(|target| match target {
        PurgeTarget::Keys(keys) => &keys[..],
        _ => &[],
    });
    named.map(|key| &**key).chain(purge.keys.iter().map(Vec::as_slice))
}

fn applied_purge(purged: &LoggedPurge) -> AppliedPurge {
    let outcome = match purged.count {
        PurgeCount::Exact(count) => PurgeResult::Done(count),
        PurgeCount::AtLeast(count) => PurgeResult::AtLeast(count),
        PurgeCount::Later => PurgeResult::Accepted,
    };
    AppliedPurge { outcome, number: purged.number, receipts: None }
}

/// Adds a purge to the purge log of its zone, for monitoring.
fn log_purge(zone: &PageZone, purge: &ZonePurge, by: PurgeSource, applied: &AppliedPurge) {
    let (pages, at_least) = match applied.outcome {
        PurgeResult::Done(count) => (Some(count as u64), false),
        PurgeResult::AtLeast(count) => (Some(count as u64), true),
        PurgeResult::Accepted => (None, false),
    };
    let (kind, what) = purge.description();
    zone.purges.note(PurgeLogEntry {
        at_ms: wall_ms(),
        kind,
        what,
        soft: purge.effect != PurgeEffect::Remove,
        by,
        number: applied.number,
        pages,
        at_least,
        change: None,
    });
}

/// Returns the time since which a soft purge makes pages stale, in milliseconds of the process clock. It is one second
/// ago, because a busy worker evaluates freshness at the time at which it received a request.
fn stale_from() -> u64 {
    now_ms().saturating_sub(1000)
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

/// Truncates the description of a purge to `LONGEST_NAME` bytes for the log if it is longer, and then marks it with
/// `...`.
pub fn shorten_name(name: &mut String) {
    if name.len() > LONGEST_NAME {
        let end = (0..=LONGEST_NAME).rev().find(|at| name.is_char_boundary(*at)).unwrap_or(0);
        name.truncate(end);
        name.push_str("...");
    }
}
