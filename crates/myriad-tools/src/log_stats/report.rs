//! Results of the counts, for JSON and for tables.

use serde::Serialize;

use crate::log_stats::counts::{CACHE, Tally};
use crate::log_stats::remedy::remedy;
use crate::log_stats::top_counter::TopEntry;

/// Results of counting log lines (a [`Tally`]). Fields ending in `_s` are seconds since the epoch, in `_ms`
/// milliseconds. A field `over` is the amount by which the count in the same row may at most be too high. If there are
/// more pages, addresses or errors than the tables hold, further values of a row may be too low.
#[derive(Debug, Serialize)]
pub struct LogReport {
    /// Number of requests in the access logs.
    pub requests: u64,
    /// Number of bytes sent to clients.
    pub bytes: u64,
    /// Time of the earliest log line, in seconds since the Unix epoch; `None` if no line has a time.
    pub first_s: Option<u64>,
    /// Time of the latest log line, in seconds since the Unix epoch; `None` if no line has a time.
    pub last_s: Option<u64>,
    /// Number of access log lines that could not be parsed.
    pub unread: u64,
    /// Requests by class of status.
    pub statuses: StatusCounts,
    /// Number of requests by `$upstream_cache_status`, the last for all other values; `None` if the logs do not contain
    /// it.
    pub cache: Option<Vec<(&'static str, u64)>>,
    /// Durations of requests; `None` if the logs do not contain them.
    pub times: Option<DurationStats>,
    /// Requests by hour, in ascending order: only hours with requests, and at most 17,544 (two years).
    pub hours: Vec<HourCounts>,
    /// Most requested pages, in descending order.
    pub pages: Vec<ReportedPage>,
    /// Pages with the longest total time of their requests, in descending order.
    pub slow: Vec<SlowPage>,
    /// Pages with the most cache misses, in descending order.
    pub missed: Vec<MissedPage>,
    /// Client addresses with the most requests, in descending order.
    pub floods: Vec<BusyAddress>,
    /// Number of errors in error logs; a repeated line counts as often as it was repeated.
    pub error_lines: u64,
    /// Groups of errors, the most frequent first.
    pub errors: Vec<ErrorGroup>,
}

/// Requests by class of status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StatusCounts {
    /// Number of requests with status 100 to 299.
    pub ok: u64,
    /// Number of requests with status 300 to 399.
    pub redirected: u64,
    /// Number of requests with status 400 to 499.
    pub client_error: u64,
    /// Number of requests with status 500 and above.
    pub server_error: u64,
    /// Number of requests without a status, or with one below 100.
    pub other: u64,
}

impl StatusCounts {
    fn of(classes: &[u64; 6]) -> Self {
        let [other, informed, ok, redirected, client_error, server_error] = *classes;
        Self { ok: ok + informed, redirected, client_error, server_error, other }
    }

    /// Returns the sum of all status classes.
    pub fn all(self) -> u64 {
        self.ok + self.redirected + self.client_error + self.server_error + self.other
    }
}

/// Durations of requests, in milliseconds. Percentiles are rounded up by at most a quarter.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[expect(clippy::struct_field_names, reason = "they are the names of members of JSON")]
pub struct DurationStats {
    /// Arithmetic mean of the durations.
    pub mean_ms: f64,
    /// Median of the durations, rounded up by at most a quarter.
    pub p50_ms: f64,
    /// 95th percentile of the durations, rounded up by at most a quarter.
    pub p95_ms: f64,
    /// 99th percentile of the durations, rounded up by at most a quarter.
    pub p99_ms: f64,
    /// Longest duration of a request, exact.
    pub max_ms: f64,
}

