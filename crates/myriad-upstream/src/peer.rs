//! Run-time state of a peer: health, load and counters.

use std::cell::Cell;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use crate::fastcgi_protocol::PoolStatus;
use myriad_conf::model::MeasuredUntil;

use crate::address::PeerAddress;
use crate::clock;
use crate::config::PeerConfig;
use crate::health::{CheckCounts, HealthVerdict, PeerHealth};
use crate::inflight::{Inflight, averaged};
use crate::peer_counts::{PeerCounts, PeerTraffic};
use crate::peer_order::{CurrentOrder, PeerOrder};
use crate::pool::IdlePool;
use crate::stream::ParkedStream;
use crate::wait_queue::{self, WaitQueue};

/// State of a peer for status pages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerSnapshot {
    /// Name of the peer's server in the configuration, or the target of its service record.
    pub name: String,
    /// Address of the peer.
    pub address: PeerAddress,
    /// Number of active requests to the peer.
    pub active: u32,
    /// Number of times the peer was chosen for a request since the start of the process or the last reset.
    pub requests: u64,
    /// Number of failed attempts since the start of the process or the last reset.
    pub failures: u64,
    /// Number of idle FastCGI connections, each of which occupies a php-fpm child.
    pub idle_fastcgi: usize,
    /// Last status of the peer's php-fpm pool; `None` if it is not queried or no recent status is available.
    pub pool: Option<PoolStatus>,
    /// Weight of the peer (`weight`).
    pub weight: u32,
    /// True if the peer gets requests only when no other peer is usable (`backup`).
    pub backup: bool,
    /// True if the peer is up or draining, and below `max_conns`.
    pub available: bool,
    /// State of the peer, without regard to its number of requests.
    pub status: PeerStatus,
    /// True if an order of an administrator overrides the configuration ([`crate::PeerOrder`]).
    pub is_ordered: bool,
    /// Identifier of the peer in the group, and identifier of the server whose name resolved to the peer (`None` for a
    /// server with an address); see [`crate::ServerSnapshot`].
    pub id: (u64, Option<u64>),
    /// Request and response counters of the peer.
    pub traffic: PeerTraffic,
    /// Maximum number of concurrent requests, 0 for no limit (`max_conns`).
    pub max_conns: u32,
    /// Moving averages of the times to connect (only in `stream`), to the head or first byte of the response, and to
    /// its end, in milliseconds; 0 without a measurement.
    pub took_ms: [u32; 3],
    /// Number of times failures made the peer unavailable since the start of the process or the last reset.
    pub unavailable: u64,
    /// Counters of the peer's health checks (`health_check`).
    pub checks: CheckCounts,
    /// Time in milliseconds in which failures or checks made the peer unavailable since the last reset, including the
    /// whole current unavailability.
    pub downtime_ms: u64,
    /// Start of the current unavailability due to failures or checks, in milliseconds since the epoch; `None` if there
    /// is none, as for a peer that is `down`.
    pub down_since_ms: Option<u64>,
    /// Time when the peer was last chosen for a request, in milliseconds since the Unix epoch; `None` if it was never
    /// chosen.
    pub selected_ms: Option<u64>,
    /// Number of idle connections to the peer in the pools of all workers, without HTTP/2.
    pub idle: usize,
}

impl PeerSnapshot {
    /// Returns whether the peer belongs to `server`, which is a name or an address.
    pub(crate) fn is_of(&self, server: &str) -> bool {
        self.name == server || self.address.to_string() == server
    }
}

/// State of a peer, named as in nginx's API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeerStatus {
    /// The peer gets requests.
    Up,
    /// The peer gets only requests with its `sticky` identifier (`drain`).
    Draining,
    /// The peer gets no requests because of the configuration or an order (`down`).
    Down,
    /// The peer has failed too often and gets no requests for some time (`max_fails`), unless it is the only peer of
    /// the group.
    Unavailable,
    /// The peer must pass its checks first (`health_check mandatory`).
    Checking,
    /// The peer has failed its checks (`health_check`).
    Unhealthy,
}

