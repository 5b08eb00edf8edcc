//! `dashboard`: a page that shows what the server does, and below it the API that the page reads.
//!
//! ```text
//! GET …/          the page, one file with its style and script (its source: dashboard/ of the repository)
//! GET …/PATH      what `api` answers at PATH; nothing is changed here
//! ```
//!
//! The page sends purges to `api/purge` below it, where a location of `api write=on` may stand.

mod directives;
mod handler;
mod page;

use myriad_exchange::feature::Feature;

/// The feature, for the list of them.
pub const FEATURE: Feature = Feature::new("dashboard", directives::ROWS);
