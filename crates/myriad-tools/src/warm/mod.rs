//! Sources and pace of cache warming: [`Sitemap`] and [`RequestCounter`] list pages, [`WarmPace`] computes pauses.
//!
//! The crate converts texts to lists; the caller reads files and requests pages. The contents of sitemaps and logs are
//! untrusted, so all sizes are limited, and invalid parts are skipped without an error.

pub mod command;
mod pace;
mod request_counter;
mod sitemap;

pub use pace::{PhpBudget, WarmPace};
pub use request_counter::RequestCounter;
pub use sitemap::{Sitemap, sitemaps_of_robots};