impl PeerStatus {
    /// Returns the name of the state as in nginx's API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Draining => "draining",
            Self::Down => "down",
            Self::Unavailable => "unavail",
            Self::Checking => "checking",
            Self::Unhealthy => "unhealthy",
        }
    }
}

/// Maximum response time in milliseconds that `least_time` distinguishes: slower peers count as equal. [`STEP_MS`] is
/// the resolution.
const SLOWEST_MS: u32 = 5000;
const STEP_MS: u32 = 20;

/// Weight factor in thousandths of a peer that is not in its slow start (`slow_start`).
const WHOLE_SHARE: u32 = 1000;

static NEXT_ID: AtomicU64 = AtomicU64::new(1);

/// State of a peer, shared by all workers and retained over reloads.
#[derive(Debug)]
pub(crate) struct PeerState {
    /// Identifier of the state in connection pools, never reused.
    pub(crate) id: u64,
    /// Number of failures of the peer since the last reset: by a successful attempt after a pause, a recovery in health
    /// checks, an administrator, or a request that found no usable peer (`max_fails`).
    fails: AtomicU32,
    /// Number of consecutive failures in the first attempt after a pause (`fail_timeout`); each doubles the next pause.
    failed_retries: AtomicU32,
    /// Time of the last failure, in the units of [`clock::now`].
    accessed: AtomicU64,
    /// Time of the last failure, or of a later choice of the peer after a pause (`fail_timeout`), in the units of
    /// [`clock::now`].
    checked: AtomicU64,
    /// Number of active requests.
    active: AtomicU32,
    /// Start of the last slow start, in the units of [`clock::now`]; 0 for never, as without `slow_start`.
    recovered: AtomicU64,
    /// Moving average of the time up to each [`MeasuredUntil`] event in milliseconds; 0 before the first measurement.
    average_times_ms: [AtomicU32; 3],
    /// Age of the active requests (`least_time ... inflight`).
    pub(crate) inflight: Inflight,
    /// Number of requests for which the peer was chosen, since the start or the last reset of the counters.
    requests: AtomicU64,
    /// Number of failed attempts, since the start or the last reset of the counters.
    failures: AtomicU64,
    /// Time when the peer was last chosen, in the units of [`clock::now`]; 0 for never.
    selected: AtomicU64,
    /// Number of times failures made the peer unavailable.
    unavailable: AtomicU64,
    /// Periods in which failures or health checks made the peer unavailable.
    downtime: Mutex<Downtime>,
    /// Request and response counters.
    pub(crate) counts: PeerCounts,
    /// Number of idle connections to the peer in the pools of all workers, without HTTP/2.
    pub(crate) idle: Arc<AtomicUsize>,
    /// Order of an administrator that overrides the configuration.
    pub(crate) ordered: CurrentOrder,
    /// Results of the peer's health checks (`health_check`).
    pub(crate) health: PeerHealth,
    /// Idle FastCGI connections, shared by all workers because each occupies a php-fpm child.
    pub(crate) fastcgi: IdlePool<ParkedStream>,
    /// Last known status of the peer's php-fpm pool; `None` if it is not known.
    pool: Mutex<Option<PoolStatus>>,
    /// Queues of groups to wake when a request to the peer completes: a reload adds the queue of the new group.
    wait_queues: Mutex<Vec<Weak<wait_queue::Inner>>>,
    /// True once a queue was registered; readable without the lock.
    has_wait_queues: AtomicBool,
}

impl Default for PeerState {
    fn default() -> Self {
        Self {
            id: NEXT_ID.fetch_add(1, Relaxed),
            fails: AtomicU32::new(0),
            failed_retries: AtomicU32::new(0),
            accessed: AtomicU64::new(0),
            checked: AtomicU64::new(0),
            active: AtomicU32::new(0),
            recovered: AtomicU64::new(0),
            average_times_ms: Default::default(),
            inflight: Inflight::default(),
            requests: AtomicU64::new(0),
            failures: AtomicU64::new(0),
            selected: AtomicU64::new(0),
            unavailable: AtomicU64::new(0),
            downtime: Mutex::default(),
            counts: PeerCounts::default(),
            idle: Arc::default(),
            ordered: CurrentOrder::default(),
            health: PeerHealth::default(),
            fastcgi: IdlePool::new(),
            pool: Mutex::default(),
            wait_queues: Mutex::default(),
            has_wait_queues: AtomicBool::new(false),
        }
    }
}

