//! Execution of purges in zones.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use myriad_log::{ErrorLog, LogLevel};
use myriad_policy::{PurgeCommand, PurgeTarget};
use myriad_store::{
    FinishedPurge, KeyRef, LoggedPurge, NAME_OF_ALL, PurgeCount, PurgeError, PurgeFuture, PurgeKind,
    PurgeScope,
};

use myriad_net::clock::{now_ms, wall_ms};
use myriad_store::page::key::of_other_codings;
use myriad_store::page::{
    PageZone, PurgeLogEntry, PurgeReceipts, PurgeSource, ReceiptsFuture, purge_predicate,
};

use super::zone_purge::{PurgeEffect, ZonePurge};

/// Maximum length of the description of a purge in the log, in bytes, without the `...` after a truncated one.
const LONGEST_NAME: usize = 500;

/// Maximum number of stored pages that one batch checks against pattern purges.
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
    /// Converts the page count of a purge; pages that are counted later mean [`Self::Accepted`].
    fn of(count: PurgeCount) -> Self {
        match count {
            PurgeCount::Exact(count) => Self::Done(count),
            PurgeCount::AtLeast(count) => Self::AtLeast(count),
            PurgeCount::Later => Self::Accepted,
        }
    }

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
    /// The pattern of the purge is invalid; contains the reason.
    Pattern(String),
    /// No zone has this name.
    NoZone(String),
    /// Too many pattern purges are still in progress.
    TooMany,
    /// The purge is in effect, but could not be written to disk: a restart would lose it.
    Unlogged(io::Error),
    /// The purge is in effect on this node, but the other nodes of the cluster do not receive it, because the cluster
    /// node of this server has stopped: the server is shutting down, or a reload has removed the cluster.
    Unpublished,
}

