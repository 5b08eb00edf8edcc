//! `geoip_country`, `geoip_city`, `geoip_org`: databases in the legacy format (`.dat`) of MaxMind, as supported by the
//! nginx module. MaxMind no longer publishes this format; Debian's package `geoip-database` contains such a database,
//! and third parties create others.
//!
//! | file | contents |
//! |---|---|
//! | `directives`, `settings` | rows and settings of the directives |
//! | `compile` | opening of the databases |
//! | `database` | lookup of an address in the bytes of a file |
//! | `countries.list` | countries by their number in the format: code, three-letter code, continent, name |
//! | `variables` | `$geoip_*` |

mod compile;
pub mod database;
mod directives;
mod settings;
mod variables;

use myriad_exchange::feature::Feature;

/// Registration of this feature.
pub const FEATURE: Feature = Feature::new("geoip", directives::ROWS)
    .compiled_by(compile::compile)
    .with_variables(variables::VARIABLES);
