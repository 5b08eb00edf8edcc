//! Requests of pages by several threads, which take pages from a common list and pause according to the budget.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::warm::WarmPace;
use myriad_base::digits::decimal;
use serde::Serialize;

use super::options::{AGENT, WarmOptions};
use super::pages::PageList;
use myriad_cli::web::{WebAnswer, WebClient, WebFailure, WebTarget};

/// Interval between progress messages of `myriad warm`.
const PROGRESS: Duration = Duration::from_secs(5);
/// Maximum time to wait for the refresh of a stale page.
const REFRESH: Duration = Duration::from_secs(30);
const LOOK: Duration = Duration::from_millis(20);
const LONGEST_LOOK: Duration = Duration::from_millis(500);
/// Maximum number of retries of a page after a rejection (429, 503).
const REFUSALS: u32 = 3;
/// Number of successive pages without a connection to the server after which the command stops with an error.
const UNREACHABLE: u32 = 5;

/// Counts of the results of warming, in pages unless stated otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
struct WarmCounts {
    asked: usize,
    /// Pages that PHP generated, or confirmed as unchanged (`X-Cache` is MISS, EXPIRED or REVALIDATED).
    made: usize,
    /// Pages for which a stale response was sent and that were refreshed in the background.
    renewed: usize,
    /// Pages that were fresh, both requested ones and those skipped because they were known to be fresh.
    fresh: usize,
    /// Pages whose `X-Cache` is none of HIT, MISS, EXPIRED, REVALIDATED, STALE and UPDATING, such as BYPASS.
    uncached: usize,
    /// Pages with an error or with status 400 or above, rejected too often, or still stale after [`REFRESH`].
    failed: usize,
    /// Number of stored encodings: responses from the cache in a content coding of `--encodings`, as requested.
    encodings: usize,
    /// Number of times that the server rejected a request (429, 503).
    refused: usize,
    /// Total time that PHP worked for the requests, in milliseconds.
    php_ms: u64,
}

struct WarmRun<'o> {
    options: &'o WarmOptions,
    targets: Mutex<VecDeque<WebTarget>>,
    pace: Mutex<WarmPace>,
    counts: Mutex<WarmCounts>,
    unreachable: AtomicU32,
    /// First failure, for the summary.
    failure: Mutex<Option<String>>,
    all: usize,
    start: Instant,
    last_progress: Mutex<Instant>,
}

/// Requests all pages and prints a summary. Returns the exit status: 0, or 2 if there are neither pages to request nor
/// fresh ones. Returns an error if a page failed.
pub(super) fn run(options: &WarmOptions, pages: PageList) -> Result<ExitCode, String> {
    let all = pages.targets.len();
    if !options.words.has("--quiet") {
        let mut left_out = String::new();
        for (count, what) in [
            (pages.fresh, "already fresh"),
            (pages.elsewhere, "of other sites"),
            (pages.beyond, "beyond --limit"),
        ] {
            if count > 0 {
                let _ = write!(left_out, ", {count} {what}");
            }
        }
        eprintln!("{all} pages to request{left_out}");
    }
    let (start, fresh) = (Instant::now(), pages.fresh);
    let work = WarmRun {
        options,
        targets: Mutex::new(pages.targets),
        pace: Mutex::new(WarmPace::new(options.budget)),
        counts: Mutex::default(),
        unreachable: AtomicU32::new(0),
        failure: Mutex::default(),
        all,
        start,
        last_progress: Mutex::new(start),
    };
    std::thread::scope(|scope| {
        for _ in 0..options.budget.at_once.min(all.max(1)) {
            scope.spawn(|| work.request_all());
        }
    });
    work.total(fresh)
}

