//! A peer: how it is doing.

use std::cell::Cell;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use myriad_conf::model::Moment;
use myriad_fastcgi::PoolStatus;

use crate::address::Address;
use crate::clock;
use crate::config::PeerConfig;
use crate::health::{CheckCounts, Health, Verdict};
use crate::inflight::{Inflight, averaged};
use crate::line::{self, Line};
use crate::order::{Ordered, PeerOrder};
use crate::peer_counts::{PeerCounts, PeerTraffic};
use crate::pool::IdlePool;
use crate::stream::ParkedStream;

/// How a peer is doing, for status pages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerSnapshot {
    /// What the configuration calls its server.
    pub name: String,
    /// The address where it listens.
    pub address: Address,
    /// Requests that it is working on.
    pub active: u32,
    /// Requests that it was given since the process began.
    pub requests: u64,
    /// Failures since the process began.
    pub failures: u64,
    /// Idle FastCGI connections, each of which holds a php-fpm child.
    pub idle_fastcgi: usize,
    /// What its pool said of itself last; none where it is not asked, or has said nothing of late.
    pub pool: Option<PoolStatus>,
    /// Its share of the requests (`weight`).
    pub weight: u32,
    /// Whether it is used only when all others are unavailable (`backup`).
    pub backup: bool,
    /// Whether it would be chosen now.
    pub available: bool,
    /// Why it is chosen, or is not.
    pub status: PeerStatus,
    /// Whether an administrator's order holds ([`crate::PeerOrder`]).
    pub is_ordered: bool,
    /// Its number in the group, and that of the server whose name stands for it; see [`crate::ServerSnapshot`].
    pub id: (u64, Option<u64>),
    /// What it was asked and has answered.
    pub traffic: PeerTraffic,
    /// Most requests at a time, 0 for no bound (`max_conns`).
    pub max_conns: u32,
    /// How long it took of late to be connected to, to begin its answer, and to end it, milliseconds; 0 before the first.
    pub took_ms: [u32; 3],
    /// How often its failures made it unavailable.
    pub unavailable: u64,
    /// What its checks have found (`health_check`).
    pub checks: CheckCounts,
    /// How long it could not be chosen because of failures or checks, milliseconds.
    pub downtime_ms: u64,
    /// Since when it cannot, milliseconds since the epoch; none where it can.
    pub down_since_ms: Option<u64>,
    /// When it was last chosen, milliseconds since the epoch; none where it never was.
    pub selected_ms: Option<u64>,
    /// Idle connections to it that are kept.
    pub idle: usize,
}

impl PeerSnapshot {
    /// Whether it is a peer of a server that is called so, by its name or its address.
    pub(crate) fn is_of(&self, server: &str) -> bool {
        self.name == server || self.address.to_string() == server
    }
}

/// The state of a peer, by the words of nginx's API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeerStatus {
    /// Requests may come.
    Up,
    /// Only requests that ask for it come (`drain`).
    Draining,
    /// No request comes (`down`).
    Down,
    /// It has failed too often, and is left alone for a while (`max_fails`).
    Unavailable,
    /// It has to pass its checks first (`health_check mandatory`).
    Checking,
    /// It has failed its checks (`health_check`).
    Unhealthy,
}

