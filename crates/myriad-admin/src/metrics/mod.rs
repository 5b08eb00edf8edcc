//! `metrics`: all counts, in the format of Prometheus.
//!
//! | file | content |
//! |---|---|
//! | `directives`, `handler` | directive; access control and content negotiation |
//! | `text` | both formats: OpenMetrics 1.0, and Prometheus text 0.0.4 |
//! | `site`, `memory` | metrics of all requests; of the memory of the process |
//! | `cluster` | metrics of the cluster |
//! | `zones`, `origins` | metrics of servers, locations and cache zones; of upstream servers |

mod cluster;
mod directives;
mod handler;
mod memory;
mod origins;
mod site;
mod text;
mod zones;

use myriad_exchange::feature::Feature;

pub use handler::metrics_page;
pub use text::MetricsFormat;

/// Registration of the directive `metrics`.
pub const FEATURE: Feature = Feature::new("control", directives::ROWS);
