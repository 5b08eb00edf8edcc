//! `dashboard`: page with the state of the server, and below it the API that the page reads.
//!
//! ```text
//! GET …/          the page, one file with its style and script (source: dashboard/ of the repository)
//! GET …/PATH      the response of `api` at PATH; read-only
//! ```
//!
//! The page sends purges to `api/purge` below it, which works if that path is a location with `api write=on`.

mod directives;
mod handler;
mod page;

use myriad_exchange::feature::Feature;

/// Registration of the directive `dashboard`.
pub const FEATURE: Feature = Feature::new("dashboard", directives::ROWS);
