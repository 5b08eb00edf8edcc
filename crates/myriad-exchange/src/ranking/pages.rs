//! Rankings of pages by their cost in the last ten to twenty minutes, per worker, and their merger.

use std::collections::HashMap;

use crate::ranking::top::{HeaviestKeys, RankedKey};

/// Maximum number of pages in each ranking of a time slice.
const RANKED_PAGES: usize = 256;
/// Length of a time slice, in milliseconds. The current and the previous slice are shown.
const SLICE_MS: u64 = 600_000;
/// Maximum number of distinct miss reasons that are counted per page.
const REASONS: usize = 8;

/// Criterion by which pages are ranked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ranking {
    /// Pages by their number of requests.
    Requests,
    /// Pages by their number of requests that were misses ([`Miss`]).
    Misses,
    /// Pages by the longest response time of a miss ([`Miss`]), in microseconds.
    Slow,
    /// Pages by the number of bytes sent.
    Bytes,
}

impl Ranking {
    /// All rankings, in the order of their discriminants.
    pub const ALL: [Self; 4] = [Self::Requests, Self::Misses, Self::Slow, Self::Bytes];

    /// Returns the name of the ranking.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Requests => "requests",
            Self::Misses => "misses",
            Self::Slow => "slow",
            Self::Bytes => "bytes",
        }
    }

    /// Returns the ranking with the name `word`; `None` if no ranking has this name.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|ranking| ranking.as_str() == word)
    }
}

/// Finished request, to be added to the rankings.
#[derive(Clone, Copy, Debug)]
pub struct RankedRequest<'a> {
    /// URL of the request: scheme, host and request target.
    pub url: &'a [u8],
    /// Number of requests that this sample represents; 1 if the request was not sampled.
    pub weight: u64,
    /// Status sent to the client.
    pub status: u16,
    /// Number of bytes sent to the client.
    pub bytes: u64,
    /// Time at which the request finished, in milliseconds since the epoch.
    pub at_ms: u64,
    /// Details of a miss; `None` for a hit, and for a request that used neither a cache nor an origin.
    pub miss: Option<Miss>,
}

/// Details of a request that missed the cache, or was sent to an origin without a cache.
#[derive(Clone, Copy, Debug)]
pub struct Miss {
    /// `$upstream_cache_status`; empty if the location does not cache.
    pub cache: &'static str,
    /// Reason of the miss, which [`REASONS`](super::REASONS) explains.
    pub reason: &'static str,
    /// Duration of the request, in microseconds.
    pub took_us: u64,
}

/// Statistics of a page in one ranking of a time slice, since the page entered the ranking.
#[derive(Clone, Debug, Default)]
struct Detail {
    requests: u64,
    misses: u64,
    bytes: u64,
    slowest_us: u64,
    total_us: u64,
    status: u16,
    last_ms: u64,
    /// Cache status of the last miss.
    cache: &'static str,
    reason: &'static str,
    last_miss_ms: u64,
    reasons: Vec<(&'static str, u64)>,
}

impl Detail {
    fn add(&mut self, seen: &RankedRequest<'_>) {
        self.requests += seen.weight;
        self.bytes += seen.weight.saturating_mul(seen.bytes);
        self.status = seen.status;
        self.last_ms = seen.at_ms;
        let Some(miss) = seen.miss else { return };
        self.misses += seen.weight;
        self.total_us += seen.weight.saturating_mul(miss.took_us);
        self.slowest_us = self.slowest_us.max(miss.took_us);
        (self.cache, self.reason, self.last_miss_ms) = (miss.cache, miss.reason, seen.at_ms);
        self.count_reason(miss.reason, seen.weight);
    }

    fn count_reason(&mut self, reason: &'static str, count: u64) {
        if let Some((_, known)) = self.reasons.iter_mut().find(|(known, _)| *known == reason) {
            *known += count;
        } else if self.reasons.len() < REASONS {
            self.reasons.push((reason, count));
        }
    }

    fn plus(&mut self, other: &Self) {
        self.requests += other.requests;
        self.misses += other.misses;
        self.bytes += other.bytes;
        self.total_us += other.total_us;
        self.slowest_us = self.slowest_us.max(other.slowest_us);
        if other.last_ms >= self.last_ms {
            (self.status, self.last_ms) = (other.status, other.last_ms);
        }
        if other.last_miss_ms >= self.last_miss_ms {
            (self.cache, self.reason, self.last_miss_ms) = (other.cache, other.reason, other.last_miss_ms);
        }
        other.reasons.iter().for_each(|(reason, count)| self.count_reason(reason, *count));
    }
}

/// Rankings of the pages requested from one worker, in the current and the previous time slice.
#[derive(Debug)]
pub struct PageRankings {
    now: Slice,
    before: Option<Slice>,
}

#[derive(Debug)]
struct Slice {
    since_ms: u64,
    rankings: [HeaviestKeys<Detail>; 4],
}

impl Slice {
    fn new(since_ms: u64) -> Self {
        Self { since_ms, rankings: std::array::from_fn(|_| HeaviestKeys::new(RANKED_PAGES)) }
    }
}

impl PageRankings {
    /// Creates empty rankings. `now_ms` is the current time in milliseconds since the epoch.
    pub fn new(now_ms: u64) -> Self {
        Self { now: Slice::new(now_ms), before: None }
    }

