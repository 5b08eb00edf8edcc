//! Transmission of successive batches.
//!
//! ```text
//! batch -> sent -> next batch
//!       -> unavailable (no connection, timeout, "unavailable") -> logged once -> delay of 1 s, 2 s, ... 30 s -> retry
//!       -> rejected -> logged, dropped
//! ```

use std::time::Duration;

use crate::trace::Resource;
use myriad_log::{ErrorLog, Level};

use super::queue::Queue;
use super::target::{Failure, Target};
use super::{grpc, http};

/// Delay after the first failure. It doubles after each further failure.
const FIRST_REST: Duration = Duration::from_secs(1);
const LONGEST_REST: Duration = Duration::from_secs(30);

/// State shared by an exporter and its thread.
pub(super) struct Shared {
    pub queue: Queue,
    pub target: Target,
    pub resource: Resource,
}

/// Client that sends batches.
enum Way {
    Grpc(Box<grpc::Client>),
    Http(http::Client),
}

/// Sends the spans until the queue is closed and empty.
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
                // The configuration was dropped: an unavailable collector is not retried.
                return teller.give_up(batch.len() + shared.queue.left());
            }
            rest = (rest * 2).min(LONGEST_REST);
        }
        shared.queue.done();
    }
}

/// Log messages about spans that were not accepted.
struct Teller<'a> {
    log: &'a ErrorLog,
    to: String,
    /// Set if the unavailability of the collector has been logged.
    away: bool,
    /// Number of dropped spans that have not been logged.
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
                    "OTel export failure: {to} is unavailable ({why}); spans are queued, and dropped if the queue is full"
                );
                self.log.write(Level::Error, None, text);
            }
            Err(Failure::Refused(why)) => {
                let text = format_args!("OTel export failure: {to} rejected {count} spans ({why})");
                self.log.write(Level::Error, None, text);
            }
            Ok(rejected) => {
                if let Some((count, why)) = rejected {
                    let text = format_args!("OTel: {to} rejected {count} spans of a batch ({why})");
                    self.log.write(Level::Warn, None, text);
                }
                if std::mem::take(&mut self.away) {
                    self.log.write(Level::Notice, None, format_args!("OTel: {to} is available again"));
                }
                let dropped = std::mem::take(&mut self.dropped);
                if dropped > 0 {
                    let text = format_args!(
                        "OTel dropped records: {dropped}; batch_size and batch_count of otel_exporter limit the queue"
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
            format_args!("OTel dropped records: {dropped}; {} is unavailable", self.to),
        );
    }
}
