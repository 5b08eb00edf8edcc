//! `metrics`: all counts, in the format of Prometheus and compatible readers.
//!
//! | file | content |
//! |---|---|
//! | `directives`, `handler` | directive table; access control, content negotiation, and the response |
//! | `text` | both formats: OpenMetrics 1.0, and Prometheus text 0.0.4 |
//! | `site`, `zones`, `origins` | metrics of all requests; of servers, locations and cache zones; of origins |

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

/// Feature entry for the list of features.
pub const FEATURE: Feature = Feature::new("control", directives::ROWS);
