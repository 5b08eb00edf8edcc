//! Purges: by requests, by what origins answer, by administrators.

mod access;
mod answer;
pub(crate) mod foreign_page;
pub(crate) mod own_host;
mod place;
pub(crate) mod request;
mod run;
mod style;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;

pub(crate) use place::{PurgeBy, PurgePlace};
pub use run::{Outcome, Refused};
pub(crate) use run::{check, invalidate, run, run_all, run_in, shorten, tend};
pub(crate) use style::keep_style;
