//! Batches sent one after another.
//!
//! ```text
//! batch -> sent -> next batch
//!       -> away (no connection, time-out, "unavailable") -> told once -> waits 1 s, 2 s, ... 30 s -> sent again
//!       -> refused for good -> told, dropped
//! ```

use std::time::Duration;

use myriad_log::{ErrorLog, Level};
use myriad_trace::Resource;

use super::queue::Queue;
use super::target::{Failure, Target};
use super::{grpc, http};

/// How long is waited after the first failure; twice as long after each that follows.
const FIRST_REST: Duration = Duration::from_secs(1);
const LONGEST_REST: Duration = Duration::from_secs(30);

/// What the thread has of an exporter.
pub(super) struct Shared {
    pub queue: Queue,
    pub target: Target,
    pub resource: Resource,
}

/// What sends batches.
enum Way {
    Grpc(Box<grpc::Client>),
    Http(http::Client),
}

/// Sends what waits until nothing more will come.
pub(super) fn run(shared: &Shared, log: &ErrorLog) {
    let endpoint = &shared.target.endpoint;
    let to = format!("{}:{}", endpoint.host, endpoint.port);
    let mut way = match endpoint.path {
        Some(_) => Way::Http(http::Client::new(&shared.target)),
        None => Way::Grpc(Box::default()),
    };
    let mut teller = Teller { log, to, away: false, dropped: 0 };
    while let Some(batch) = shared.queue.next() {
        let message = shared.resource.request(&batch);
        let mut rest = FIRST_REST;
        loop {
            let outcome = match &mut way {
                Way::Grpc(client) => client.send(&shared.target, &message),
                Way::Http(client) => client.send(&message),
            };
            let is_away = matches!(outcome, Err(Failure::Away(_)));
            teller.tell(outcome, batch.len(), shared.queue.dropped());
            if !is_away {
                break;
            }
            if shared.queue.rest(rest) {
                // The configuration is gone: nobody waits for a collector that is away.
                return teller.give_up(batch.len() + shared.queue.left());
            }
            rest = (rest * 2).min(LONGEST_REST);
        }
        shared.queue.done();
    }
}

/// What is told of spans that are not taken.
struct Teller<'a> {
    log: &'a ErrorLog,
    to: String,
    /// Whether it has been told that the collector is away.
    away: bool,
    /// Spans dropped that nobody was told of.
    dropped: u64,
}

impl Teller<'_> {
    fn tell(&mut self, outcome: Result<Option<(u64, String)>, Failure>, count: usize, dropped: u64) {
        let to = &self.to;
        self.dropped += dropped;
        match outcome {
            Err(Failure::Away(why)) if self.away => drop(why),
            Err(Failure::Away(why)) => {
                self.away = true;
                let text = format_args!(
                    "OTel export failure: {to} takes no spans ({why}); some wait, the rest is dropped"
                );
                self.log.write(Level::Error, None, text);
            }
            Err(Failure::Refused(why)) => {
                let text = format_args!("OTel export failure: {to} has refused {count} spans ({why})");
                self.log.write(Level::Error, None, text);
            }
            Ok(rejected) => {
                if let Some((count, why)) = rejected {
                    let text = format_args!("OTel: {to} has refused {count} of the spans ({why})");
                    self.log.write(Level::Warn, None, text);
                }
                if std::mem::take(&mut self.away) {
                    self.log.write(Level::Notice, None, format_args!("OTel: {to} takes spans again"));
                }
                let dropped = std::mem::take(&mut self.dropped);
                if dropped > 0 {
                    let text = format_args!(
                        "OTel dropped records: {dropped}; batch_size and batch_count of otel_exporter say how many may wait"
                    );
                    self.log.write(Level::Notice, None, text);
                }
            }
        }
    }

    fn give_up(&self, count: usize) {
        let dropped = self.dropped + count as u64;
        self.log.write(
            Level::Notice,
            None,
            format_args!("OTel dropped records: {dropped}; {} is away", self.to),
        );
    }
}