impl PeerStatus {
    /// Its word.
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

/// Bounds of `least_time`: peers that are slower are not told apart, nor those that differ by less than a step.
const SLOWEST_MS: u32 = 5000;
const STEP_MS: u32 = 20;

/// The share of a peer that has recovered for long enough.
const WHOLE_SHARE: u32 = 1000;

static NEXT_ID: AtomicU64 = AtomicU64::new(1);

/// What all workers know about a peer, kept over reloads.
#[derive(Debug)]
pub(crate) struct PeerState {
    /// Names the peer in pools; never given twice.
    pub(crate) id: u64,
    /// Failures that count now.
    fails: AtomicU32,
    /// How often it has failed again, one after another, when it was tried behind a pause.
    again: AtomicU32,
    /// When it last failed, on this process's clock.
    accessed: AtomicU64,
    /// When it last failed, or was last tried after it was due again.
    checked: AtomicU64,
    active: AtomicU32,
    /// When it last recovered, 0 for never.
    recovered: AtomicU64,
    /// How long it took of late up to each [`Moment`], milliseconds; 0 before the first.
    took_ms: [AtomicU32; 3],
    /// How long its requests under way have taken so far.
    pub(crate) inflight: Inflight,
    requests: AtomicU64,
    failures: AtomicU64,
    /// When it was last chosen, on this process's clock; 0 for never.
    selected: AtomicU64,
    /// How often its failures made it unavailable.
    unavailable: AtomicU64,
    /// When it could not be chosen.
    downtime: Mutex<Downtime>,
    /// What it was asked and has answered.
    pub(crate) counts: PeerCounts,
    /// Idle connections to it, of all workers.
    pub(crate) idle: Arc<AtomicUsize>,
    /// What an administrator wants of it.
    pub(crate) ordered: Ordered,
    /// What checks say of it.
    pub(crate) health: Health,
    /// Idle FastCGI connections: each holds a php-fpm child, so all workers share them.
    pub(crate) fastcgi: IdlePool<ParkedStream>,
    /// What its pool of PHP said of itself last.
    pool: Mutex<Option<PoolStatus>>,
    /// The requests that wait for it: the queues of its group, before a reload and after it.
    lines: Mutex<Vec<Weak<line::Inner>>>,
    /// Whether it has ever had such a queue, to be asked without the lock.
    has_lines: AtomicBool,
}

impl Default for PeerState {
    fn default() -> Self {
        Self {
            id: NEXT_ID.fetch_add(1, Relaxed),
            fails: AtomicU32::new(0),
            again: AtomicU32::new(0),
            accessed: AtomicU64::new(0),
            checked: AtomicU64::new(0),
            active: AtomicU32::new(0),
            recovered: AtomicU64::new(0),
            took_ms: Default::default(),
            inflight: Inflight::default(),
            requests: AtomicU64::new(0),
            failures: AtomicU64::new(0),
            selected: AtomicU64::new(0),
            unavailable: AtomicU64::new(0),
            downtime: Mutex::default(),
            counts: PeerCounts::default(),
            idle: Arc::default(),
            ordered: Ordered::default(),
            health: Health::default(),
            fastcgi: IdlePool::new(),
            pool: Mutex::default(),
            lines: Mutex::default(),
            has_lines: AtomicBool::new(false),
        }
    }
}

impl PeerState {
    /// Whether its failures keep it out, as nginx's round robin decides.
    pub(crate) fn is_failing(&self, config: &PeerConfig, now: u64) -> bool {
        config.max_fails > 0
            && self.fails.load(Relaxed) >= config.max_fails
            && now.saturating_sub(self.checked.load(Relaxed)) <= self.pause_ms(config)
    }

    /// How long it is left alone now, were it failing.
    fn pause_ms(&self, config: &PeerConfig) -> u64 {
        let doubled = config.fail_timeout_ms.saturating_mul(1 << self.again.load(Relaxed).min(30));
        doubled.min(config.max_fail_timeout_ms.max(config.fail_timeout_ms))
    }

    /// Whether it has as many requests as it may have.
    pub(crate) fn is_full(&self, config: &PeerConfig) -> bool {
        config.max_conns > 0 && self.active() >= config.max_conns
    }

    /// Calls the first in a queue from now on whenever a request has ended here.
    pub(crate) fn serve_line(&self, line: &Line) {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.retain(|line| line.strong_count() > 0);
        lines.push(Arc::downgrade(line.shared()));
        self.has_lines.store(true, Release);
    }

    fn call_next(&self) {
        if !self.has_lines.load(Acquire) {
            return;
        }
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter().filter_map(Weak::upgrade).for_each(|line| line.wake_first());
    }

    pub(crate) fn active(&self) -> u32 {
        self.active.load(Relaxed)
    }

    /// How long it took of late up to a moment, milliseconds.
    fn average_ms(&self, moment: Moment) -> &AtomicU32 {
        &self.took_ms[moment as usize]
    }

    /// How much of its weight counts now, in thousandths: less than all for a while after it has recovered (`slow_start`).
    pub(crate) fn share(&self, config: &PeerConfig, now: u64) -> u32 {
        let recovered = self.recovered.load(Relaxed);
        let since = now.saturating_sub(recovered);
        if recovered == 0 || since >= config.slow_start_ms {
            return WHOLE_SHARE;
        }
        // Never nothing: a group of such peers alone still serves.
        let share = u128::from(since) * u128::from(WHOLE_SHARE) / u128::from(config.slow_start_ms);
        u32::try_from(share).unwrap_or(WHOLE_SHARE).max(1)
    }