impl DurationStats {
    fn of(times: &crate::log_stats::duration_histogram::DurationHistogram) -> Self {
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

/// Number of requests in one hour, by class of status.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct HourCounts {
    /// Start of the hour, in seconds since the Unix epoch.
    pub begin_s: u64,
    /// Requests by class of status.
    pub statuses: StatusCounts,
}

/// Page and the counts of its requests.
#[derive(Debug, Serialize)]
pub struct ReportedPage {
    /// Host, path and the names of the query arguments.
    pub page: String,
    /// Number of requests for the page; at most `over` too high.
    pub requests: u64,
    /// Amount by which `requests` may at most be too high.
    pub over: u64,
    /// Number of bytes sent to clients.
    pub bytes: u64,
    /// Number of responses with status 400 and above.
    pub errors: u64,
}

/// Page and the durations of its requests.
#[derive(Debug, Serialize)]
pub struct SlowPage {
    /// Host, path and the names of the query arguments.
    pub page: String,
    /// Number of requests with a known duration.
    pub requests: u64,
    /// Total duration of these requests, in milliseconds.
    pub total_ms: f64,
    /// Durations of the requests.
    pub took: DurationStats,
}

/// Page and its cache misses.
#[derive(Debug, Serialize)]
pub struct MissedPage {
    /// Host, path and the names of the query arguments.
    pub page: String,
    /// Number of requests with status `MISS`, `EXPIRED` or `BYPASS`.
    pub missed: u64,
    /// Amount by which `missed` may at most be too high.
    pub over: u64,
    /// Number of requests with status `MISS`: no stored response was found.
    pub miss: u64,
    /// Number of requests with status `EXPIRED`: the stored response had expired.
    pub expired: u64,
    /// Number of requests with status `BYPASS`: a rule excluded the request from the cache.
    pub bypass: u64,
}

/// Client address (IPv4) or /64 network (IPv6), and the counts of its requests.
#[derive(Debug, Serialize)]
pub struct BusyAddress {
    /// IPv4 address, or /64 network of IPv6.
    pub address: String,
    /// Number of requests of the address or network; at most `over` too high.
    pub requests: u64,
    /// Amount by which `requests` may at most be too high.
    pub over: u64,
    /// Share of all requests, in percent.
    pub share: f64,
    /// Maximum number of requests of the address within a minute, counted in the order of the log lines.
    pub peak_per_minute: u64,
    /// Number of responses with status 400 and above.
    pub errors: u64,
    /// Number of bytes sent to the address.
    pub bytes: u64,
    /// Approximately most frequent `User-Agent`, cut to 160 bytes; empty if there is none.
    pub agent: String,
}

/// Group of error messages that differ only in numbers and quoted texts.
#[derive(Debug, Serialize)]
pub struct ErrorGroup {
    /// Level of the errors, such as `error` or `crit`.
    pub level: String,
    /// Common text of the messages: numbers are replaced by `N`, quoted texts by `"…"`.
    pub message: String,
    /// Number of occurrences of the errors in the group; at most `over` too high.
    pub count: u64,
    /// Amount by which `count` may at most be too high.
    pub over: u64,
    /// Time of the first occurrence that was read, in seconds since the Unix epoch; `None` if no occurrence has a time.
    pub first_s: Option<u64>,
    /// Time of the last occurrence of the error, in seconds since the Unix epoch; `None` if no occurrence has a time.
    pub last_s: Option<u64>,
    /// Message of the last occurrence, cut to 512 bytes.
    pub example: String,
    /// Address of the client of the last occurrence; empty if unknown.
    pub client: String,
    /// Advice for the errors; `None` if none is known.
    pub remedy: Option<&'static str>,
}

impl LogReport {
    /// Creates the report of counted log lines. The lists of pages, addresses and errors have at most `most` entries
    /// each.
    pub fn of(tally: &Tally, most: usize) -> Self {
        let hour = |(hour, classes): (&u64, &_)| HourCounts {
            begin_s: hour * 3600,
            statuses: StatusCounts::of(classes),
        };
        let names = CACHE.into_iter().chain(["other"]);
        Self {
            requests: tally.requests,
            bytes: tally.bytes,
            first_s: tally.first_s,
            last_s: tally.last_s,
            unread: tally.unread,
            statuses: StatusCounts::of(&tally.classes),
            cache: tally.has_cache_status.then(|| names.zip(tally.cache).collect()),
            times: (tally.times.count > 0).then(|| DurationStats::of(&tally.times)),
            hours: tally.hours.iter().map(hour).collect(),
            pages: list(tally.pages.heaviest(most), |page, kept| ReportedPage {
                page,
                requests: kept.weight,
                over: kept.over,
                bytes: kept.value.bytes,
                errors: kept.value.errors,
            }),
            slow: list(tally.slow.heaviest(most), |page, kept| SlowPage {
                page,
                requests: kept.value.count,
                total_ms: kept.value.sum_us as f64 / 1000.0,
                took: DurationStats::of(&kept.value),
            }),
            missed: list(tally.misses.heaviest(most), |page, kept| MissedPage {
                page,
                missed: kept.weight,
                over: kept.over,
                miss: kept.value.by_status[0],
                expired: kept.value.by_status[1],
                bypass: kept.value.by_status[2],
            }),
            floods: list(tally.addresses.heaviest(most), |address, kept| BusyAddress {
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
                ErrorGroup {
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

    /// Returns whether no requests and no errors were counted.
    pub fn is_empty(&self) -> bool {
        self.requests == 0 && self.error_lines == 0
    }
}

fn list<T, R>(kept: Vec<(&[u8], &TopEntry<T>)>, row: impl Fn(String, &TopEntry<T>) -> R) -> Vec<R> {
    kept.into_iter().map(|(key, kept)| row(text(key), kept)).collect()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
