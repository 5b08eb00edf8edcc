//! `vhost_traffic_status_*`: counts of traffic by server, filter, origin and cache zone, in the words of nginx-module-vts, so that what
//! reads that module's pages reads these.
//!
//! | file | what |
//! |---|---|
//! | `directives`, `settings` | the rows; what a level says |
//! | `count` | a finished request counted: what it adds to ([`myriad_exchange::traffic`]) |
//! | `handler` | which page a request asks for |
//! | `shown` | how a place shows the counts |
//! | `report` | what the pages are made of: the counts of all workers at one moment |
//! | `json`, `prometheus`, `page.html` | the pages |
//! | `control` | `…/control?cmd=…`: a part of the counts shown, set to nothing, forgotten |
//! | `variables` | `$vts_*` |

mod control;
mod count;
mod directives;
mod handler;
mod json;
mod prometheus;
mod report;
mod settings;
mod shown;
#[cfg(test)]
mod tests;
mod variables;

use myriad_exchange::feature::Feature;

/// The feature, for the list of them.
pub const FEATURE: Feature = Feature::new("vhost_traffic_status", directives::ROWS)
    .compiled_by(count::compile)
    .with_variables(variables::VARIABLES);