impl WarmRun<'_> {
    fn request_all(&self) {
        let mut client = WebClient::new(self.options.at.as_deref(), AGENT);
        loop {
            let Some(target) = locked(&self.targets).pop_front() else { break };
            if self.unreachable.load(Ordering::Relaxed) >= UNREACHABLE {
                break;
            }
            self.request_page(&mut client, &target);
            self.progress();
        }
    }

    /// Requests one page in each content coding, and pauses. Repeats the request in the first coding if the server
    /// rejects it (429, 503), at most [`REFUSALS`] times.
    fn request_page(&self, client: &mut WebClient, target: &WebTarget) {
        let first = self.options.encodings.first().map_or("gzip", String::as_str);
        locked(&self.counts).asked += 1;
        for _ in 0..=REFUSALS {
            let start = Instant::now();
            let answer = match self.get(client, target, first) {
                Ok(answer) => answer,
                Err(error) => return self.count_failure(&error),
            };
            self.unreachable.store(0, Ordering::Relaxed);
            if matches!(answer.status, 429 | 503) {
                let later = answer.field("Retry-After").and_then(|value| decimal(value.trim()));
                locked(&self.counts).refused += 1;
                let rest = locked(&self.pace).after_refusal(later);
                sleep(Duration::from_millis(rest));
                continue;
            }
            if answer.status >= 400 {
                return self.count_failure(&WebFailure::Broken(format!(
                    "{target} returned status {}",
                    answer.status
                )));
            }
            self.count(client, target, first, &answer, start);
            return self.encode(client, target, &answer);
        }
        self.count_failure(&WebFailure::Broken(format!(
            "{target} was rejected {} times because PHP is overloaded",
            REFUSALS + 1
        )));
    }

    /// Counts a page by its cache status, and pauses depending on the time that PHP worked for it; after a HIT, there
    /// is no pause. A page that remains stale is counted as failed.
    fn count(
        &self,
        client: &mut WebClient,
        target: &WebTarget,
        coding: &str,
        answer: &WebAnswer,
        start: Instant,
    ) {
        let state = answer.field("X-Cache").unwrap_or_default();
        let is_stale = matches!(state.as_str(), "STALE" | "UPDATING");
        if is_stale && !self.wait_for_refresh(client, target, coding) {
            return self.count_failure(&WebFailure::Broken(format!(
                "{target} was still stale after {} s",
                REFRESH.as_secs()
            )));
        }
        // PHP works until the first byte, or for a stale response until the refreshed page is stored.
        let took = if is_stale { start.elapsed() } else { answer.first_byte };
        let took = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        {
            let mut counts = locked(&self.counts);
            match state.as_str() {
                "HIT" => counts.fresh += 1,
                "MISS" | "EXPIRED" | "REVALIDATED" => counts.made += 1,
                _ if is_stale => counts.renewed += 1,
                _ => counts.uncached += 1,
            }
            if state == "HIT" {
                return;
            }
            counts.php_ms += took;
        }
        let rest = locked(&self.pace).after_page(took);
        sleep(Duration::from_millis(rest));
    }

    /// Waits until the refreshed page replaces the stale one; returns false after [`REFRESH`], if a request fails, or
    /// if a response has no `X-Cache`. While the refresh is in progress, the checks cause no further requests to PHP.
    fn wait_for_refresh(&self, client: &mut WebClient, target: &WebTarget, coding: &str) -> bool {
        let start = Instant::now();
        let mut pause = LOOK;
        while start.elapsed() < REFRESH {
            sleep(pause);
            pause = (pause * 2).min(LONGEST_LOOK);
            let state = self.get(client, target, coding).ok().and_then(|answer| answer.field("X-Cache"));
            if !matches!(state.as_deref(), Some("STALE" | "UPDATING")) {
                return state.is_some();
            }
        }
        false
    }

    /// Requests the page in each content coding of `--encodings`, so that the server generates and stores it. The server
    /// queues a missing coding when it sends a stored page. It encodes responses that it streams from PHP, too, but does
    /// not store their encoding: `first` counts only if it is a HIT. Counts responses from the cache that have the coding.
    fn encode(&self, client: &mut WebClient, target: &WebTarget, first: &WebAnswer) {
        let is_encoded = |answer: &WebAnswer, coding: &str| {
            answer.field("X-Cache").as_deref() == Some("HIT")
                && answer.field("Content-Encoding").as_deref() == Some(coding)
        };
        for (index, coding) in self.options.encodings.iter().enumerate() {
            let is_first = index == 0 && is_encoded(first, coding);
            if is_first || self.get(client, target, coding).is_ok_and(|answer| is_encoded(&answer, coding)) {
                locked(&self.counts).encodings += 1;
            }
        }
    }

    fn get(&self, client: &mut WebClient, target: &WebTarget, coding: &str) -> Result<WebAnswer, WebFailure> {
        let mut fields = vec![("Accept-Encoding", coding)];
        fields.extend(self.options.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        client.get(target, &fields)
    }

    fn count_failure(&self, error: &WebFailure) {
        if matches!(error, WebFailure::NotReached(_)) {
            self.unreachable.fetch_add(1, Ordering::Relaxed);
        }
        locked(&self.counts).failed += 1;
        locked(&self.failure).get_or_insert_with(|| error.to_string());
    }

    fn progress(&self) {
        if self.options.words.has("--quiet") {
            return;
        }
        let mut last_progress = locked(&self.last_progress);
        if last_progress.elapsed() < PROGRESS {
            return;
        }
        *last_progress = Instant::now();
        let (counts, usual) = (*locked(&self.counts), locked(&self.pace).usual_ms().unwrap_or(0));
        eprintln!(
            "{} of {}: {} generated, {} failed, a page takes {usual} ms",
            counts.asked,
            self.all,
            counts.made + counts.renewed,
            counts.failed
        );
    }

    fn total(&self, fresh: usize) -> Result<ExitCode, String> {
        let mut counts = *locked(&self.counts);
        counts.fresh += fresh;
        let known = self.all + fresh;
        if self.options.words.has("--json") {
            println!("{}", serde_json::to_string(&counts).map_err(|error| error.to_string())?);
        } else {
            self.print_summary(&counts, known);
        }
        let failure = locked(&self.failure).take();
        if let Some(why) = failure {
            return Err(format!("{} of {} pages failed, the first: {why}", counts.failed, known));
        }
        Ok(if known == 0 { ExitCode::from(2) } else { ExitCode::SUCCESS })
    }

    fn print_summary(&self, counts: &WarmCounts, known: usize) {
        let took = self.start.elapsed().as_secs_f64();
        let php = counts.php_ms as f64 / 1000.0;
        let mut parts = Vec::new();
        for (count, what) in [
            (counts.made, "generated"),
            (counts.renewed, "regenerated"),
            (counts.fresh, "already fresh"),
            (counts.uncached, "not cacheable"),
            (counts.failed, "failed"),
        ] {
            if count > 0 {
                parts.push(format!("{count} {what}"));
            }
        }
        let parts = if parts.is_empty() { "nothing to do".to_owned() } else { parts.join(", ") };
        println!("{known} pages: {parts}; {took:.1} s, of which PHP took {php:.1} s");
        if !self.options.encodings.is_empty() {
            println!(
                "{} encodings are stored, the server generates the others in the background",
                counts.encodings
            );
        }
        if counts.refused > 0 {
            println!("{} requests were deferred in favor of visitors", counts.refused);
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
