//! Requests of pages: threads that take pages from a common list, pause as the pace requires, and count.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::warm::Pace;
use serde::Serialize;

use super::options::{AGENT, Options};
use super::pages::Pages;
use myriad_cli::web::{Answer, Client, Failure, Target};

/// Interval between lines of progress.
const PROGRESS: Duration = Duration::from_secs(5);
/// Maximum time for the refresh of a stale page, and pauses between checks.
const REFRESH: Duration = Duration::from_secs(30);
const LOOK: Duration = Duration::from_millis(20);
const LONGEST_LOOK: Duration = Duration::from_millis(500);
/// Maximum number of rejections of one page (429, 503) after which it is retried.
const REFUSALS: u32 = 3;
/// Number of consecutive unreachable pages after which the command fails.
const UNREACHABLE: u32 = 5;

/// Results of the requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
struct Counts {
    asked: usize,
    /// Pages fetched from PHP.
    made: usize,
    /// Pages refreshed after a stale response.
    renewed: usize,
    /// Pages that were fresh.
    fresh: usize,
    /// Pages whose responses bypassed the cache.
    uncached: usize,
    /// Pages without a success or redirect response.
    failed: usize,
    /// Received encodings.
    encodings: usize,
    /// Number of responses that requested a later retry.
    refused: usize,
    /// Time of requests to PHP, in milliseconds.
    php_ms: u64,
}

struct Work<'o> {
    options: &'o Options,
    targets: Mutex<VecDeque<Target>>,
    pace: Mutex<Pace>,
    counts: Mutex<Counts>,
    unreachable: AtomicU32,
    /// First failure, for the final message.
    failure: Mutex<Option<String>>,
    all: usize,
    start: Instant,
    told: Mutex<Instant>,
}

/// Requests all pages. The exit status is 0, 1 if a page failed, 2 if no page was found.
pub(super) fn run(options: &Options, pages: Pages) -> Result<ExitCode, String> {
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
    let work = Work {
        options,
        targets: Mutex::new(pages.targets),
        pace: Mutex::new(Pace::new(options.budget)),
        counts: Mutex::default(),
        unreachable: AtomicU32::new(0),
        failure: Mutex::default(),
        all,
        start,
        told: Mutex::new(start),
    };
    std::thread::scope(|scope| {
        for _ in 0..options.budget.at_once.min(all.max(1)) {
            scope.spawn(|| work.ask_all());
        }
    });
    work.total(fresh)
}

impl Work<'_> {
    fn ask_all(&self) {
        let mut client = Client::new(self.options.at.as_deref(), AGENT);
        loop {
            let Some(target) = held(&self.targets).pop_front() else { break };
            if self.unreachable.load(Ordering::Relaxed) >= UNREACHABLE {
                break;
            }
            self.ask(&mut client, &target);
            self.progress();
        }
    }

    /// Requests one page in each encoding, and pauses.
    fn ask(&self, client: &mut Client, target: &Target) {
        let first = self.options.encodings.first().map_or("gzip", String::as_str);
        held(&self.counts).asked += 1;
        for _ in 0..=REFUSALS {
            let start = Instant::now();
            let answer = match self.get(client, target, first) {
                Ok(answer) => answer,
                Err(error) => return self.failed(&error),
            };
            self.unreachable.store(0, Ordering::Relaxed);
            if matches!(answer.status, 429 | 503) {
                let later = answer.field("Retry-After").and_then(|value| value.trim().parse().ok());
                held(&self.counts).refused += 1;
                let rest = held(&self.pace).after_refusal(later);
                sleep(Duration::from_millis(rest));
                continue;
            }
            if answer.status >= 400 {
                return self.failed(&Failure::Broken(format!("{target} returned status {}", answer.status)));
            }
            self.count(client, target, first, &answer, start);
            return self.encode(client, target, &answer);
        }
        self.failed(&Failure::Broken(format!(
            "{target} was rejected {} times because PHP is overloaded",
            REFUSALS + 1
        )));
    }

    /// Counts a page by its cache status, and pauses according to the time that PHP took.
    fn count(&self, client: &mut Client, target: &Target, coding: &str, answer: &Answer, start: Instant) {
        let state = answer.field("X-Cache").unwrap_or_default();
        let is_stale = matches!(state.as_str(), "STALE" | "UPDATING");
        if is_stale && !self.await_new(client, target, coding) {
            return self
                .failed(&Failure::Broken(format!("{target} was still stale after {} s", REFRESH.as_secs())));
        }
        // PHP runs until the first byte, or until the refreshed page is stored.
        let took = if is_stale { start.elapsed() } else { answer.first_byte };
        let took = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        {
            let mut counts = held(&self.counts);
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
        let rest = held(&self.pace).after_page(took);
        sleep(Duration::from_millis(rest));
    }

    /// Waits until the refreshed page replaces the stale one. The checks cause no PHP request.
    fn await_new(&self, client: &mut Client, target: &Target, coding: &str) -> bool {
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

    /// Requests the page in each encoding, so that it is generated.
    fn encode(&self, client: &mut Client, target: &Target, first: &Answer) {
        for (index, coding) in self.options.encodings.iter().enumerate() {
            let said = if index == 0 {
                first.field("Content-Encoding")
            } else {
                self.get(client, target, coding).ok().and_then(|answer| answer.field("Content-Encoding"))
            };
            if said.as_deref() == Some(coding) {
                held(&self.counts).encodings += 1;
            }
        }
    }

    fn get(&self, client: &mut Client, target: &Target, coding: &str) -> Result<Answer, Failure> {
        let mut fields = vec![("Accept-Encoding", coding)];
        fields.extend(self.options.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        client.get(target, &fields)
    }

    fn failed(&self, error: &Failure) {
        if matches!(error, Failure::NotReached(_)) {
            self.unreachable.fetch_add(1, Ordering::Relaxed);
        }
        held(&self.counts).failed += 1;
        held(&self.failure).get_or_insert_with(|| error.to_string());
    }

    fn progress(&self) {
        if self.options.words.has("--quiet") {
            return;
        }
        let mut told = held(&self.told);
        if told.elapsed() < PROGRESS {
            return;
        }
        *told = Instant::now();
        let (counts, usual) = (*held(&self.counts), held(&self.pace).usual_ms().unwrap_or(0));
        eprintln!(
            "{} of {}: {} generated, {} failed, a page takes {usual} ms",
            counts.asked,
            self.all,
            counts.made + counts.renewed,
            counts.failed
        );
    }

    fn total(&self, fresh: usize) -> Result<ExitCode, String> {
        let mut counts = *held(&self.counts);
        counts.fresh += fresh;
        let known = self.all + fresh;
        if self.options.words.has("--json") {
            println!("{}", serde_json::to_string(&counts).map_err(|error| error.to_string())?);
        } else {
            self.tell(&counts, known);
        }
        let failure = held(&self.failure).take();
        if let Some(why) = failure {
            return Err(format!("{} of {} pages failed, the first: {why}", counts.failed, known));
        }
        Ok(if known == 0 { ExitCode::from(2) } else { ExitCode::SUCCESS })
    }

    fn tell(&self, counts: &Counts, known: usize) {
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
        if counts.encodings > 0 {
            println!("{} encodings are stored", counts.encodings);
        }
        if counts.refused > 0 {
            println!("{} requests were deferred in favor of visitors", counts.refused);
        }
    }
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
