//! Request tracing (OpenTelemetry) with the directives of nginx's module `ngx_otel_module`.
//!
//! | file | content |
//! |---|---|
//! | `directives`, `block`, `settings` | directives, the `otel_exporter` block, settings of a level |
//! | `compile` | compilation of a level's settings |
//! | `tracing_rules` | compiled settings of a place, trace context of a request |
//! | `location_tracing` | start and completion of a request in a place |
//! | `span` | span of a finished request |
//! | `child_spans` | spans of its parts: attempts at origins, waits |
//! | `exporter` | transmission of spans to a collector |
//! | `ids` | identifiers of traces and spans |
//! | `variables` | `$otel_*` |

#![forbid(unsafe_code)]

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

/// Entry for the list of features.
pub const FEATURE: Feature = Feature::new("otel", directives::ROWS)
    .examining_http(compile::check)
    .compiled_by(compile::compile)
    .with_variables(variables::VARIABLES);

/// Returns whether the origins of a level receive the trace context (`otel_trace_context inject` or `propagate`).
pub fn injects(settings: &Settings) -> bool {
    settings.feature::<settings::OtelSettings>().context.injects
}
