//! Simulation of a page whose content changes without a purge, in virtual time: visits, refreshes that take time, and
//! pages of different stability. A visitor sees each change within half the age of the content that it replaced, or
//! within a minute if that is longer; and within an hour on a page that had changed within the last day.

use super::{HOUR_MS, PageHistory, STABLE_MS, StoredRendering};
use crate::{CachePolicy, Lifetime, Reuse, StoredFacts, UseStale, ValiditySource, refreshes_early, reuse};

const MINUTE_MS: u64 = 60_000;
const DAY_MS: u64 = 24 * HOUR_MS;
const END_MS: u64 = 6 * DAY_MS;
const MAX_VISITS: usize = 4000;
const SEEDS: u64 = 400;
const WORDS: [&str; 8] = ["alder", "birch", "cedar", "fir", "hazel", "larch", "maple", "oak"];

/// Page as the origin rendered it.
#[derive(Clone)]
struct Rendering {
    /// Number of changes that it includes.
    version: usize,
    body: Vec<u8>,
}

#[derive(Clone)]
struct StoredPage {
    rendering: Rendering,
    stored_at: u64,
    history: Option<PageHistory>,
    lifetime: Lifetime,
    hits: u32,
}

impl StoredPage {
    fn compared(&self) -> StoredRendering<'_> {
        StoredRendering {
            body: &self.rendering.body,
            stored_at: self.stored_at,
            history: self.history.clone(),
            is_purged: false,
            ignores_numbers: false,
        }
    }
}

/// Request to the origin that is in progress.
struct Fetch {
    requested_at: u64,
    done_at: u64,
    rendering: Rendering,
    /// Pages before the first of successive fetches, and after each of them.
    compared: Vec<StoredPage>,
}

/// Longest delays of changes in a simulation, as multiples of the permitted delays.
#[derive(Default)]
struct Delays {
    on_new_pages: f64,
    within_a_day: f64,
    on_stable_pages: f64,
}

struct Simulation {
    seed: u64,
    random: fastrand::Rng,
    rules: CachePolicy,
    /// Times of the changes, in ms. The page exists since time 0.
    changes: Vec<u64>,
    stored: Option<StoredPage>,
    fetch: Option<Fetch>,
    delays: Delays,
    hits: usize,
}

/// Returns a random time with an exponential distribution, in ms.
fn exponential(random: &mut fastrand::Rng, mean_ms: u64) -> u64 {
    (-(1.0 - random.f64()).ln() * mean_ms as f64) as u64 + 1
}

impl Simulation {
    fn new(seed: u64) -> Self {
        let mut random = fastrand::Rng::with_seed(seed);
        let means = [MINUTE_MS, 2 * MINUTE_MS, 20 * MINUTE_MS, 3 * HOUR_MS, DAY_MS, 3 * DAY_MS];
        let mut mean = means[random.usize(..means.len())];
        let (mut changes, mut at) = (Vec::new(), 0);
        while at < END_MS {
            at += exponential(&mut random, mean);
            changes.push(at);
            if random.u8(..) < 8 {
                // The page becomes more or less stable.
                mean = means[random.usize(..means.len())];
            }
        }
        let rules = CachePolicy {
            adaptive_min_ms: Some(MINUTE_MS),
            background_update: random.bool(),
            use_stale: UseStale { updating: true, ..UseStale::FAILURES },
            ..CachePolicy::default()
        };
        let (stored, fetch) = (None, None);
        Self { seed, random, rules, changes, stored, fetch, delays: Delays::default(), hits: 0 }
    }

    fn version_at(&self, time: u64) -> usize {
        self.changes.partition_point(|change| *change <= time)
    }

    /// Renders the page at `time`, with a number that differs at each rendering.
    fn render(&mut self, time: u64) -> Rendering {
        let version = self.version_at(time);
        let mut body = b"<html><body><h1>Title</h1><p>Rendered in ".to_vec();
        body.extend_from_slice(self.random.u32(..).to_string().as_bytes());
        body.extend_from_slice(b" ms, as the footer of the page states.</p><p>");
        let mut rest = version;
        for _ in 0..6 {
            body.extend_from_slice(WORDS[rest % WORDS.len()].as_bytes());
            body.push(b' ');
            rest /= WORDS.len();
        }
        body.extend_from_slice(b"</p><p>More text that never changes.</p></body></html>");
        Rendering { version, body }
    }

    /// Starts a fetch. The origin reads the content at some time before its response is complete.
    fn begin_fetch(&mut self, now: u64, compared: Vec<StoredPage>) {
        let duration = if self.random.u8(..) < 4 { 20_000 } else { 1 + exponential(&mut self.random, 300) };
        let read_at = now + self.random.u64(..=duration);
        let rendering = self.render(read_at);
        self.fetch = Some(Fetch { requested_at: now, done_at: now + duration, rendering, compared });
    }

