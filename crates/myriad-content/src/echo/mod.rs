//! `echo*`: configured texts, delays, subrequests and redirects in sequence (the echo module).
//!
//! | file | content |
//! |---|---|
//! | `directives`, `settings` | directives and their settings |
//! | `command` | compiled commands, evaluation of their texts |
//! | `handler` | content handler; redirects |
//! | `body` | response body with delays and subrequests |
//! | `variables` | `$echo_*` |

mod body;
mod command;
mod directives;
mod handler;
mod settings;
mod variables;

use myriad_exchange::feature::Feature;

/// Registration of the feature `echo`.
pub const FEATURE: Feature = Feature::new("echo", directives::ROWS).with_variables(variables::VARIABLES);
