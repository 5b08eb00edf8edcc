//! The answers: what the counts come to, as JSON and for tables.

use serde::Serialize;

use crate::remedy::remedy;
use crate::tally::{CACHE, Tally};
use crate::top::Kept;

/// Answers of a [`Tally`]. Times are seconds since the epoch and milliseconds; an `over` says by how much a count may be too great.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Requests that were read.
    pub requests: u64,
    /// Bytes that they were sent.
    pub bytes: u64,
    /// When the first line was written.
    pub first_s: Option<u64>,
    /// When the last line was written.
    pub last_s: Option<u64>,
    /// Lines that could not be read.
    pub unread: u64,
    /// Requests by class of status.
    pub statuses: Statuses,
    /// Requests by `$upstream_cache_status`; `None` where the format does not have it.
    pub cache: Option<Vec<(&'static str, u64)>>,
    /// How long requests took; `None` where the format does not have `$request_time`.
    pub times: Option<Duration>,
    /// Requests by hour.
    pub hours: Vec<Hour>,
    /// Pages that were asked for most.
    pub pages: Vec<Page>,
    /// Pages that took the most time, together.
    pub slow: Vec<Slow>,
    /// Pages that most often were no hit.
    pub missed: Vec<Missed>,
    /// Addresses with the most requests.
    pub floods: Vec<Flood>,
    /// Lines of error logs.
    pub error_lines: u64,
    /// Groups of errors, the most frequent first.
    pub errors: Vec<Group>,
}

/// Requests by class of status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Statuses {
    /// 200 to 299, and 1xx.
    pub ok: u64,
    /// 300 to 399.
    pub redirected: u64,
    /// 400 to 499.
    pub client_error: u64,
    /// 500 to 599.
    pub server_error: u64,
    /// None, or another.
    pub other: u64,
}

impl Statuses {
    fn of(classes: &[u64; 6]) -> Self {
        let [other, informed, ok, redirected, client_error, server_error] = *classes;
        Self { ok: ok + informed, redirected, client_error, server_error, other }
    }

    /// All of them.
    pub fn all(self) -> u64 {
        self.ok + self.redirected + self.client_error + self.server_error + self.other
    }
}

/// How long requests took, milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[expect(clippy::struct_field_names, reason = "they are the names of members of JSON")]
pub struct Duration {
    /// On average.
    pub mean_ms: f64,
    /// What half of them did not exceed.
    pub p50_ms: f64,
    /// What 95 of 100 did not exceed.
    pub p95_ms: f64,
    /// What 99 of 100 did not exceed.
    pub p99_ms: f64,
    /// The slowest.
    pub max_ms: f64,
}

impl Duration {
    fn of(times: &crate::times::Times) -> Self {
        let ms = |us: u64| us as f64 / 1000.0;
        Self {
            mean_ms: ms(times.mean_us()),
            p50_ms: ms(times.quantile_us(0.5)),
            p95_ms: ms(times.quantile_us(0.95)),
            p99_ms: ms(times.quantile_us(0.99)),
            max_ms: ms(times.max_us),
        }
    }
}

/// Requests of an hour.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Hour {
    /// When it began.
    pub begin_s: u64,
    /// By class of status.
    pub statuses: Statuses,
}

/// A page by requests.
#[derive(Debug, Serialize)]
#[expect(clippy::struct_field_names, reason = "they are the names of members of JSON")]
pub struct Page {
    /// Host and path; of a query the names of its arguments.
    pub page: String,
    /// Requests.
    pub requests: u64,
    /// See [`Report`].
    pub over: u64,
    /// Bytes that were sent.
    pub bytes: u64,
    /// Answers of 400 and above.
    pub errors: u64,
}

/// A page by time.
#[derive(Debug, Serialize)]
pub struct Slow {
    /// As in [`Page`].
    pub page: String,
    /// Requests.
    pub requests: u64,
    /// Time that they took together.
    pub total_ms: f64,
    /// Each of them.
    pub took: Duration,
}

/// A page by misses.
#[derive(Debug, Serialize)]
#[expect(clippy::struct_field_names, reason = "they are the names of members of JSON")]
pub struct Missed {
    /// As in [`Page`].
    pub page: String,
    /// Requests that were no hit.
    pub missed: u64,
    /// See [`Report`].
    pub over: u64,
    /// Of them `MISS`: nothing was stored.
    pub miss: u64,
    /// `EXPIRED`: what was stored was too old.
    pub expired: u64,
    /// `BYPASS`: a rule kept the request from the cache.
    pub bypass: u64,
}

