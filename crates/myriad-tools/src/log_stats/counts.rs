//! Counts of log lines, in bounded memory.

use std::collections::BTreeMap;
use std::net::IpAddr;

use crate::log_stats::duration_histogram::DurationHistogram;
use crate::log_stats::error_line::{ErrorLogLine, group};
use crate::log_stats::logged_request::LoggedRequest;
use crate::log_stats::page;
use crate::log_stats::top_counter::TopCounter;

/// Maximum number of keys (pages, client addresses) of each kind that are counted; above it, the rarest are dropped.
/// For user agents the maximum is a quarter of it, for groups of error messages a sixteenth.
const MOST: usize = 16_384;
/// Maximum number of user agents that are stored per client address.
const AGENTS: usize = 3;
/// Maximum number of hours with separate counts: two years. Requests of further hours are not counted by hour.
const MOST_HOURS: usize = 24 * 731;

/// Number of requests by status class: without a status or below 100, then 1xx to 4xx, then 500 and above.
pub(crate) type StatusClasses = [u64; 6];

/// Counts of the requests for a page since it was last added to [`Tally::pages`]. The counter drops rare pages, so that
/// these counts can be lower than the totals, which are the weights in the counter.
#[derive(Clone, Debug, Default)]
pub(crate) struct PageCounts {
    pub(crate) requests: u64,
    pub(crate) bytes: u64,
    pub(crate) errors: u64,
}

/// Counts of the cache misses of a page.
#[derive(Clone, Debug, Default)]
pub(crate) struct MissCounts {
    /// Counts of the misses by `$upstream_cache_status`: MISS, EXPIRED, BYPASS.
    pub(crate) by_status: [u64; 3],
}

/// Counts of the requests of a client address.
#[derive(Clone, Debug, Default)]
pub(crate) struct AddressCounts {
    pub(crate) bytes: u64,
    pub(crate) errors: u64,
    minute: u64,
    of_minute: u64,
    /// Maximum number of requests of the address in one clock minute. The count restarts when the minute of a log line
    /// differs from that of the previous line, so that it is too low for unsorted lines.
    pub(crate) peak: u64,
    /// Most frequent user agents of the address, at most [`AGENTS`], with approximate counts ([`Self::agent`]).
    pub(crate) agents: Vec<(Box<[u8]>, u64)>,
}

/// Details of a group of similar error messages.
#[derive(Clone, Debug, Default)]
pub(crate) struct ErrorCounts {
    pub(crate) level: String,
    /// Last message of the group, cut to 512 bytes.
    pub(crate) example: String,
    pub(crate) client: String,
    pub(crate) first_s: Option<u64>,
    pub(crate) last_s: Option<u64>,
}

/// Counts of requests and errors in log files. The memory usage is bounded for any input.
#[derive(Debug)]
pub struct Tally {
    pub(crate) requests: u64,
    pub(crate) bytes: u64,
    pub(crate) classes: StatusClasses,
    /// Number of requests by `$upstream_cache_status`, in the order of [`CACHE`]; the last element is for all other
    /// values.
    pub(crate) cache: [u64; 8],
    pub(crate) has_cache_status: bool,
    pub(crate) first_s: Option<u64>,
    pub(crate) last_s: Option<u64>,
    pub(crate) times: DurationHistogram,
    pub(crate) hours: BTreeMap<u64, StatusClasses>,
    pub(crate) pages: TopCounter<PageCounts>,
    pub(crate) slow: TopCounter<DurationHistogram>,
    pub(crate) misses: TopCounter<MissCounts>,
    pub(crate) addresses: TopCounter<AddressCounts>,
    pub(crate) agents: TopCounter<()>,
    pub(crate) faults: TopCounter<ErrorCounts>,
    pub(crate) fault_lines: u64,
    /// Number of access log lines that could not be parsed.
    pub unread: u64,
    page: Vec<u8>,
    group: String,
}

/// Values of `$upstream_cache_status`; the first four mean that the response came from the cache.
pub(crate) const CACHE: [&str; 7] = ["HIT", "STALE", "UPDATING", "REVALIDATED", "MISS", "EXPIRED", "BYPASS"];

