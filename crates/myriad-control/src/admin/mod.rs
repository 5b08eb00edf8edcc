//! What administrators see of the running site and change in it, whichever way they ask.
//!
//! Everything here may wait for a disk and takes as long as there are pages: it runs on threads of those who ask, never
//! on a worker's, and holds no lock for longer than a look-up would.

mod administrator;
mod answer;
mod describe;
mod list;
mod memory;
mod purge;
mod show;
mod stats;
#[cfg(test)]
mod tests;
mod upstreams;

pub use administrator::Administrator;
pub(crate) use administrator::{End, Tell};
pub(crate) use describe::{Found, coding_of};
pub(crate) use memory::Memory;
pub(crate) use purge::block_on;
pub(crate) use show::of_url;
pub(crate) use stats::{report as zone_report, request_counts};
pub(crate) use upstreams::report as peer_report;
