//! Requests traced (OpenTelemetry), in the words of nginx's module `ngx_otel_module`.
//!
//! | file | what |
//! |---|---|
//! | `directives`, `block`, `settings` | the rows, the lines of `otel_exporter`, what a level says |
//! | `compile` | a level's settings made into what its requests need |
//! | `place` | what a place says, and what a request is in traces |
//! | `at_place` | a request that comes to a place, and one that is over |
//! | `span` | what is told of a request that is over |
//! | `parts` | what it was made of: tries of origins, waits |
//! | `exporter` | spans on their way to a collector |
//! | `numbers` | numbers of traces and spans |
//! | `variables` | `$otel_*` |

#![forbid(unsafe_code)]

mod at_place;
mod block;
mod compile;
mod directives;
mod exporter;
mod numbers;
mod parts;
mod place;
mod settings;
mod span;
mod variables;

pub use exporter::finish;

use myriad_conf::settings::Settings;
use myriad_exchange::feature::Feature;

/// The feature, for the list of them.
pub const FEATURE: Feature = Feature::new("otel", directives::ROWS)
    .examining_http(compile::examine)
    .compiled_by(compile::compile)
    .with_variables(variables::VARIABLES);

/// Whether the origins of a level are told who asks (`otel_trace_context inject` or `propagate`).
pub fn injects(settings: &Settings) -> bool {
    settings.feature::<settings::OtelSettings>().context.injects
}