    /// How slow it is thought to be, as nginx's `least_time`: what was long ago counts half with each `fail_timeout`, so that
    /// a slow peer is tried again; steps of 20 ms make peers alike that nearly are; beyond 5 s all are equally bad.
    pub(crate) fn slowness(&self, moment: Moment, config: &PeerConfig, now: u64) -> u32 {
        let mut ms = self.average_ms(moment).load(Relaxed);
        let idle_ms = now.saturating_sub(self.checked.load(Relaxed));
        if idle_ms > config.fail_timeout_ms {
            let halvings = idle_ms / (config.fail_timeout_ms + 1000);
            ms = ms.checked_shr(u32::try_from(halvings).unwrap_or(u32::MAX)).unwrap_or(0);
        }
        ms = ms.max(self.inflight.average_ms());
        if ms > SLOWEST_MS { SLOWEST_MS } else { (ms / STEP_MS + 1) * STEP_MS }
    }

    /// Notes how long it took up to a moment: each time counts for a twentieth of the average.
    pub(crate) fn took(&self, moment: Moment, ms: u64) {
        let average = self.average_ms(moment);
        // Two workers at once may lose one of the two: an average bears it.
        average.store(averaged(average.load(Relaxed), ms), Relaxed);
    }

    /// Notes that it is tried; a peer that is due again is tried by one request, not by all that wait for it.
    pub(crate) fn chosen(self: &Arc<Self>, config: &PeerConfig, now: u64) -> Active {
        if now.saturating_sub(self.checked.load(Relaxed)) > self.pause_ms(config) {
            self.checked.store(now, Relaxed);
        }
        self.active.fetch_add(1, Relaxed);
        self.requests.fetch_add(1, Relaxed);
        self.selected.store(now, Relaxed);
        Active(self.clone(), true, Cell::new(None))
    }

    pub(crate) fn failed(&self, config: &PeerConfig, now: u64) {
        let before = self.fails.fetch_add(1, Relaxed);
        if before >= config.max_fails && self.accessed.load(Relaxed) < self.checked.load(Relaxed) {
            self.again.fetch_add(1, Relaxed);
        }
        self.failures.fetch_add(1, Relaxed);
        self.accessed.store(now, Relaxed);
        self.checked.store(now, Relaxed);
        if before + 1 >= config.max_fails && config.max_fails > 0 {
            if before + 1 == config.max_fails {
                self.unavailable.fetch_add(1, Relaxed);
            }
            self.watch(config, now);
        }
    }

