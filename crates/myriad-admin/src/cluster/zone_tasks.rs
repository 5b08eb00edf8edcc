//! Purges and readiness, executed in the order in which the node requests them.

use std::sync::Arc;
use std::time::Duration;

use myriad_cluster::node::{BatchNumber, ClockMs, ClusterEvent, Readiness};
use myriad_cluster::record::ClusterPurge;
use myriad_log::ErrorLog;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};

use super::input::{Input, clock_ms};
use super::start_state::StartState;
use super::zones::ClusterZones;

/// Interval at which all pages are made stale while no stored page may be served without validation. It bounds the age
/// of a page that is served.
const STRICT_INTERVAL: Duration = Duration::from_secs(1);

/// Maximum time for the replay of missed purges at the start. After it, all stored pages are stale.
const REPLAY_TIMEOUT: Duration = Duration::from_secs(3);

/// Interval of attempts to make pages stale durably, after a failure.
const EXPIRE_AGAIN_MS: u64 = 30_000;

/// Task for the zones of this node.
pub(super) enum ZoneTask {
    /// Execute purges of other nodes.
    Apply(BatchNumber, Vec<ClusterPurge>),
    /// Make all pages stale.
    ExpireEverything(BatchNumber),
    /// Change which stored pages are served.
    SetReadiness(Readiness),
}

/// Executes tasks until the queue is closed, and reports those with a number to `inputs`. Sets `start_state` to
/// ready after the node has sent its first [`Readiness`]. If no task arrives within [`REPLAY_TIMEOUT`] before that, all
/// stored pages become stale, and `start_state` is set to ready.
pub(super) async fn run_zone_tasks(
    zones: Arc<ClusterZones>,
    log: ErrorLog,
    mut tasks: UnboundedReceiver<ZoneTask>,
    inputs: UnboundedSender<Input>,
    start_state: Arc<StartState>,
) {
    // All pages whose fetch began before this time are stale.
    let mut expired_at: ClockMs = 0;
    // `None` until the node has sent its first [`Readiness`], or no task has arrived within [`REPLAY_TIMEOUT`].
    let mut readiness = None;
    let start = clock_ms();
    let mut expire_again_at = start + EXPIRE_AGAIN_MS;
    loop {
        let limit = match readiness {
            None => Some(REPLAY_TIMEOUT),
            Some(Readiness::StaleBefore(ClockMs::MAX)) => Some(STRICT_INTERVAL),
            Some(_) => zones.has_unexpired().then_some(Duration::from_millis(EXPIRE_AGAIN_MS)),
        };
        match next_task(&mut tasks, limit).await {
            Ok(None) => return,
            Ok(Some(ZoneTask::Apply(batch, purges))) => {
                let is_saved = zones.apply(&purges, &log).await;
                report(&inputs, batch, is_saved);
            }
            Ok(Some(ZoneTask::ExpireEverything(batch))) => {
                expired_at = clock_ms();
                let is_saved = zones.expire_all(&log).await;
                report(&inputs, batch, is_saved);
            }
            Ok(Some(ZoneTask::SetReadiness(new))) => readiness = Some(new),
            Err(TimeLimitReached) => readiness = readiness.or(Some(Readiness::StaleBefore(start))),
        }
        // A purge of everything covers more pages than required, so that it is needed again only when the required time
        // has passed its own.
        if let Some(Readiness::StaleBefore(time)) = readiness
            && time > expired_at
        {
            expired_at = clock_ms();
            // The result is not needed: if this is not saved, a crash has no effect either, because the next start reads the
            // missed purges, or applies the same rule.
            zones.expire_all(&log).await;
        }
        if clock_ms() >= expire_again_at {
            expire_again_at = clock_ms() + EXPIRE_AGAIN_MS;
            let expired = zones.expire_again(&log).await;
            if !expired.is_empty() {
                // The next record is after this. Fails if the node has stopped.
                let _ = inputs.send(Input::Gap(zones.announce_gap(&expired)));
            }
        }
        if readiness.is_some() {
            start_state.set_ready();
        }
    }
}

/// Reports to the node that a task is in effect, and whether it survives a crash.
fn report(inputs: &UnboundedSender<Input>, batch: BatchNumber, is_saved: bool) {
    let result = if is_saved { ClusterEvent::Applied } else { ClusterEvent::AppliedNotSaved };
    // Fails if the node has stopped.
    let _ = inputs.send(Input::Event(result(batch)));
}

/// Error of a wait that was too long.
struct TimeLimitReached;

/// Returns the next task; `None` if the queue is closed.
async fn next_task(
    tasks: &mut UnboundedReceiver<ZoneTask>,
    limit: Option<Duration>,
) -> Result<Option<ZoneTask>, TimeLimitReached> {
    match limit {
        Some(limit) => tokio::time::timeout(limit, tasks.recv()).await.map_err(|_| TimeLimitReached),
        None => Ok(tasks.recv().await),
    }
}