impl Default for Tally {
    fn default() -> Self {
        Self {
            requests: 0,
            bytes: 0,
            classes: [0; 6],
            cache: [0; 8],
            has_cache_status: false,
            first_s: None,
            last_s: None,
            times: DurationHistogram::default(),
            hours: BTreeMap::new(),
            pages: TopCounter::new(MOST),
            slow: TopCounter::new(MOST),
            misses: TopCounter::new(MOST),
            addresses: TopCounter::new(MOST),
            agents: TopCounter::new(MOST / 4),
            faults: TopCounter::new(MOST / 16),
            fault_lines: 0,
            unread: 0,
            page: Vec::new(),
            group: String::new(),
        }
    }
}

impl Tally {
    /// Counts a request of an access log.
    pub fn visit(&mut self, visit: &LoggedRequest<'_>) {
        self.requests += 1;
        self.bytes = self.bytes.saturating_add(visit.bytes);
        let class = visit.status.map_or(0, |status| usize::from(status / 100)).min(5);
        self.classes[class] += 1;
        self.time(visit.time_s);
        self.hour(visit.time_s, class);
        self.page.clear();
        page::name(&visit.host, &visit.uri, &mut self.page);
        let of_page = self.pages.add(&self.page, 1);
        of_page.requests += 1;
        of_page.bytes = of_page.bytes.saturating_add(visit.bytes);
        of_page.errors += u64::from(class >= 4);
        if let Some(took_us) = visit.took_us {
            self.times.add(took_us);
            self.slow.add(&self.page, took_us).add(took_us);
        }
        self.cache(visit.cache.as_deref());
        self.address(visit, class >= 4);
        if !visit.agent.is_empty() {
            self.agents.add(&visit.agent, 1);
        }
    }

    fn time(&mut self, time_s: Option<u64>) {
        let Some(time_s) = time_s else { return };
        self.first_s = Some(self.first_s.map_or(time_s, |first| first.min(time_s)));
        self.last_s = self.last_s.max(Some(time_s));
    }

    fn hour(&mut self, time_s: Option<u64>, class: usize) {
        let Some(hour) = time_s.map(|time_s| time_s / 3600) else { return };
        if self.hours.len() < MOST_HOURS || self.hours.contains_key(&hour) {
            self.hours.entry(hour).or_default()[class] += 1;
        }
    }

    fn cache(&mut self, status: Option<&[u8]>) {
        let Some(status) = status else { return };
        self.has_cache_status = true;
        let at = CACHE.iter().position(|known| known.as_bytes() == status);
        self.cache[at.unwrap_or(CACHE.len())] += 1;
        if let Some(at) = at.filter(|at| *at >= 4) {
            self.misses.add(&self.page, 1).by_status[at - 4] += 1;
        }
    }

    fn address(&mut self, visit: &LoggedRequest<'_>, is_error: bool) {
        if visit.address.is_empty() {
            return;
        }
        let network = network(&visit.address);
        let of = self.addresses.add(network.as_deref().unwrap_or(&visit.address), 1);
        of.bytes = of.bytes.saturating_add(visit.bytes);
        of.errors += u64::from(is_error);
        if let Some(minute) = visit.time_s.map(|time_s| time_s / 60) {
            of.of_minute = if of.minute == minute { of.of_minute + 1 } else { 1 };
            (of.minute, of.peak) = (minute, of.peak.max(of.of_minute));
        }
        of.agent(&visit.agent);
    }

    /// Counts a line of the error log in total and for the group of similar messages of its level. A line that
    /// represents repeated messages counts once for each of them. Stores the message as the latest example of the
    /// group.
    pub fn fault(&mut self, fault: &ErrorLogLine<'_>) {
        self.fault_lines = self.fault_lines.saturating_add(fault.count);
        self.time(fault.time_s);
        self.group.clear();
        self.group.push_str(&fault.level);
        self.group.push(' ');
        group(&fault.message, &mut self.group);
        let of = self.faults.add(self.group.as_bytes(), fault.count);
        cut(&fault.level, 16, &mut of.level);
        cut(&fault.message, 512, &mut of.example);
        cut(&fault.client, 64, &mut of.client);
        of.first_s = of.first_s.or(fault.time_s);
        of.last_s = fault.time_s.or(of.last_s);
    }
}

impl AddressCounts {
    /// Counts a user agent of the address, cut to 160 bytes, by the algorithm of Misra and Gries: if the list is full
    /// and does not contain the agent, all counts are decremented, and agents with count 0 are removed.
    fn agent(&mut self, agent: &[u8]) {
        let agent = &agent[..agent.len().min(160)];
        if let Some((_, count)) = self.agents.iter_mut().find(|(known, _)| **known == *agent) {
            *count += 1;
        } else if self.agents.len() < AGENTS {
            self.agents.push((agent.into(), 1));
        } else {
            self.agents.iter_mut().for_each(|(_, count)| *count -= 1);
            self.agents.retain(|(_, count)| *count > 0);
        }
    }

