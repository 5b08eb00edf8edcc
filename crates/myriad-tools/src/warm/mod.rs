//! `myriad warm`: sources of pages ([`Sitemap`], [`RequestCounter`]), and the pauses between requests ([`WarmPace`]).
//!
//! Except for `command`, this module only processes texts. The contents of sitemaps and logs are untrusted, so all
//! sizes are limited, and invalid parts are skipped.

pub mod command;
mod pace;
mod request_counter;
mod sitemap;

pub use pace::{PhpBudget, WarmPace};
pub use request_counter::RequestCounter;
pub use sitemap::{Sitemap, sitemaps_of_robots};