    /// Notes since when it cannot be chosen, or that it can again.
    pub(crate) fn watch(&self, config: &PeerConfig, now: u64) {
        let status = self.status(config, now);
        let is_down =
            matches!(status, PeerStatus::Unavailable | PeerStatus::Checking | PeerStatus::Unhealthy);
        let mut downtime = self.downtime();
        match downtime.since {
            0 if is_down => downtime.since = now,
            0 => {}
            since if !is_down => {
                // Where only its pause was over, that is when it could be chosen again.
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

    /// Begins to count anew; what it works on and how it is doing stay.
    pub(crate) fn reset_counts(&self) {
        for count in [&self.requests, &self.failures, &self.unavailable] {
            count.store(0, Relaxed);
        }
        self.took_ms.iter().for_each(|took| took.store(0, Relaxed));
        self.downtime().total_ms = 0;
        self.counts.reset();
        self.health.reset_counts();
    }

    /// A success forgives the failures only if it was tried again since the last one.
    pub(crate) fn succeeded(&self, config: &PeerConfig, now: u64) {
        if self.accessed.load(Relaxed) < self.checked.load(Relaxed) {
            let fails = self.fails.swap(0, Relaxed);
            self.again.store(0, Relaxed);
            if fails > 0 {
                self.watch(config, now);
            }
            if config.slow_start_ms > 0 && config.max_fails > 0 && fails >= config.max_fails {
                self.recovered.store(now, Relaxed);
            }
        }
    }

    /// Obeys an administrator.
    pub(crate) fn order(&self, order: PeerOrder, config: &PeerConfig) {
        self.ordered.set(order, config);
        if order == PeerOrder::Up {
            self.reset();
        }
    }

    /// The configuration decides again, which an administrator has changed.
    pub(crate) fn forget_order(&self) {
        self.ordered.forget();
        self.reset();
    }

    /// Its checks say that it is well again: it gets its share by and by.
    pub(crate) fn recover(&self, config: &PeerConfig, now: u64) {
        self.reset();
        if config.slow_start_ms > 0 {
            self.recovered.store(now, Relaxed);
        }
    }

    pub(crate) fn note_pool(&self, status: Option<PoolStatus>) {
        *self.pool.lock().unwrap_or_else(PoisonError::into_inner) = status;
    }

    /// Forgives everything.
    pub(crate) fn reset(&self) {
        self.fails.store(0, Relaxed);
    }

    /// How it is doing; `id` is its number, and that of its server.
    pub(crate) fn snapshot(&self, config: &PeerConfig, now: u64, id: (u64, Option<u64>)) -> PeerSnapshot {
        self.watch(config, now);
        let downtime = *self.downtime();
        let selected = self.selected.load(Relaxed);
        PeerSnapshot {
            id,
            traffic: self.counts.sum(),
            max_conns: config.max_conns,
            took_ms: std::array::from_fn(|moment| self.took_ms[moment].load(Relaxed)),
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
            is_ordered: self.ordered.is_given(),
        }
    }

    fn status(&self, config: &PeerConfig, now: u64) -> PeerStatus {
        if self.ordered.is_down(config) {
            PeerStatus::Down
        } else if self.health.worst() == Verdict::Unhealthy {
            PeerStatus::Unhealthy
        } else if self.health.worst() == Verdict::Checking {
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

/// How long a peer could not be chosen because of failures or checks, on this process's clock, milliseconds.
#[derive(Clone, Copy, Debug, Default)]
struct Downtime {
    /// Since when it cannot; 0 where it can.
    since: u64,
    /// The times that are over.
    total_ms: u64,
}

/// One request that a peer is working on, until dropped.
#[derive(Debug)]
pub(crate) struct Active(pub(crate) Arc<PeerState>, bool, Cell<Option<(Moment, u64)>>);

impl Active {
    /// One that is nobody's request, and is not counted.
    pub(crate) fn uncounted(state: Arc<PeerState>) -> Self {
        Self(state, false, Cell::new(None))
    }

    /// The peer, where it counts the request.
    pub(crate) fn counted(&self) -> Option<Arc<PeerState>> {
        self.1.then(|| Arc::clone(&self.0))
    }

    /// It counts as under way up to a moment (`least_time ... inflight`).
    pub(crate) fn is_inflight_until(&self, moment: Moment, now: u64) {
        self.0.inflight.begin(now);
        self.2.set(Some((moment, now)));
    }

    /// Notes how long it took up to a moment.
    pub(crate) fn took(&self, moment: Moment, ms: u64) {
        if self.1 {
            self.0.took(moment, ms);
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

impl Drop for Active {
    fn drop(&mut self) {
        self.end_inflight();
        if self.1 {
            self.0.active.fetch_sub(1, Relaxed);
            self.0.call_next();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How long it is left alone behind a failure at `now`, in whole seconds.
    fn pause_behind_failure(peer: &Arc<PeerState>, config: &PeerConfig, now: u64) -> u64 {
        drop(peer.chosen(config, now));
        peer.failed(config, now);
        (0..1000).take_while(|second| peer.is_failing(config, now + second * 1000)).count() as u64 - 1
    }

    fn pauses(max_fail_timeout_ms: u64) -> Vec<u64> {
        let address = Address::parse("127.0.0.1:9000", None).expect("an address");
        let config = PeerConfig { max_fail_timeout_ms, ..PeerConfig::new(address) };
        let peer: Arc<PeerState> = Arc::default();
        let mut now = 10_000_000;
        let mut pauses = Vec::new();
        for _ in 0..5 {
            pauses.push(pause_behind_failure(&peer, &config, now));
            now += 1_000_000;
        }
        drop(peer.chosen(&config, now));
        peer.succeeded(&config, now);
        assert!(!peer.is_failing(&config, now));
        pauses.push(pause_behind_failure(&peer, &config, now + 1_000_000));
        pauses
    }

    #[test]
    fn pauses_grow_while_a_peer_keeps_failing_up_to_the_longest() {
        assert_eq!(pauses(60_000), [10, 20, 40, 60, 60, 10]);
    }

    #[test]
    fn pauses_stay_as_long_as_they_are_where_nothing_says_that_they_grow() {
        assert_eq!(pauses(0), [10; 6]);
        assert_eq!(pauses(5_000), [10; 6]);
    }
}