impl PeerState {
    /// Returns whether failures exclude the peer at `now`, by the rules of nginx's round robin (`max_fails`).
    pub(crate) fn is_failing(&self, config: &PeerConfig, now: u64) -> bool {
        config.max_fails > 0
            && self.fails.load(Relaxed) >= config.max_fails
            && now.saturating_sub(self.checked.load(Relaxed)) <= self.pause_ms(config)
    }

    /// Returns the length of the pause after failures, in which the peer gets no requests, in milliseconds:
    /// `fail_timeout`, doubled after each failed retry up to `max_fail_timeout`.
    fn pause_ms(&self, config: &PeerConfig) -> u64 {
        let doubled = config.fail_timeout_ms.saturating_mul(1 << self.failed_retries.load(Relaxed).min(30));
        doubled.min(config.max_fail_timeout_ms.max(config.fail_timeout_ms))
    }

    /// Returns whether the peer has its maximum number of active requests; false without `max_conns`.
    pub(crate) fn is_full(&self, config: &PeerConfig) -> bool {
        config.max_conns > 0 && self.active() >= config.max_conns
    }

    /// Registers a queue whose first waiter is woken whenever a request to this peer completes.
    pub(crate) fn register_queue(&self, line: &WaitQueue) {
        let mut lines = self.wait_queues.lock().unwrap_or_else(PoisonError::into_inner);
        lines.retain(|line| line.strong_count() > 0);
        lines.push(Arc::downgrade(line.shared()));
        self.has_wait_queues.store(true, Release);
    }

    fn wake_queues(&self) {
        if !self.has_wait_queues.load(Acquire) {
            return;
        }
        let lines = self.wait_queues.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter().filter_map(Weak::upgrade).for_each(|line| line.wake_first());
    }

    /// Returns the number of active requests of the peer.
    pub(crate) fn active(&self) -> u32 {
        self.active.load(Relaxed)
    }

    /// Returns the moving average of the time up to `moment` in milliseconds.
    fn average_ms(&self, moment: MeasuredUntil) -> &AtomicU32 {
        &self.average_times_ms[moment as usize]
    }

    /// Returns the factor for the weight of the peer in thousandths: less than 1000 for some time after a recovery
    /// (`slow_start`).
    pub(crate) fn share(&self, config: &PeerConfig, now: u64) -> u32 {
        let recovered = self.recovered.load(Relaxed);
        let since = now.saturating_sub(recovered);
        if recovered == 0 || since >= config.slow_start_ms {
            return WHOLE_SHARE;
        }
        // Never 0: a group in which all peers recover must still serve requests.
        let share = u128::from(since) * u128::from(WHOLE_SHARE) / u128::from(config.slow_start_ms);
        u32::try_from(share).unwrap_or(WHOLE_SHARE).max(1)
    }

    /// Returns the estimated response time in milliseconds, as in nginx's `least_time`.
    ///
    /// The average is halved for each `fail_timeout` (plus one second) in which the peer was not chosen, so that a slow
    /// peer is tried again; with `inflight`, the average age of active requests is the minimum. Values are rounded up
    /// to the next step of 20 ms, so that similar peers count as equal; the maximum is 5 s.
    pub(crate) fn estimated_time(&self, moment: MeasuredUntil, config: &PeerConfig, now: u64) -> u32 {
        let mut ms = self.average_ms(moment).load(Relaxed);
        let idle_ms = now.saturating_sub(self.checked.load(Relaxed));
        if idle_ms > config.fail_timeout_ms {
            let halvings = idle_ms / (config.fail_timeout_ms + 1000);
            ms = ms.checked_shr(u32::try_from(halvings).unwrap_or(u32::MAX)).unwrap_or(0);
        }
        ms = ms.max(self.inflight.average_ms());
        ((ms / STEP_MS).saturating_add(1).saturating_mul(STEP_MS)).min(SLOWEST_MS)
    }

