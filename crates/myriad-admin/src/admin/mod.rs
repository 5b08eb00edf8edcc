//! Inspection and administration of the running site, used by the control socket and the HTTP API.
//!
//! All functions may wait for a disk and take time proportional to the number of pages. They run on threads of the
//! interface, never on a worker thread, and do not hold a lock for longer than a lookup.

mod administrator;
mod answer;
mod cluster;
mod describe;
mod image;
mod list;
mod memory;
mod purge;
mod show;
mod stats;
mod upstreams;

pub use administrator::Administrator;
pub(crate) use administrator::{ReplyResult, ReplySink};
pub(crate) use describe::{FoundPage, coding_of};
pub(crate) use memory::MemorySources;
pub(crate) use purge::block_on;
pub(crate) use show::pages_of_url;
pub(crate) use stats::{report as zone_report, request_counts};
pub(crate) use upstreams::report as peer_report;
