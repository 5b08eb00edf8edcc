//! State of `myriad top`: data received from the server, and the selected view.

use std::collections::{HashMap, VecDeque};

use myriad_admin::protocol::RequestCounts;
use myriad_admin::protocol::monitoring::{LiveTick, PurgeEvent, TickCounts, TopPage};

use super::event::KeyPress;

/// Maximum number of live events (usually one per second) for which rates are stored: the width of the widest supported
/// terminal.
const SECONDS: usize = 400;
/// Maximum number of purges that are stored for display.
const PURGES: usize = 100;

/// View of `myriad top` that fills the screen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum TopView {
    #[default]
    Overview,
    Pages,
    Misses,
    Origins,
    Zones,
}

impl TopView {
    pub(super) const ALL: [(Self, &'static str); 5] = [
        (Self::Overview, "Overview"),
        (Self::Pages, "Pages"),
        (Self::Misses, "Misses"),
        (Self::Origins, "Origins"),
        (Self::Zones, "Zones"),
    ];
}

/// Data received from the server, and the selected view.
#[derive(Debug, Default)]
pub(super) struct TopState {
    pub(super) tick: Option<LiveTick>,
    /// Rates per second of requests and other counts, one element per live event, the newest last; at most [`SECONDS`].
    pub(super) seconds: VecDeque<TickCounts>,
    rankings: HashMap<&'static str, Vec<TopPage>>,
    /// Purges that the server reported, the newest first; at most [`PURGES`].
    pub(super) purges: VecDeque<PurgeEvent>,
    pub(super) view: TopView,
    pub(super) is_paused: bool,
    pub(super) helps: bool,
    /// Reason why no live events arrive; `None` while they do.
    pub(super) broken: Option<String>,
}

impl TopState {
    pub(super) fn tick(&mut self, tick: LiveTick) {
        if self.is_paused {
            return;
        }
        if self.seconds.len() == SECONDS {
            self.seconds.pop_front();
        }
        self.seconds.push_back(rates(&tick));
        self.tick = Some(tick);
    }

    pub(super) fn ranking(&mut self, by: &'static str, pages: Vec<TopPage>) {
        if !self.is_paused {
            self.rankings.insert(by, pages);
        }
    }

    pub(super) fn purge(&mut self, purge: PurgeEvent) {
        self.purges.push_front(purge);
        self.purges.truncate(PURGES);
    }

    pub(super) fn ranked(&self, by: &str) -> &[TopPage] {
        self.rankings.get(by).map_or(&[], Vec::as_slice)
    }

    pub(super) fn key(&mut self, key: KeyPress) {
        match key {
            KeyPress::Letter('p') => self.is_paused = !self.is_paused,
            KeyPress::Letter('?' | 'h') => self.helps = !self.helps,
            KeyPress::Letter(digit @ '1'..='5') => {
                self.view = TopView::ALL[digit as usize - '1' as usize].0;
                self.helps = false;
            }
            KeyPress::Tab => {
                let at = TopView::ALL.iter().position(|(view, _)| *view == self.view).unwrap_or(0);
                self.view = TopView::ALL[(at + 1) % TopView::ALL.len()].0;
                self.helps = false;
            }
            KeyPress::Letter(_) | KeyPress::Quit => {}
        }
    }
}

/// Converts the counts since the previous live event to rates per second. `hit` includes stale pages (also those being
/// updated), `miss` expired and revalidated ones.
fn rates(tick: &LiveTick) -> TickCounts {
    let rate = |count: u64| count.saturating_mul(1000) / tick.interval_ms.max(1);
    let delta = tick.delta;
    TickCounts {
        requests: rate(delta.requests),
        bytes: rate(delta.bytes),
        fetches: rate(delta.fetches),
        accepted: rate(delta.accepted),
        status_4xx: rate(delta.status_4xx),
        status_5xx: rate(delta.status_5xx),
        cache: RequestCounts {
            hit: rate(delta.cache.served()),
            miss: rate(delta.cache.total() - delta.cache.served()),
            bypass: rate(delta.cache.bypass),
            ..RequestCounts::default()
        },
        uncached: rate(delta.uncached),
        ..TickCounts::default()
    }
}
