//! `geoip2 FILE { ... }`: variables that are looked up by address in a database in MaxMind's format, as in the module
//! geoip2.
//!
//! | file | contents |
//! |---|---|
//! | `directives` | directives, and parsers of their arguments and of the lines of a block |
//! | `settings` | settings of the directives |
//! | `tables` | opening of the databases; lookup of the variables |
//! | `database` | lookup of a value by its path, and its text |
//!
//! The database is read into memory. The module maps its file instead; if a mapped file is truncated, the process
//! crashes.

pub mod database;
mod directives;
mod settings;
mod tables;

use myriad_exchange::feature::Feature;

/// Registration of this feature.
pub const FEATURE: Feature = Feature::new("geoip2", directives::ROWS).with_tables(tables::tables);
