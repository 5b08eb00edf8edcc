//! `vhost_traffic_status_*`: counts of traffic by server, filter, origin and cache zone, in the format of
//! nginx-module-vts, so that existing readers of its pages work.
//!
//! | file | content |
//! |---|---|
//! | `directives`, `settings` | directive table; settings of a level |
//! | `count` | counting of finished requests ([`myriad_exchange::traffic`]) |
//! | `handler` | request handler of the pages |
//! | `display_settings` | output settings of a location |
//! | `report` | data of the pages: the counts of all workers at one moment |
//! | `json`, `prometheus`, `page.html` | the pages |
//! | `control` | `…/control?cmd=…`: returning, resetting and deleting parts of the counts |
//! | `variables` | `$vts_*` |

mod control;
mod count;
mod directives;
mod display_settings;
mod handler;
mod json;
mod prometheus;
mod report;
mod settings;
mod variables;

use myriad_exchange::feature::Feature;

/// Registration of the directives and variables of nginx-module-vts.
pub const FEATURE: Feature = Feature::new("vhost_traffic_status", directives::ROWS)
    .compiled_by(count::compile)
    .with_variables(variables::VARIABLES);
