//! Transmission of spans to a collector.
//!
//! ```text
//! finished request -> bounded queue -> separate thread: a batch -> collector
//!                       full: the span is dropped and counted      | unavailable: the batch waits and is retried
//! ```
//!
//! | file | content |
//! |---|---|
//! | `queue` | waiting spans |
//! | `target` | destination; reasons of failures |
//! | `thread` | transmission of successive batches; log messages about failures |
//! | `grpc`, `http` | transmission of a batch by OTLP over gRPC, over HTTP |
//! | `collector_stream`, `trusted_authorities` | connection; trusted certificate authorities |

mod collector_stream;
mod grpc;
mod http;
mod queue;
mod target;
mod thread;
mod trusted_authorities;

use std::path::Path;
use std::sync::{Arc, Mutex, Once, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::telemetry::trace::Resource;
use myriad_conf::Diagnostic;
use myriad_conf::model::HttpConf;
use myriad_log::{ErrorLog, LogLevel};

use crate::telemetry::settings::{ExporterConf, OtelSettings};
use queue::SpanQueue;
use target::CollectorTarget;
use thread::Shared;
use trusted_authorities::TrustedAuthorities;

/// Exporter of the spans of a configuration. Its thread starts with the first span, and exits once the configuration is
/// dropped and its remaining spans have been sent, or dropped because the collector is unavailable.
pub(crate) struct Exporter {
    shared: Arc<Shared>,
    started: Once,
    /// Errors of the files that the exporter reads (`trusted_certificate`), until they are reported.
    pub errors: Mutex<Vec<Diagnostic>>,
}

/// Exporter threads, each with the state that it shares with its exporter. Finished threads are removed when another
/// starts.
static THREADS: Mutex<Vec<(Arc<Shared>, JoinHandle<()>)>> = Mutex::new(Vec::new());

impl Exporter {
    /// Returns the exporter of a configuration; `None` without an `otel_exporter` block. Relative file names are
    /// resolved against `folder`. Errors of files are stored in `errors`; the configuration must be rejected then.
    pub(crate) fn of(http: &HttpConf, folder: &Path) -> Option<Self> {
        let own = http.settings.feature::<OtelSettings>();
        let conf = own.exporter.as_ref()?;
        let (trust, errors) = match trusted(conf, folder) {
            Ok(trust) => (trust, Vec::new()),
            Err(error) => (None, vec![error]),
        };
        let target =
            CollectorTarget { endpoint: conf.endpoint.clone(), headers: conf.headers.clone(), trust };
        let queue =
            SpanQueue::new(conf.batch_size, conf.batch_count, Duration::from_millis(conf.interval_ms));
        let shared = Arc::new(Shared { queue, target, resource: resource(own) });
        Some(Self { shared, started: Once::new(), errors: Mutex::new(errors) })
    }

    /// Queues the encoded spans of a request; drops and counts those for which the queue has no space. The first call
    /// starts the exporter thread, which writes its messages to `log`. Blocks only while another thread holds the lock
    /// of the queue.
    pub(crate) fn send(&self, spans: impl IntoIterator<Item = Vec<u8>>, log: &ErrorLog) {
        self.shared.queue.push(spans);
        self.started.call_once(|| {
            let (shared, own_log) = (Arc::clone(&self.shared), log.clone());
            match std::thread::Builder::new()
                .name("otel".to_owned())
                .spawn(move || thread::run(&shared, &own_log))
            {
                Ok(thread) => {
                    let mut threads = THREADS.lock().unwrap_or_else(PoisonError::into_inner);
                    threads.retain(|(_, thread)| !thread.is_finished());
                    threads.push((Arc::clone(&self.shared), thread));
                }
                Err(error) => log.write(
                    LogLevel::Error,
                    None,
                    format_args!("cannot start the thread that sends spans ({error}); no spans are sent"),
                ),
            }
        });
    }
}

impl Drop for Exporter {
    fn drop(&mut self) {
        self.shared.queue.close();
    }
}

/// Closes the queues of all exporters, and waits for at most `timeout` until their threads have sent the waiting spans
/// or dropped those of unavailable collectors. Called before the process exits.
pub fn finish(timeout: Duration) {
    let end = Instant::now() + timeout;
    let threads = std::mem::take(&mut *THREADS.lock().unwrap_or_else(PoisonError::into_inner));
    for (shared, _) in &threads {
        shared.queue.close();
    }
    for (_, thread) in threads {
        while !thread.is_finished() && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

fn trusted(conf: &ExporterConf, folder: &Path) -> Result<Option<TrustedAuthorities>, Diagnostic> {
    if !conf.endpoint.secure {
        return Ok(None);
    }
    let span = conf.trusted.as_ref().map_or(conf.span, |file| file.span);
    TrustedAuthorities::of(conf.trusted.as_ref(), folder).map(Some).map_err(|why| {
        Diagnostic::error(span, why)
            .help("specify a PEM file of CA certificates with trusted_certificate; the user of the workers must be able to read it")
    })
}

fn resource(own: &OtelSettings) -> Resource {
    let name = own.service_name.as_ref().and_then(|name| name.as_str()).unwrap_or("unknown_service:myriad");
    let mut all: Vec<(&str, &str)> = Vec::new();
    let others = own.resource.iter().filter_map(|(name, value)| Some((name.as_str(), value.as_str()?)));
    for (key, value) in others.chain([("service.name", name)]) {
        // `otel_service_name` takes precedence over an attribute with that name.
        let is_default = key == "service.name" && own.service_name.is_none();
        match all.iter_mut().find(|(known, _)| *known == key) {
            Some(_) if is_default && value == name => {}
            Some(known) => known.1 = value,
            None => all.push((key, value)),
        }
    }
    Resource::new(all.into_iter(), env!("CARGO_PKG_VERSION"))
}
