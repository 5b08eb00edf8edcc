//! `geoip_country`, `geoip_city`, `geoip_org`: databases in the former format (`.dat`) of MaxMind, as nginx's module reads them. It is no
//! longer published by MaxMind; Debian's package `geoip-database` has one, and others make them.
//!
//! | file | what |
//! |---|---|
//! | `directives`, `settings` | the rows; what they say |
//! | `compile` | the databases opened |
//! | `database` | an address looked up in the bytes of a file |
//! | `countries.list` | the countries by their number in the format: code, code of three letters, continent, name |
//! | `variables` | `$geoip_*` |

mod compile;
pub mod database;
mod directives;
mod settings;
#[cfg(test)]
mod tests;
mod variables;

use myriad_exchange::feature::Feature;

/// The feature, for the list of them.
pub const FEATURE: Feature = Feature::new("geoip", directives::ROWS)
    .compiled_by(compile::compile)
    .with_variables(variables::VARIABLES);
