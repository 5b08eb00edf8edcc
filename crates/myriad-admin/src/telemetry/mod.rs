//! Request tracing (OpenTelemetry) with the directives of nginx's module `ngx_otel_module`.
//!
//! | file | content |
//! |---|---|
//! | `directives`, `block`, `settings` | directives, the `otel_exporter` block, settings of a level |
//! | `compile` | compilation of a level's settings |
//! | `tracing_rules` | compiled tracing settings, trace context of a request |
//! | `location_tracing` | sampling decision when a request enters a location; export when it is finished |
//! | `span` | span of a finished request |
//! | `child_spans` | child spans: attempts at origins, waits |
//! | `trace` | encoding of spans and batches as OTLP messages |
//! | `exporter` | transmission of spans to a collector |
//! | `ids` | generation of trace and span identifiers |
//! | `variables` | `$otel_*` |

mod block;
mod child_spans;
mod compile;
mod directives;
mod exporter;
mod ids;
mod location_tracing;
mod settings;
mod span;
pub mod trace;
mod tracing_rules;
mod variables;

pub use exporter::finish;

use myriad_conf::settings::Settings;
use myriad_exchange::feature::Feature;

/// Registration of the directives and variables of request tracing.
pub const FEATURE: Feature = Feature::new("otel", directives::ROWS)
    .examining_http(compile::check)
    .compiled_by(compile::compile)
    .with_variables(variables::VARIABLES);

/// Returns whether requests to the origins of a level carry the trace context of this server (`otel_trace_context
/// inject` or `propagate`).
pub fn injects(settings: &Settings) -> bool {
    settings.feature::<settings::OtelSettings>().context.injects
}
