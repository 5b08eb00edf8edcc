//! Tests of the feature crates with complete configurations, in one process. Clients need no sockets.
//!
//! The crates below `myriad-serve` cannot use its test sites. Each module contains the tests of one crate that need such a
//! site.

mod access;
mod admin;
mod cache;
mod content;
mod exchange;
mod origin;
mod output;
mod telemetry;