impl fmt::Display for PurgeFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pattern(why) => f.write_str(why),
            Self::TooMany => f.write_str("too many concurrent purges; try again later"),
            Self::Unlogged(error) => {
                write!(f, "the purge is in effect, but cannot be stored and is lost at a restart: {error}")
            }
            Self::Unpublished => f.write_str(
                "the purge is in effect only on this node, because the server is shutting down or has left its cluster; repeat it",
            ),
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
    /// Adds the page count and the receipts of the purge of another zone.
    pub fn add(&mut self, purged: AppliedPurge) {
        self.outcome = self.outcome.and(purged.outcome);
        self.receipts.extend(purged.receipts);
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

/// Purge that is in effect in a zone. It is sent to the other nodes of the zone's cluster, and added to the purge log
/// of the zone, even if this value is dropped.
#[must_use = "the purge survives a crash of this node once `finish` has returned"]
pub struct BegunPurge {
    saving: PurgeFuture,
    /// Receipts of the other nodes of the zone's cluster; `None` if the zone does not belong to one.
    receipts: Option<ReceiptsFuture>,
}

impl BegunPurge {
    /// Waits until the purge survives a crash of this node. The purge log of the zone then contains it, unless an
    /// anonymous client caused it and it affected no page.
    ///
    /// # Errors
    ///
    /// Returns an error if the purge could not be saved. It is in effect nevertheless.
    pub async fn finish(self) -> Result<AppliedPurge, PurgeFailure> {
        let logged = self.saving.await?;
        Ok(AppliedPurge {
            outcome: PurgeResult::of(logged.count),
            number: logged.number,
            receipts: self.receipts,
        })
    }
}

/// Begins a purge in one zone: when this returns, it is in effect and handed over for sending to the other nodes of the
/// zone's cluster. Nothing is awaited in between, so that a client that disconnects cannot cause a purge on only one
/// node.
fn begin_published(zone: &PageZone, purge: &ZonePurge, by: PurgeSource) -> Result<BegunPurge, PurgeFailure> {
    let (name, publisher) = (zone.zone.name(), zone.publisher.lock().clone());
    let announced = publisher.as_ref().map(|publisher| publisher.announce(name, purge.labels().as_deref()));
    let saving = apply(zone, purge)?;
    let published = publisher
        .as_ref()
        .zip(announced)
        .and_then(|(publisher, announced)| publisher.publish(name, purge.encode(), announced));
    let (saved, receipts) = published.map(|published| (published.saved, published.receipts)).unzip();
    let note = purge_log_note(zone, purge, by);
    saving.observe(move |logged| {
        note(logged);
        if let Some(saved) = saved {
            saved(logged.is_some());
        }
    });
    if publisher.is_some() && receipts.is_none() {
        return Err(PurgeFailure::Unpublished);
    }
    Ok(BegunPurge { saving, receipts })
}

/// Begins a purge in one zone, which takes effect before this returns. If the command selects pages by URL, tag or key,
/// the pages under `keys` are purged too; otherwise `keys` is ignored.
pub fn begin_in(
    zone: &PageZone,
    command: &PurgeCommand,
    keys: &[Vec<u8>],
    by: PurgeSource,
) -> Result<BegunPurge, PurgeFailure> {
    let mut purge = ZonePurge::of(command.what.clone(), PurgeEffect::of(command));
    if purge.is_exact() {
        purge.keys = keys.to_vec();
    }
    begin_published(zone, &purge, by)
}

/// Begins to mark pages of a zone as invalid: they are fetched before they are used again, but may be used if that
/// fetch fails.
pub fn begin_invalidation(
    zone: &PageZone,
    what: &PurgeTarget,
    by: PurgeSource,
) -> Result<BegunPurge, PurgeFailure> {
    begin_published(zone, &ZonePurge::of(what.clone(), PurgeEffect::Invalidate), by)
}

/// Begins the purges of `commands` in all `zones`, as [`begin_in`]. After an error, the remaining purges are not begun.
pub fn begin(
    zones: &[Arc<PageZone>],
    commands: &[PurgeCommand],
    keys: &[Vec<u8>],
    by: PurgeSource,
) -> Result<Vec<BegunPurge>, PurgeFailure> {
    let each = commands.iter().flat_map(|command| zones.iter().map(move |zone| (zone, command)));
    each.map(|(zone, command)| begin_in(zone, command, keys, by)).collect()
}

/// Waits until all purges survive a crash of this node, and returns their combined result; returns the first error
/// without waiting for the remaining purges.
pub async fn finish(purges: Vec<BegunPurge>) -> Result<CompletedPurge, PurgeFailure> {
    let mut completed = CompletedPurge::default();
    for purge in purges {
        completed.add(purge.finish().await?);
    }
    Ok(completed)
}

/// Executes a purge in all `zones`, as [`begin`] and [`finish`].
pub async fn run(
    zones: &[Arc<PageZone>],
    command: &PurgeCommand,
    keys: &[Vec<u8>],
    by: PurgeSource,
) -> Result<CompletedPurge, PurgeFailure> {
    finish(begin(zones, std::slice::from_ref(command), keys, by)?).await
}

/// Begins the purges that the response of an origin requests. Its hard purges by URL, tag or key are combined into one
/// purge, and its soft ones into another.
pub fn begin_all(zone: &PageZone, commands: &[PurgeCommand]) -> Result<Vec<BegunPurge>, PurgeFailure> {
    let mut purges = Vec::new();
    let mut begin = |purge: &ZonePurge| -> Result<(), PurgeFailure> {
        purges.push(begin_published(zone, purge, PurgeSource::Origin)?);
        Ok(())
    };
    for effect in [PurgeEffect::Remove, PurgeEffect::MakeStale] {
        let targets = commands
            .iter()
            .filter(|command| PurgeEffect::of(command) == effect)
            .map(|command| command.what.clone());
        let (exact, others): (Vec<_>, Vec<_>) = targets.partition(PurgeTarget::is_exact);
        if !exact.is_empty() {
            begin(&ZonePurge { effect, targets: exact, keys: Vec::new(), is_anonymous: false })?;
        }
        for target in others {
            begin(&ZonePurge::of(target, effect))?;
        }
    }
    Ok(purges)
}

/// Purge that has taken effect in a zone.
pub struct AppliedPurge {
    /// Number of purged pages, or the state of the purge.
    pub outcome: PurgeResult,
    /// Sequence number of the purge in the zone ([`myriad_store::page::PurgeResults`]).
    pub number: u64,
    /// Receipts of the other nodes of the zone's cluster; `None` if the zone does not belong to one.
    receipts: Option<ReceiptsFuture>,
}

/// Returns an error text if the pattern of a purge is invalid.
pub fn check(what: &PurgeTarget) -> Result<(), String> {
    if what.is_exact() || *what == PurgeTarget::All { Ok(()) } else { purge_predicate(what).map(drop) }
}

/// Invalidates the pages of URLs after an unsafe method (RFC 9111 section 4.4), which any client can cause: they are
/// fetched before they are used again, but may be used if that fetch fails.
pub async fn invalidate(zone: &PageZone, urls: Vec<PurgeTarget>) -> Result<(), PurgeFailure> {
    let effect = PurgeEffect::Invalidate;
    let purge = ZonePurge { effect, targets: urls, keys: Vec::new(), is_anonymous: true };
    begin_published(zone, &purge, PurgeSource::Request)?.finish().await.map(drop)
}

/// Removes the pages under cache keys after an unsafe method, on all nodes of the zone's cluster, with one purge. The
/// removal is in effect on this node when this returns. Outside of a cluster, it is not saved, so that it costs no write
/// to the disk.
pub fn remove_keys(zone: &PageZone, keys: Vec<Vec<u8>>) -> Result<(), PurgeFailure> {
    if keys.is_empty() {
        return Ok(());
    }
    if zone.publisher.lock().is_none() {
        for key in keys {
            zone.zone.remove(KeyRef::new(&key));
            zone.zone.remove(KeyRef::new(&of_other_codings(&key)));
        }
        return Ok(());
    }
    let effect = PurgeEffect::Remove;
    let purge = ZonePurge { effect, targets: Vec::new(), keys, is_anonymous: true };
    begin_published(zone, &purge, PurgeSource::Request).map(drop)
}

/// Executes a purge that another node of the cluster has sent, and adds it to the purge log. It is not sent again.
pub async fn run_received(zone: &PageZone, purge: &ZonePurge) -> Result<(), PurgeFailure> {
    let saving = apply(zone, purge)?;
    saving.observe(purge_log_note(zone, purge, PurgeSource::Cluster));
    saving.await?;
    Ok(())
}

/// Makes all pages of a zone stale, because they may have missed purges of other nodes: they are fetched before they
/// are used again, but may be used if that fetch fails. This is not a purge, so it is not in the purge log for
/// monitoring.
pub async fn expire_zone(zone: &PageZone) -> Result<(), PurgeFailure> {
    zone.recent_purges.note_all();
    zone.zone.purge(PurgeScope::Expiry, PurgeEffect::Invalidate.kind()).if_active()?.await?;
    Ok(())
}

/// Applies a purge to one zone of this node. It is in effect when this returns, and survives a crash when the future has
/// completed.
fn apply(zone: &PageZone, purge: &ZonePurge) -> Result<PurgeFuture, PurgeFailure> {
    let from = if purge.effect == PurgeEffect::MakeStale { stale_from() } else { 0 };
    let kind = purge.effect.kind();
    let purged = if purge.is_exact() {
        let addresses: Vec<u64> = purge.targets.iter().flat_map(PurgeTarget::addresses).collect();
        let labels: Vec<u64> = purge.targets.iter().flat_map(PurgeTarget::labels).collect();
        // The parts of pages that are stored for a visitor may come from a page of the zone.
        let noted = [&labels[..], &addresses].concat();
        if !noted.is_empty() {
            zone.recent_purges.note_labels(&noted);
        }
        let keys: Vec<Vec<u8>> =
            purge.all_keys().flat_map(|key| [key.to_vec(), of_other_codings(key)]).collect();
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
    Ok(purged.if_active()?)
}

/// Returns a function that adds a purge to the purge log of its zone, for monitoring. Its argument is the result of the
/// purge; `None` if it could not be saved. An anonymous purge ([`ZonePurge::is_anonymous`]) is not added if no page was
/// affected.
fn purge_log_note(
    zone: &PageZone,
    purge: &ZonePurge,
    by: PurgeSource,
) -> impl FnOnce(Option<LoggedPurge>) + Send + use<> {
    let (log, at_ms, is_anonymous) = (zone.purges.clone(), wall_ms(), purge.is_anonymous);
    let (kind, what) = purge.description();
    let soft = purge.is_soft();
    move |logged| {
        let outcome = logged.map(|logged| PurgeResult::of(logged.count));
        let (pages, at_least) = match outcome {
            Some(PurgeResult::Done(0)) if is_anonymous => return,
            Some(PurgeResult::Done(count)) => (Some(count as u64), false),
            Some(PurgeResult::AtLeast(count)) => (Some(count as u64), true),
            Some(PurgeResult::Accepted) => (None, false),
            None => (Some(0), true),
        };
        let number = logged.map_or(at_ms, |logged| logged.number);
        log.note(PurgeLogEntry {
            at_ms,
            kind,
            what,
            soft,
            by,
            is_anonymous,
            number,
            pages,
            at_least,
            change: None,
        });
    }
}

/// Returns the time since which a soft purge makes pages stale, in milliseconds of the process clock. It is one second
/// ago, because a busy worker evaluates freshness at the time at which it received a request.
fn stale_from() -> u64 {
    now_ms().saturating_sub(1000)
}

/// Checks further pages against pattern purges until `TEND_TIME` has passed or `TEND_BATCHES` batches are checked, and
/// logs completed purges. It is called periodically.
pub fn advance_purges(zone: &PageZone, log: &ErrorLog) {
    let began = Instant::now();
    // Matching a pattern may take long for each page, so the time per call is limited for other work of this thread.
    for _ in 0..TEND_BATCHES {
        if zone.zone.live_purges() == 0 || began.elapsed() >= TEND_TIME {
            return;
        }
        for purge in zone.zone.maintain_purges(TEND_BATCH) {
            zone.purge_results.note(purge.number, purge.count);
            let is_listed = zone.purges.end(purge.number, purge.count as u64);
            if let Some(text) = completion_text(zone.zone.name(), &purge, is_listed) {
                log.write(LogLevel::Notice, None, format_args!("{text}"));
            }
        }
    }
}

/// Returns the log message about a completed purge with its page count. `is_listed` is true if the purge log for
/// monitoring contains the purge. Returns `None` if no page was affected by an expiry ([`expire_zone`]), or by a purge
/// of all pages that is not listed, because it was read from the disk at the start.
pub(super) fn completion_text(zone: &str, purge: &FinishedPurge, is_listed: bool) -> Option<String> {
    let FinishedPurge { name, count, is_expiry, .. } = purge;
    let plural = if *count == 1 { "" } else { "s" };
    if *is_expiry {
        return (*count > 0).then(|| {
            format!("{count} page{plural} of zone \"{zone}\" became stale: they may have missed a purge")
        });
    }
    let is_reported = is_listed || *count > 0 || **name != *NAME_OF_ALL;
    is_reported.then(|| format!("purge of {name} in zone \"{zone}\": {count} page{plural}"))
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
