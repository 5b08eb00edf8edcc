//! `metrics`: all counts, as Prometheus and what reads its form wants them.
//!
//! | file | what |
//! |---|---|
//! | `directives`, `handler` | the directive; who may ask, in which form, and the answer |
//! | `text` | the two forms: OpenMetrics 1.0, and Prometheus's text 0.0.4 |
//! | `site`, `zones`, `origins` | the metrics: of all requests; of servers, locations and cache zones; of origins |

mod directives;
mod handler;
mod memory;
mod origins;
mod site;
#[cfg(test)]
mod tests;
mod text;
mod zones;

use myriad_exchange::feature::Feature;

/// The feature, for the list of them.
pub const FEATURE: Feature = Feature::new("control", directives::ROWS);