    /// Adds a measured time up to `moment` to its moving average with a weight of one twentieth; the first measured
    /// time is the average.
    pub(crate) fn record_time(&self, moment: MeasuredUntil, ms: u64) {
        let average = self.average_ms(moment);
        // Concurrent updates may lose a value, which an average tolerates.
        average.store(averaged(average.load(Relaxed), ms), Relaxed);
    }

    /// Records that the peer was chosen, and counts an active request until the result is dropped. After a pause, only
    /// the first request tries the peer; until its result, or for another pause, the peer remains excluded.
    pub(crate) fn begin_request(self: &Arc<Self>, config: &PeerConfig, now: u64) -> ActiveRequest {
        if now.saturating_sub(self.checked.load(Relaxed)) > self.pause_ms(config) {
            self.checked.store(now, Relaxed);
        }
        self.active.fetch_add(1, Relaxed);
        self.requests.fetch_add(1, Relaxed);
        self.selected.store(now, Relaxed);
        ActiveRequest(self.clone(), true, Cell::new(None))
    }

    /// Records a failed attempt. The peer becomes unavailable after `max_fails` failures, unless that is 0.
    pub(crate) fn failed(&self, config: &PeerConfig, now: u64) {
        let before = self.fails.fetch_add(1, Relaxed);
        if before >= config.max_fails && self.accessed.load(Relaxed) < self.checked.load(Relaxed) {
            self.failed_retries.fetch_add(1, Relaxed);
        }
        self.failures.fetch_add(1, Relaxed);
        self.accessed.store(now, Relaxed);
        self.checked.store(now, Relaxed);
        if before + 1 >= config.max_fails && config.max_fails > 0 {
            if before + 1 == config.max_fails {
                self.unavailable.fetch_add(1, Relaxed);
            }
            self.update_downtime(config, now);
        }
    }

    /// Updates the times of unavailability after the state of the peer may have changed.
    pub(crate) fn update_downtime(&self, config: &PeerConfig, now: u64) {
        let status = self.status(config, now);
        let is_down =
            matches!(status, PeerStatus::Unavailable | PeerStatus::Checking | PeerStatus::Unhealthy);
        let mut downtime = self.downtime();
        match downtime.since {
            0 if is_down => downtime.since = now,
            0 => {}
            since if !is_down => {
                // If the pause is over without a success, the peer became available at the end of the pause.
                let over = self.checked.load(Relaxed).saturating_add(self.pause_ms(config));
                let until = if self.fails.load(Relaxed) > 0 { now.min(over.max(since)) } else { now };
                downtime.total_ms += until.saturating_sub(since);
                downtime.since = 0;
            }
            _ => {}
        }
    }

    fn downtime(&self) -> MutexGuard<'_, Downtime> {
        self.downtime.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Resets the counters, average times and past downtime of the peer, and the counters of its health checks; active
    /// requests and health do not change.
    pub(crate) fn reset_counts(&self) {
        for count in [&self.requests, &self.failures, &self.unavailable] {
            count.store(0, Relaxed);
        }
        self.average_times_ms.iter().for_each(|took| took.store(0, Relaxed));
        self.downtime().total_ms = 0;
        self.counts.reset();
        self.health.reset_counts();
    }

    /// Records a successful attempt. It resets the failures only if this was an attempt after a pause; the peer then
    /// starts slowly if it was unavailable.
    pub(crate) fn succeeded(&self, config: &PeerConfig, now: u64) {
        if self.accessed.load(Relaxed) < self.checked.load(Relaxed) {
            let fails = self.fails.swap(0, Relaxed);
            self.failed_retries.store(0, Relaxed);
            if fails > 0 {
                self.update_downtime(config, now);
            }
            if config.slow_start_ms > 0 && config.max_fails > 0 && fails >= config.max_fails {
                self.recovered.store(now, Relaxed);
            }
        }
    }

