//! Exporter thread, which sends the batches in sequence.
//!
//! ```text
//! batch -> sent -> next batch
//!       -> unavailable (no connection, timeout, "unavailable") -> logged once -> delay of 1 s, 2 s, ... 30 s -> retry
//!       -> rejected -> logged, dropped
//! ```

use std::time::Duration;

use crate::telemetry::trace::Resource;
use myriad_log::{ErrorLog, LogLevel};

use super::queue::SpanQueue;
use super::target::{CollectorTarget, ExportFailure};
use super::{grpc, http};

/// Delay before a batch of spans is sent to the collector for the second time. It doubles after each further failure,
/// up to [`LONGEST_REST`].
const FIRST_REST: Duration = Duration::from_secs(1);
/// Maximum delay between two attempts to send a batch.
const LONGEST_REST: Duration = Duration::from_secs(30);

/// State shared by an exporter of spans and its thread.
pub(super) struct Shared {
    pub queue: SpanQueue,
    pub target: CollectorTarget,
    pub resource: Resource,
}

/// Client of the collector, for the protocol of the endpoint.
enum ExportClient {
    Grpc(Box<grpc::GrpcExportClient>),
    Http(http::HttpExportClient),
}

/// Body of the exporter thread. Sends batches until the queue is closed and empty, or is closed while the collector is
/// unavailable.
pub(super) fn run(shared: &Shared, log: &ErrorLog) {
    let endpoint = &shared.target.endpoint;
    let to = format!("{}:{}", endpoint.host, endpoint.port);
    let mut client = match endpoint.path {
        Some(_) => ExportClient::Http(http::HttpExportClient::new(&shared.target)),
        None => ExportClient::Grpc(Box::default()),
    };
    let mut export_log = ExportLog { log, collector: to, is_unavailable: false, dropped: 0 };
    while let Some(batch) = shared.queue.next() {
        let message = shared.resource.request(&batch);
        let mut rest = FIRST_REST;
        loop {
            let outcome = match &mut client {
                ExportClient::Grpc(client) => client.send(&shared.target, &message),
                ExportClient::Http(client) => client.send(&message),
            };
            let is_away = matches!(outcome, Err(ExportFailure::Unavailable(_)));
            export_log.log_outcome(outcome, batch.len(), shared.queue.take_dropped());
            if !is_away {
                break;
            }
            if shared.queue.sleep_unless_closed(rest) {
                // The configuration was dropped or the process exits: an unavailable collector is not retried.
                return export_log.log_abandoned(batch.len() + shared.queue.waiting_spans());
            }
            rest = (rest * 2).min(LONGEST_REST);
        }
        shared.queue.batch_done();
    }
}

/// Writer of log messages about the results of batches.
struct ExportLog<'a> {
    log: &'a ErrorLog,
    collector: String,
    /// True while the collector is unavailable, after this was logged once.
    is_unavailable: bool,
    /// Number of dropped spans that have not been logged yet.
    dropped: u64,
}

impl ExportLog<'_> {
    fn log_outcome(
        &mut self,
        outcome: Result<Option<(u64, String)>, ExportFailure>,
        count: usize,
        dropped: u64,
    ) {
        let to = &self.collector;
        self.dropped += dropped;
        let is_unavailable = matches!(outcome, Err(ExportFailure::Unavailable(_)));
        if self.is_unavailable && !is_unavailable {
            self.is_unavailable = false;
            self.log.write(LogLevel::Notice, None, format_args!("OTel: {to} is available again"));
        }
        match outcome {
            Err(ExportFailure::Unavailable(why)) if self.is_unavailable => drop(why),
            Err(ExportFailure::Unavailable(why)) => {
                self.is_unavailable = true;
                let text = format_args!(
                    "OTel export failure: {to} is unavailable ({why}); spans are queued, and dropped if the queue is full"
                );
                self.log.write(LogLevel::Error, None, text);
            }
            Err(ExportFailure::Rejected(why)) => {
                let text = format_args!("OTel export failure: {to} rejected {count} spans ({why})");
                self.log.write(LogLevel::Error, None, text);
            }
            Ok(rejected) => {
                if let Some((count, why)) = rejected {
                    let text = format_args!("OTel: {to} rejected {count} spans of a batch ({why})");
                    self.log.write(LogLevel::Warn, None, text);
                }
                let dropped = std::mem::take(&mut self.dropped);
                if dropped > 0 {
                    let text = format_args!(
                        "OTel dropped records: {dropped}; batch_size and batch_count of otel_exporter, and a size of 16 MB, limit the queue"
                    );
                    self.log.write(LogLevel::Notice, None, text);
                }
            }
        }
    }

    fn log_abandoned(&self, count: usize) {
        let dropped = self.dropped + count as u64;
        self.log.write(
            LogLevel::Notice,
            None,
            format_args!("OTel dropped records: {dropped}; {} is unavailable", self.collector),
        );
    }
}
