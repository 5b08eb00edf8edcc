//! Purges: by requests, by what origins answer, by administrators.

mod access;
mod answer;
pub mod foreign_page;
pub mod own_host;
mod place;
pub mod request;
mod run;
mod style;
#[cfg(test)]
pub mod testing;
#[cfg(test)]
mod tests;

pub use place::{PurgeBy, PurgePlace};
pub use run::{Outcome, Refused};
pub use run::{check, invalidate, run, run_all, run_in, shorten, tend};
pub use style::keep_style;
