//! Purges by administrators.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use crate::protocol::{AdminReply, PurgeReport, PurgeRequest, ReceiptsReport, ReplyEnd};
use myriad_log::LogLevel;
use myriad_policy::{PurgeCommand, PurgeTarget, Tags};

use super::administrator::{Administrator, ReplyResult, ReplySink};
use crate::purge::{self, BegunPurge, CompletedPurge, PurgeFailure, PurgeResult};
use myriad_store::page::{PageZone, PurgeSource};

/// Maximum time that a purge with `wait` waits in each zone until the pages of a pattern are counted: a fetch that
/// began before the purge may delay this.
const PATIENCE: Duration = Duration::from_mins(4);
/// Interval at which a waiting purge checks whether its pages are counted.
const PAUSE: Duration = Duration::from_millis(20);

/// Single purge of a request, with its kind and text for the report.
struct NamedPurge {
    kind: &'static str,
    what: String,
    command: PurgeCommand,
}

impl NamedPurge {
    /// Returns an error text for the client: the purge and why it failed.
    fn failure(&self, error: &PurgeFailure) -> String {
        format!("{} {}: {error}", self.kind, self.what)
    }
}

/// Purge of one zone that is in effect.
struct ZoneRun<'a> {
    zone: &'a PageZone,
    purge: BegunPurge,
}

impl Administrator {
    /// Executes the purges of a request, and reports each. If one of them is invalid, none is executed. All purges take
    /// effect, and are sent to the nodes of the cluster, before the first one is awaited. If one cannot be begun, the
    /// purges after it are not executed, and its error is returned after the reports of those before it.
    pub(super) fn purge(&self, request: &PurgeRequest, tell: &mut ReplySink<'_>) -> ReplyResult {
        let zones = self.zones_named(request.zone.as_deref())?;
        let mut begun = Vec::with_capacity(request.len());
        let mut failed = Ok(());
        for order in named_purges(request)? {
            let by = PurgeSource::Administrator;
            let purges = zones.iter().map(|zone| {
                let purge = if request.invalidate {
                    purge::begin_invalidation(zone, &order.command.what, by)?
                } else {
                    purge::begin_in(zone, &order.command, &[], by)?
                };
                Ok(ZoneRun { zone, purge })
            });
            match purges.collect::<Result<Vec<_>, PurgeFailure>>() {
                Ok(purges) => begun.push((order, purges)),
                Err(error) => {
                    failed = Err(order.failure(&error));
                    break;
                }
            }
        }
        for (order, purges) in begun {
            let report = self.finish_purge(&order, purges, request)?;
            if !tell(AdminReply::Purge(Box::new(report))) {
                break;
            }
        }
        failed.map(|()| ReplyEnd::default())
    }

    /// Waits until a purge is saved in all its zones and, if the request has `wait`, its pages are counted. Returns the
    /// report of the purge.
    fn finish_purge(
        &self,
        order: &NamedPurge,
        purges: Vec<ZoneRun<'_>>,
        request: &PurgeRequest,
    ) -> Result<PurgeReport, String> {
        let NamedPurge { kind, what, command } = order;
        let mut completed = CompletedPurge::default();
        for ZoneRun { zone, purge } in purges {
            let made = block_on(purge.finish());
            let mut made = made.map_err(|error| order.failure(&error))?;
            if request.wait && made.outcome == PurgeResult::Accepted {
                made.outcome = self.wait_for(zone, made.number).map_or(made.outcome, PurgeResult::Done);
            }
            completed.add(made);
        }
        let receipts = block_on(completed.receipts());
        let (purged, at_least) = match completed.outcome {
            PurgeResult::Done(count) => (Some(count as u64), false),
            PurgeResult::AtLeast(count) => (Some(count as u64), true),
            PurgeResult::Accepted => (None, false),
        };
        // The number of pages of a pattern purge is logged where it is determined.
        if let Some(count) = purged.filter(|_| command.what.is_exact()) {
            let plural = if count == 1 { "" } else { "s" };
            let mut what = command.what.to_string();
            purge::shorten_name(&mut what);
            let text = format_args!("purge of {what} by an administrator: {count} page{plural}");
            self.log.write(LogLevel::Notice, None, text);
        }
        let cluster = receipts.map(|receipts| ReceiptsReport {
            applied: receipts.applied.iter().cloned().collect(),
            missing: receipts.missing.iter().cloned().collect(),
            nodes_known: receipts.are_nodes_known,
            sent: receipts.is_sent,
            ms: receipts.elapsed.as_millis() as u64,
            text: receipts.to_string(),
        });
        Ok(PurgeReport { kind: (*kind).to_owned(), what: what.clone(), purged, at_least, cluster })
    }

    /// Waits until all pages of the zone have been checked against the purge `number`. Returns the number of purged
    /// pages; `None` after [`PATIENCE`].
    fn wait_for(&self, zone: &PageZone, number: u64) -> Option<usize> {
        let until = Instant::now() + PATIENCE;
        loop {
            purge::advance_purges(zone, &self.log);
            if let Some(count) = zone.purge_results.of(number) {
                return Some(count);
            }
            if Instant::now() >= until {
                return None;
            }
            thread::sleep(PAUSE);
        }
    }
}

/// Returns the purges of a request separately, so that each has a count. Returns an error text if one is invalid.
fn named_purges(request: &PurgeRequest) -> Result<Vec<NamedPurge>, String> {
    let mut orders = Vec::with_capacity(request.len());
    let mut add = |kind, what: &str, covered| {
        let command = PurgeCommand { what: covered, soft: request.soft };
        orders.push(NamedPurge { kind, what: what.to_owned(), command });
    };
    for url in &request.urls {
        let covered = PurgeTarget::url(url.as_bytes());
        add(
            "url",
            url,
            covered.ok_or_else(|| format!("\"{url}\" is not a URL of the form http://host/path?query"))?,
        );
    }
    for tag in &request.tags {
        let tags = Tags::parse(tag.as_bytes());
        if tags.is_empty() {
            return Err(format!("\"{tag}\" is not a valid tag"));
        }
        add("tag", tag, PurgeTarget::Tags(tags));
    }
    for pattern in &request.wildcards {
        // Administrators may purge any host: without a host, the pattern applies to all.
        let covered = PurgeTarget::wildcard(pattern.as_bytes(), b"*");
        add("wildcard", pattern, covered.map_err(|why| format!("wildcard: {why}"))?);
    }
    for pattern in &request.regexes {
        let covered = PurgeTarget::regex(None, pattern.as_bytes());
        add("regex", pattern, covered.map_err(|why| format!("regex {pattern}: {why}"))?);
    }
    for host in &request.hosts {
        let covered = PurgeTarget::url(host.as_bytes());
        match covered {
            Some(PurgeTarget::Url { host: name, target }) if *target == *b"/" => {
                add("host", host, PurgeTarget::Host(name));
            }
            _ => return Err(format!("\"{host}\" is not a valid host")),
        }
    }
    if request.all {
        add("all", "", PurgeTarget::All);
    }
    for order in &orders {
        purge::check(&order.command.what).map_err(|why| format!("{} {}: {why}", order.kind, order.what))?;
    }
    Ok(orders)
}

/// Waker that resumes a thread blocked in [`block_on`].
struct ThreadWaker(Thread);

impl Wake for ThreadWaker {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Runs a future to completion on the calling thread.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    let waker = Waker::from(Arc::new(ThreadWaker(thread::current())));
    let mut cx = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut cx) {
            Poll::Ready(value) => return value,
            Poll::Pending => thread::park(),
        }
    }
}