    /// Adds a finished request to rankings of the current time slice: to the rankings by requests and by bytes, and if
    /// it was a [`Miss`], also to the rankings by misses and by slowness.
    pub fn note(&mut self, seen: &RankedRequest<'_>) {
        self.rotate(seen.at_ms);
        let [requests, misses, slow, bytes] = &mut self.now.rankings;
        let take = |detail: &mut Detail| detail.add(seen);
        requests.add(seen.url, seen.weight, take);
        bytes.add(seen.url, seen.weight.saturating_mul(seen.bytes), take);
        let Some(miss) = seen.miss else { return };
        misses.add(seen.url, seen.weight, take);
        slow.raise(seen.url, miss.took_us, take);
    }

    /// Starts a new time slice if the current one began at least 10 minutes before `now_ms`, in milliseconds since the
    /// epoch. The current slice becomes the previous one, or is dropped if it began at least 20 minutes before.
    pub fn rotate(&mut self, now_ms: u64) {
        let age = now_ms.saturating_sub(self.now.since_ms);
        if age >= SLICE_MS {
            let over = std::mem::replace(&mut self.now, Slice::new(now_ms));
            self.before = (age < 2 * SLICE_MS).then_some(over);
        }
    }

    fn slices(&self) -> impl Iterator<Item = &Slice> {
        self.before.iter().chain(std::iter::once(&self.now))
    }
}

/// Page in a ranking, merged from all workers. Values other than `count` cover only requests since the page entered the
/// ranking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageRow {
    /// URL of the page: scheme, host and request target.
    pub url: Vec<u8>,
    /// Value by which the page is ranked: number of requests or of misses, longest response time in microseconds, or
    /// number of bytes.
    pub count: u64,
    /// Maximum amount by which `count` may be too high.
    pub overestimate: u64,
    /// Number of requests; `None` in the rankings by misses and slowness, which do not count hits.
    pub requests: Option<u64>,
    /// Number of requests for the page that were misses.
    pub misses: u64,
    /// Bytes sent; `None` in the rankings by misses and slowness.
    pub bytes: Option<u64>,
    /// Longest response time of a miss, in microseconds; `None` without misses.
    pub slowest_us: Option<u64>,
    /// Mean response time of misses, in microseconds; `None` without misses.
    pub mean_us: Option<u64>,
    /// Status of the last response that the ranking counted: of any sampled request, in the rankings by misses and
    /// slowness only of misses.
    pub status: u16,
    /// Time at which the response with [`Self::status`] finished, in milliseconds since the epoch.
    pub last_ms: u64,
    /// `$upstream_cache_status` of the last miss; empty without misses, or if the location does not cache.
    pub cache: &'static str,
    /// Reason of the last miss; empty without misses.
    pub reason: &'static str,
    /// Reasons of misses, at most 8 and the most frequent first, each with the number of requests that missed for it.
    pub reasons: Vec<(&'static str, u64)>,
}

/// Merges a ranking of all workers. Returns the start time of the oldest time slice in milliseconds since the epoch
/// (`u64::MAX` without workers), and the `most` highest-ranked pages.
pub fn merged<'a>(
    workers: impl Iterator<Item = &'a PageRankings>,
    ranking: Ranking,
    most: usize,
) -> (u64, Vec<PageRow>) {
    let (mut since_ms, mut pages) = (u64::MAX, HashMap::<&[u8], RankedKey<Detail>>::new());
    for slice in workers.flat_map(PageRankings::slices) {
        since_ms = since_ms.min(slice.since_ms);
        for (url, place) in slice.rankings[ranking as usize].all() {
            let page = pages.entry(url).or_default();
            if ranking == Ranking::Slow {
                page.count = page.count.max(place.count);
            } else {
                page.count += place.count;
            }
            page.overestimate += place.overestimate;
            page.detail.plus(&place.detail);
        }
    }
    let mut pages: Vec<_> = pages.into_iter().filter(|(_, place)| place.count > 0).collect();
    pages.sort_by(|(url, place), (other_url, other)| (other.count, url).cmp(&(place.count, other_url)));
    pages.truncate(most);
    (since_ms, pages.into_iter().map(|(url, place)| row(url, place, ranking)).collect())
}