    /// Applies an order of an administrator; `Up` also resets the failures.
    pub(crate) fn order(&self, order: PeerOrder, config: &PeerConfig) {
        self.ordered.set(order, config);
        if order == PeerOrder::Up {
            self.reset();
        }
    }

    /// Removes the administrator's order and resets the failures, after an administrator has changed the server's
    /// parameters.
    pub(crate) fn forget_order(&self) {
        self.ordered.forget();
        self.reset();
    }

    /// Handles a recovery detected by health checks: resets the failures and begins the slow start.
    pub(crate) fn recover(&self, config: &PeerConfig, now: u64) {
        self.reset();
        if config.slow_start_ms > 0 {
            self.recovered.store(now, Relaxed);
        }
    }

    /// Stores the status of the php-fpm pool of the peer; `None` if it is unknown.
    pub(crate) fn note_pool(&self, status: Option<PoolStatus>) {
        *self.pool.lock().unwrap_or_else(PoisonError::into_inner) = status;
    }

    /// Sets the number of the peer's failures (`max_fails`) to 0, so that earlier failures no longer exclude the peer.
    pub(crate) fn reset(&self) {
        self.fails.store(0, Relaxed);
    }

    /// Returns the state of the peer for status pages. `id` contains the identifiers of the peer and of its server.
    pub(crate) fn snapshot(&self, config: &PeerConfig, now: u64, id: (u64, Option<u64>)) -> PeerSnapshot {
        self.update_downtime(config, now);
        let downtime = *self.downtime();
        let selected = self.selected.load(Relaxed);
        PeerSnapshot {
            id,
            traffic: self.counts.sum(),
            max_conns: config.max_conns,
            took_ms: std::array::from_fn(|moment| self.average_times_ms[moment].load(Relaxed)),
            unavailable: self.unavailable.load(Relaxed),
            checks: self.health.counts(),
            downtime_ms: downtime.total_ms
                + if downtime.since > 0 { now.saturating_sub(downtime.since) } else { 0 },
            down_since_ms: (downtime.since > 0).then(|| clock::epoch_ms(downtime.since)),
            selected_ms: (selected > 0).then(|| clock::epoch_ms(selected)),
            idle: self.idle.load(Relaxed),
            name: config.name.clone(),
            address: config.address.clone(),
            active: self.active(),
            requests: self.requests.load(Relaxed),
            failures: self.failures.load(Relaxed),
            idle_fastcgi: self.fastcgi.count((self.id, 0)),
            pool: *self.pool.lock().unwrap_or_else(PoisonError::into_inner),
            weight: config.weight,
            backup: config.backup,
            available: matches!(self.status(config, now), PeerStatus::Up | PeerStatus::Draining)
                && !self.is_full(config),
            status: self.status(config, now),
            is_ordered: self.ordered.is_set(),
        }
    }

    fn status(&self, config: &PeerConfig, now: u64) -> PeerStatus {
        if self.ordered.is_down(config) {
            PeerStatus::Down
        } else if self.health.worst() == HealthVerdict::Unhealthy {
            PeerStatus::Unhealthy
        } else if self.health.worst() == HealthVerdict::Checking {
            PeerStatus::Checking
        } else if self.is_failing(config, now) {
            PeerStatus::Unavailable
        } else if self.ordered.drains(config) {
            PeerStatus::Draining
        } else {
            PeerStatus::Up
        }
    }
}

/// Periods in which failures or health checks made the peer unavailable.
#[derive(Clone, Copy, Debug, Default)]
struct Downtime {
    /// Start of the current period, in the units of [`clock::now`]; 0 if there is none, as for a peer that is `down`.
    since: u64,
    /// Total length of the past periods since the last reset, in milliseconds.
    total_ms: u64,
}

