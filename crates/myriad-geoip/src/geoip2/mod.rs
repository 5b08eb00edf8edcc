//! `geoip2 FILE { ... }`: variables that a database in MaxMind's format computes of an address, as by the module geoip2.
//!
//! | file | what |
//! |---|---|
//! | `directives` | the rows, and the lines of a block read |
//! | `settings` | what they say |
//! | `tables` | the databases opened, and what their variables are asked with |
//! | `database` | a value looked up by its path, and its text |
//!
//! The database is in memory, where the module maps its file: a file that shrinks under a map ends the process.

mod database;
mod directives;
mod settings;
mod tables;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

use myriad_exchange::feature::Feature;

/// The feature, for the list of them.
pub const FEATURE: Feature = Feature::new("geoip2", directives::ROWS).with_tables(tables::tables);