fn row(url: &[u8], place: RankedKey<Detail>, ranking: Ranking) -> PageRow {
    let RankedKey { count, overestimate: over, mut detail } = place;
    detail.reasons.sort_by(|(word, count), (other, more)| (more, word).cmp(&(count, other)));
    let counts_all = matches!(ranking, Ranking::Requests | Ranking::Bytes);
    PageRow {
        url: url.to_vec(),
        count,
        overestimate: over,
        requests: counts_all.then_some(detail.requests),
        misses: detail.misses,
        bytes: counts_all.then_some(detail.bytes),
        slowest_us: (detail.misses > 0).then_some(detail.slowest_us),
        mean_us: detail.total_us.checked_div(detail.misses),
        status: detail.status,
        last_ms: detail.last_ms,
        cache: detail.cache,
        reason: detail.reason,
        reasons: detail.reasons,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hit(url: &[u8], weight: u64, at_ms: u64) -> RankedRequest<'_> {
        RankedRequest { url, weight, status: 200, bytes: 100, at_ms, miss: None }
    }

    fn miss(url: &'static [u8], reason: &'static str, took_us: u64, at_ms: u64) -> RankedRequest<'static> {
        let miss = Some(Miss { cache: "MISS", reason, took_us });
        RankedRequest { url, weight: 1, status: 200, bytes: 100, at_ms, miss }
    }

    fn shown(workers: &[PageRankings], ranking: Ranking) -> Vec<(String, u64)> {
        let (_, rows) = merged(workers.iter(), ranking, 10);
        rows.into_iter().map(|row| (String::from_utf8_lossy(&row.url).into_owned(), row.count)).collect()
    }

    #[test]
    fn pages_of_all_workers_are_ranked_together() {
        let mut workers = [PageRankings::new(0), PageRankings::new(5)];
        workers[0].note(&hit(b"/a", 30, 10));
        workers[0].note(&miss(b"/b", "set-cookie", 900, 11));
        workers[1].note(&miss(b"/a", "expired", 5000, 12));
        workers[1].note(&miss(b"/b", "set-cookie", 700, 13));
        workers[1].note(&miss(b"/b", "private", 800, 14));
        assert_eq!(shown(&workers, Ranking::Requests), [("/a".to_owned(), 31), ("/b".to_owned(), 3)]);
        assert_eq!(shown(&workers, Ranking::Misses), [("/b".to_owned(), 3), ("/a".to_owned(), 1)]);
        assert_eq!(shown(&workers, Ranking::Slow), [("/a".to_owned(), 5000), ("/b".to_owned(), 900)]);
        assert_eq!(shown(&workers, Ranking::Bytes), [("/a".to_owned(), 3100), ("/b".to_owned(), 300)]);
        let (since_ms, rows) = merged(workers.iter(), Ranking::Misses, 1);
        let row = &rows[0];
        assert_eq!((since_ms, rows.len(), row.overestimate, row.mean_us), (0, 1, 0, Some(800)));
        assert_eq!(row.reasons, [("set-cookie", 2), ("private", 1)]);
        assert_eq!((row.reason, row.last_ms, row.requests), ("private", 14, None));
        let (_, rows) = merged(workers.iter(), Ranking::Requests, 1);
        assert_eq!((rows[0].requests, rows[0].misses, rows[0].reason), (Some(31), 1, "expired"));
    }

    #[test]
    fn a_quick_answer_that_stands_for_several_counts_as_so_many_that_were_no_hit() {
        let mut tops = PageRankings::new(0);
        tops.note(&RankedRequest { weight: 31, ..miss(b"/a", "no cache here", 0, 10) });
        tops.note(&miss(b"/a", "no cache here", 3200, 11));
        let tops = [tops];
        assert_eq!(shown(&tops, Ranking::Misses), [("/a".to_owned(), 32)]);
        assert_eq!(shown(&tops, Ranking::Slow), [("/a".to_owned(), 3200)]);
        let (_, rows) = merged(tops.iter(), Ranking::Misses, 1);
        assert_eq!((rows[0].misses, rows[0].mean_us, rows[0].slowest_us), (32, Some(100), Some(3200)));
        assert_eq!(rows[0].reasons, [("no cache here", 32)]);
    }

    #[test]
    fn what_is_older_than_two_slices_is_forgotten() {
        let mut tops = PageRankings::new(0);
        tops.note(&hit(b"/a", 1, 1));
        tops.note(&hit(b"/a", 1, SLICE_MS + 1));
        assert_eq!(shown(std::slice::from_ref(&tops), Ranking::Requests), [("/a".to_owned(), 2)]);
        tops.note(&hit(b"/b", 1, 2 * SLICE_MS + 2));
        assert_eq!(
            shown(std::slice::from_ref(&tops), Ranking::Requests),
            [("/a".to_owned(), 1), ("/b".to_owned(), 1)]
        );
        tops.rotate(9 * SLICE_MS);
        assert_eq!(shown(std::slice::from_ref(&tops), Ranking::Requests), []);
    }
}