    /// Returns the user agent of the address with the highest approximate count; empty if there is none.
    pub(crate) fn main_agent(&self) -> &[u8] {
        self.agents.iter().max_by_key(|(_, count)| *count).map_or(b"", |(agent, _)| agent)
    }
}

/// Returns the /64 network of an IPv6 address, because a single client may use any address in it; `None` for IPv4
/// addresses and other texts.
fn network(address: &[u8]) -> Option<Vec<u8>> {
    memchr::memchr(b':', address)?;
    let IpAddr::V6(address) = str::from_utf8(address).ok()?.parse().ok()? else { return None };
    let network = u128::from(address) >> 64 << 64;
    Some(format!("{}/64", std::net::Ipv6Addr::from(network)).into_bytes())
}

/// Replaces `into` by the first `most` bytes of `text`, or fewer, to cut at a character boundary.
fn cut(text: &str, most: usize, into: &mut String) {
    into.clear();
    into.push_str(&text[..text.floor_char_boundary(most)]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log_stats::{LogLayout, read_fault};

    fn tally(lines: &[String]) -> Tally {
        let layout = LogLayout::of("$remote_addr [$msec] \"$request\" $status $request_time $upstream_cache_status \"$http_user_agent\"", false)
            .expect("a layout");
        let mut tally = Tally::default();
        for line in lines {
            tally.visit(&layout.read(line.as_bytes()).expect("a line"));
        }
        tally
    }

    fn line(address: &str, time_s: u64, uri: &str, rest: &str) -> String {
        format!("{address} [{time_s}.000] \"GET {uri} HTTP/1.1\" {rest}")
    }

    #[test]
    fn requests_are_counted_by_page_hour_address_and_what_the_cache_did() {
        let mut lines = vec![line("1.1.1.1", 7200, "/slow?a=1", "200 2.000 MISS \"x\"")];
        lines.extend((0..9).map(|n| line("2.2.2.2", 3600 + n, "/", "200 0.001 HIT \"bot\"")));
        lines.push(line("2.2.2.2", 3660, "/gone", "404 0.001 BYPASS \"bot\""));
        let tally = tally(&lines);
        assert_eq!((tally.requests, tally.classes), (11, [0, 0, 10, 0, 1, 0]));
        assert_eq!(tally.hours[&1], [0, 0, 9, 0, 1, 0]);
        assert_eq!(tally.slow.heaviest(1)[0].0, "/slow?a=…".as_bytes());
        assert_eq!(tally.misses.heaviest(9).len(), 2);
        let (address, of) = tally.addresses.heaviest(1)[0];
        assert_eq!((address, of.weight, of.value.peak, of.value.errors), (&b"2.2.2.2"[..], 10, 9, 1));
        assert_eq!((of.value.main_agent(), tally.cache[0]), (&b"bot"[..], 9));
        assert_eq!((tally.first_s, tally.last_s), (Some(3600), Some(7200)));
    }

    #[test]
    fn addresses_of_one_customer_of_ipv6_are_one() {
        let lines: Vec<_> =
            (0..50).map(|n| line(&format!("2001:db8:1:2::{n}"), 1, "/", "200 0.1 - \"\"")).collect();
        let tally = tally(&lines);
        assert_eq!(tally.addresses.heaviest(2)[0].0, b"2001:db8:1:2::/64");
        assert_eq!(tally.addresses.len(), 1);
    }

    #[test]
    fn any_number_of_lines_takes_bounded_memory() {
        let mut tally = Tally::default();
        for number in 0..100_000_u64 {
            let text = format!("/{number}");
            let mut visit = LoggedRequest { time_s: Some(number * 3600), ..LoggedRequest::default() };
            visit.uri = text.as_bytes().into();
            visit.address = text.as_bytes().into();
            visit.agent = text.as_bytes().into();
            tally.visit(&visit);
            let line = format!("2026/11/24 17:07:09 [error] 1#1: m{}", "x".repeat(number as usize % 3000));
            tally.fault(&read_fault(&line, |_| 0).expect("a line"));
        }
        assert!(tally.pages.len() <= MOST && tally.faults.len() <= MOST && tally.hours.len() == MOST_HOURS);
    }
}