    /// Stores the page of a completed fetch.
    fn complete_fetch(&mut self, fetch: Fetch) {
        let Fetch { requested_at, done_at: now, rendering, mut compared } = fetch;
        let comparison = self.stored.as_ref().map(|stored| match compared.as_slice() {
            [] => stored.compared().after_refresh(&rendering.body, now),
            [before] => stored.compared().after_second_fetch(&before.compared(), &rendering.body, now),
            [before, first, ..] => stored.compared().after_third_fetch(
                (&before.compared(), &first.compared()),
                &rendering.body,
                now,
            ),
        });
        let is_checked = comparison.as_ref().is_some_and(|comparison| comparison.is_checked);
        let history = comparison.map_or_else(|| PageHistory::new(now), |comparison| comparison.history);
        let from_origin = Lifetime {
            fresh_until: now + DAY_MS,
            stale_updating_until: now + DAY_MS,
            stale_error_until: now + DAY_MS,
            must_revalidate: false,
            valid_ms: DAY_MS,
            source: ValiditySource::XAccelExpires,
            born: None,
        };
        let lifetime = history.limit(from_origin, MINUTE_MS, requested_at, false);
        let page = StoredPage { rendering, stored_at: now, history: Some(history), lifetime, hits: 0 };
        compared.extend(self.stored.replace(page));
        if is_checked {
            self.begin_fetch(now, compared);
        }
    }

    /// Completes the fetches that finish until `now`.
    fn advance(&mut self, now: u64) {
        while let Some(fetch) = self.fetch.take_if(|fetch| fetch.done_at <= now) {
            self.complete_fetch(fetch);
        }
    }

    fn visit(&mut self, now: u64) {
        self.advance(now);
        let is_updating = self.fetch.is_some();
        if let Some(stored) = &mut self.stored {
            let facts = StoredFacts {
                lifetime: stored.lifetime,
                validators: false,
                invalid: false,
                is_purged: false,
            };
            let decision = reuse(&facts, &self.rules, now, is_updating, None);
            if matches!(decision, Reuse::Serve(_) | Reuse::ServeStaleAndRefresh) {
                stored.hits += 1;
                self.hits += 1;
                let version = stored.rendering.version;
                let starts = decision == Reuse::ServeStaleAndRefresh
                    || refreshes_early(&stored.lifetime, stored.hits, &self.rules, now);
                self.check(now, version);
                if starts && !is_updating {
                    self.begin_fetch(now, Vec::new());
                }
                return;
            }
        }
        // The visitor waits for a fetch, which may have begun before the visit.
        if !is_updating {
            self.begin_fetch(now, Vec::new());
        }
        let version = self.fetch.as_ref().map_or(0, |fetch| fetch.rendering.version);
        self.check(now, version);
    }

    /// Checks the delay of the first change that a page with `version` changes, delivered for a visit at `now`, lacks.
    fn check(&mut self, now: u64, version: usize) {
        let Some(change) = self.changes.get(version).copied().filter(|change| *change <= now) else { return };
        let age = change - version.checked_sub(1).map_or(0, |last| self.changes[last]);
        let mut permitted = (age / 2).max(MINUTE_MS);
        if age < STABLE_MS {
            permitted = permitted.min(HOUR_MS);
        }
        let delay = now - change;
        let seed = self.seed;
        assert!(delay <= permitted, "seed {seed}: {delay} ms after a change of content {age} ms old");
        let part = delay as f64 / permitted as f64;
        let longest = match age {
            0..=120_000 => &mut self.delays.on_new_pages,
            120_001..STABLE_MS => &mut self.delays.within_a_day,
            _ => &mut self.delays.on_stable_pages,
        };
        *longest = longest.max(part);
    }

    fn run(mut self) -> (Delays, usize) {
        let mean_ms = [3_000, MINUTE_MS, 10 * MINUTE_MS, HOUR_MS, 6 * HOUR_MS][self.random.usize(..5)];
        let mut now = self.random.u64(..DAY_MS);
        for _ in 0..MAX_VISITS {
            self.visit(now);
            now += exponential(&mut self.random, mean_ms);
            if now > END_MS {
                break;
            }
        }
        (self.delays, self.hits)
    }
}

#[test]
fn change_without_a_purge_is_seen_within_half_the_age_of_the_content() {
    let (mut longest, mut hits) = (Delays::default(), 0);
    for seed in 0..SEEDS {
        let (delays, hits_of_seed) = Simulation::new(seed).run();
        longest.on_new_pages = longest.on_new_pages.max(delays.on_new_pages);
        longest.within_a_day = longest.within_a_day.max(delays.within_a_day);
        longest.on_stable_pages = longest.on_stable_pages.max(delays.on_stable_pages);
        hits += hits_of_seed;
    }
    // The bounds are nearly reached, so that the simulation would notice a longer validity.
    assert!(longest.on_new_pages > 0.9, "{}", longest.on_new_pages);
    assert!(longest.within_a_day > 0.9, "{}", longest.within_a_day);
    assert!(longest.on_stable_pages > 0.7, "{}", longest.on_stable_pages);
    assert!(hits > 100_000, "{hits}");
}