/// An address, or a network /64 of IPv6.
#[derive(Debug, Serialize)]
pub struct Flood {
    /// Who.
    pub address: String,
    /// Requests.
    pub requests: u64,
    /// See [`Report`].
    pub over: u64,
    /// Their share of all requests, percent.
    pub share: f64,
    /// Most requests of one minute.
    pub peak_per_minute: u64,
    /// Answers of 400 and above.
    pub errors: u64,
    /// Bytes that were sent.
    pub bytes: u64,
    /// `User-Agent` that it named most.
    pub agent: String,
}

/// Errors that differ in figures and names only.
#[derive(Debug, Serialize)]
pub struct Group {
    /// Its level.
    pub level: String,
    /// What they have in common.
    pub message: String,
    /// How many.
    pub count: u64,
    /// See [`Report`].
    pub over: u64,
    /// When the first was written.
    pub first_s: Option<u64>,
    /// When the last was written.
    pub last_s: Option<u64>,
    /// The last of them, and whose request it was.
    pub example: String,
    /// Address of that client; empty where there is none.
    pub client: String,
    /// What to do.
    pub remedy: Option<&'static str>,
}

impl Report {
    /// What the counts come to; of each list the first `most`.
    pub fn of(tally: &Tally, most: usize) -> Self {
        let hour =
            |(hour, classes): (&u64, &_)| Hour { begin_s: hour * 3600, statuses: Statuses::of(classes) };
        let names = CACHE.into_iter().chain(["other"]);
        Self {
            requests: tally.requests,
            bytes: tally.bytes,
            first_s: tally.first_s,
            last_s: tally.last_s,
            unread: tally.unread,
            statuses: Statuses::of(&tally.classes),
            cache: tally.tells_cache.then(|| names.zip(tally.cache).collect()),
            times: (tally.times.count > 0).then(|| Duration::of(&tally.times)),
            hours: tally.hours.iter().map(hour).collect(),
            pages: list(tally.pages.heaviest(most), |page, kept| Page {
                page,
                requests: kept.weight,
                over: kept.over,
                bytes: kept.value.bytes,
                errors: kept.value.errors,
            }),
            slow: list(tally.slow.heaviest(most), |page, kept| Slow {
                page,
                requests: kept.value.count,
                total_ms: kept.value.sum_us as f64 / 1000.0,
                took: Duration::of(&kept.value),
            }),
            missed: list(tally.misses.heaviest(most), |page, kept| Missed {
                page,
                missed: kept.weight,
                over: kept.over,
                miss: kept.value.by_status[0],
                expired: kept.value.by_status[1],
                bypass: kept.value.by_status[2],
            }),
            floods: list(tally.addresses.heaviest(most), |address, kept| Flood {
                address,
                requests: kept.weight,
                over: kept.over,
                share: 100.0 * kept.weight as f64 / tally.requests.max(1) as f64,
                peak_per_minute: kept.value.peak,
                errors: kept.value.errors,
                bytes: kept.value.bytes,
                agent: text(kept.value.main_agent()),
            }),
            error_lines: tally.fault_lines,
            errors: list(tally.faults.heaviest(most), |group, kept| {
                let message = group.split_once(' ').map_or(group.as_str(), |(_, message)| message).to_owned();
                Group {
                    remedy: remedy(&message),
                    level: kept.value.level.clone(),
                    message,
                    count: kept.weight,
                    over: kept.over,
                    first_s: kept.value.first_s,
                    last_s: kept.value.last_s,
                    example: kept.value.example.clone(),
                    client: kept.value.client.clone(),
                }
            }),
        }
    }

    /// Whether nothing was read that answers anything.
    pub fn is_empty(&self) -> bool {
        self.requests == 0 && self.error_lines == 0
    }
}

fn list<T, R>(kept: Vec<(&[u8], &Kept<T>)>, row: impl Fn(String, &Kept<T>) -> R) -> Vec<R> {
    kept.into_iter().map(|(key, kept)| row(text(key), kept)).collect()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