/// Guard of an active request. Contains the peer, whether it counts the request as a client request, and for `inflight`
/// the end of the measurement and the start time.
#[derive(Debug)]
pub(crate) struct ActiveRequest(pub(crate) Arc<PeerState>, bool, Cell<Option<(MeasuredUntil, u64)>>);

impl ActiveRequest {
    /// Creates a guard for a request that is not counted as a client request, such as a health check.
    pub(crate) fn uncounted(state: Arc<PeerState>) -> Self {
        Self(state, false, Cell::new(None))
    }

    /// Returns the peer if it counts this as a client request, otherwise `None`.
    pub(crate) fn counted(&self) -> Option<Arc<PeerState>> {
        self.1.then(|| Arc::clone(&self.0))
    }

    /// Includes the request in the peer's request age until `moment` is reached (`least_time ... inflight`).
    pub(crate) fn is_inflight_until(&self, moment: MeasuredUntil, now: u64) {
        self.0.inflight.begin(now);
        self.2.set(Some((moment, now)));
    }

    /// Adds `ms`, the time in milliseconds from the start of the request to `moment`, to the average of the peer,
    /// unless the request is not counted. At the moment given to [`Self::is_inflight_until`], the request no longer
    /// counts for the request age.
    pub(crate) fn record_time(&self, moment: MeasuredUntil, ms: u64) {
        if self.1 {
            self.0.record_time(moment, ms);
        }
        if self.2.get().is_some_and(|(until, _)| until == moment) {
            self.end_inflight();
        }
    }

    fn end_inflight(&self) {
        if let Some((_, begun)) = self.2.take() {
            self.0.inflight.end(begun);
        }
    }
}

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        self.end_inflight();
        if self.1 {
            self.0.active.fetch_sub(1, Relaxed);
            self.0.wake_queues();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the length of the peer's pause after a failure at `now`, in whole seconds.
    fn pause_after_failure(peer: &Arc<PeerState>, config: &PeerConfig, now: u64) -> u64 {
        drop(peer.begin_request(config, now));
        peer.failed(config, now);
        (0..1000).take_while(|second| peer.is_failing(config, now + second * 1000)).count() as u64 - 1
    }

    fn pauses(max_fail_timeout_ms: u64) -> Vec<u64> {
        let address = PeerAddress::parse("127.0.0.1:9000", None).expect("an address");
        let config = PeerConfig { max_fail_timeout_ms, ..PeerConfig::new(address) };
        let peer: Arc<PeerState> = Arc::default();
        let mut now = 10_000_000;
        let mut pauses = Vec::new();
        for _ in 0..5 {
            pauses.push(pause_after_failure(&peer, &config, now));
            now += 1_000_000;
        }
        drop(peer.begin_request(&config, now));
        peer.succeeded(&config, now);
        assert!(!peer.is_failing(&config, now));
        pauses.push(pause_after_failure(&peer, &config, now + 1_000_000));
        pauses
    }

    #[test]
    fn estimated_time_never_decreases_with_the_average() {
        let address = PeerAddress::parse("127.0.0.1:9000", None).expect("an address");
        let config = PeerConfig::new(address);
        let estimate = |average| {
            let peer = PeerState::default();
            peer.average_ms(MeasuredUntil::First).store(average, Relaxed);
            peer.estimated_time(MeasuredUntil::First, &config, 0)
        };
        let averages = [0, 19, 20, 4979, 4980, 4999, 5000, 5001, u32::MAX];
        assert_eq!(averages.map(estimate), [20, 20, 40, 4980, 5000, 5000, 5000, 5000, 5000]);
    }

    #[test]
    fn failure_pauses_grow_up_to_maximum_while_peer_fails() {
        assert_eq!(pauses(60_000), [10, 20, 40, 60, 60, 10]);
    }

    #[test]
    fn failure_pauses_are_constant_without_larger_maximum() {
        assert_eq!(pauses(0), [10; 6]);
        assert_eq!(pauses(5_000), [10; 6]);
    }
}
