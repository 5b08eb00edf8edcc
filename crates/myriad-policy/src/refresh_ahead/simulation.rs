//! Simulation of a site in virtual time: visitors request its pages with different frequency, all pages change from
//! time to time, and one page at a time is refreshed without a request, for a quarter of the time.

use super::{InspectedPage, RefreshAhead};
use crate::page_history::PageHistory;
use crate::{Lifetime, ValiditySource};

const PAGES: usize = 240;
const HOUR_MS: u64 = 3_600_000;
const DAY_MS: u64 = 24 * HOUR_MS;
const MIN_MS: u64 = 60_000;
/// Time in milliseconds between two changes of all pages.
const CHANGE_MS: u64 = 720_000;
/// Mean time in milliseconds between two requests of visitors for any page.
const VISIT_MS: f64 = 125.0;
const RENDER_MS: u64 = 80;
/// Time in milliseconds after a refresh in which no other refresh begins.
const PAUSE_MS: u64 = 3 * RENDER_MS;

#[derive(Default)]
struct Counts {
    visits: usize,
    hits: usize,
    refreshes: usize,
}

struct Site {
    pages: Vec<Option<InspectedPage>>,
    generation: u64,
    changed_at: u64,
}

impl Site {
    fn store(&mut self, id: usize, now: u64) {
        let before = self.pages[id];
        let is_equal = before.is_some_and(|page| page.stored_at >= self.changed_at);
        let equal_since = before.filter(|_| is_equal).map_or(now, |page| page.equal_since);
        let from_origin = Lifetime {
            fresh_until: now + DAY_MS,
            stale_updating_until: 0,
            stale_error_until: 0,
            must_revalidate: false,
            valid_ms: DAY_MS,
            source: ValiditySource::XAccelExpires,
            born: None,
        };
        let is_after_purge = now < self.changed_at + crate::AFTER_PURGE_MS;
        let lifetime = PageHistory::new(equal_since).limit(from_origin, MIN_MS, now, is_after_purge);
        self.generation += 1;
        self.pages[id] = Some(InspectedPage {
            id: id as u64,
            generation: self.generation,
            hits: 0,
            stored_at: now,
            equal_since,
            lifetime,
            is_purged: false,
        });
    }

    /// Changes all pages, and purges them.
    fn change(&mut self, now: u64) {
        self.changed_at = now;
        for page in self.pages.iter_mut().flatten() {
            page.is_purged = true;
        }
    }

    fn visit(&mut self, id: usize, now: u64, counts: &mut Counts) {
        counts.visits += 1;
        match &mut self.pages[id] {
            Some(page) if now < page.lifetime.fresh_until && !page.is_purged => {
                assert!(page.stored_at >= self.changed_at, "old page");
                page.hits += 1;
                counts.hits += 1;
            }
            _ => self.store(id, now),
        }
    }
}

/// Simulates two hours.
fn run(refreshes: bool) -> Counts {
    let mut random = fastrand::Rng::with_seed(1);
    let mut site = Site { pages: vec![None; PAGES], generation: 0, changed_at: 0 };
    let mut plan = RefreshAhead::default();
    let mut counts = Counts::default();
    let weights: Vec<f64> = (1..=PAGES).map(|rank| 1.0 / rank as f64).collect();
    let total: f64 = weights.iter().sum();
    let (mut now, mut next_visit, mut next_refresh) = (DAY_MS, DAY_MS, DAY_MS);
    let mut due: Vec<(f64, u64)> = Vec::new();
    let mut inspected_at = 0;
    while now < DAY_MS + 2 * HOUR_MS {
        now += 20;
        if now / CHANGE_MS > site.changed_at / CHANGE_MS {
            site.change(now);
        }
        while next_visit <= now {
            let mut at = random.f64() * total;
            let id = weights.iter().position(|weight| {
                at -= weight;
                at < 0.0
            });
            site.visit(id.unwrap_or(0), now, &mut counts);
            next_visit += (-(1.0 - random.f64()).ln() * VISIT_MS) as u64 + 1;
        }
        if !refreshes {
            continue;
        }
        if now >= inspected_at + 1000 {
            inspected_at = now;
            let pages = site.pages.iter().flatten();
            due = pages.filter_map(|page| Some((plan.inspect(page, now)?, page.id))).collect();
            due.sort_by(|a, b| a.0.total_cmp(&b.0));
        }
        if now >= next_refresh
            && let Some((_, id)) = due.pop()
        {
            site.store(id as usize, now);
            plan.note_refresh(id, now);
            counts.refreshes += 1;
            next_refresh = now + RENDER_MS + PAUSE_MS;
        }
    }
    counts
}

#[test]
fn most_requests_find_a_fresh_page_for_a_bounded_number_of_refreshes() {
    let (without, with) = (run(false), run(true));
    let ratio = |counts: &Counts| counts.hits as f64 / counts.visits as f64;
    assert!(ratio(&without) < 0.90, "{}", ratio(&without));
    assert!(ratio(&with) > 0.94, "{}", ratio(&with));
    assert!(with.refreshes as u64 <= 2 * HOUR_MS / (RENDER_MS + PAUSE_MS) + 1);
}

#[test]
fn pages_that_are_requested_twice_by_a_crawler_cause_few_refreshes() {
    let mut site = Site { pages: vec![None; 500], generation: 0, changed_at: 0 };
    let (mut plan, mut counts, mut refreshes) = (RefreshAhead::default(), Counts::default(), 0);
    for now in (DAY_MS..DAY_MS + 4 * HOUR_MS).step_by(10_000) {
        let id = (now - DAY_MS) as usize / 10_000 % 500;
        site.visit(id, now, &mut counts);
        site.visit(id, now + 1, &mut counts);
        let pages = site.pages.iter().flatten();
        let due: Vec<u64> = pages.filter_map(|page| plan.inspect(page, now + 2).map(|_| page.id)).collect();
        for id in due {
            site.store(id as usize, now + 2);
            plan.note_refresh(id, now + 2);
            refreshes += 1;
        }
    }
    assert!(refreshes * 2 < counts.visits, "{refreshes} refreshes for {} requests", counts.visits);
}
