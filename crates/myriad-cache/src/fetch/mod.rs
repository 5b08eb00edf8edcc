//! The fetch of a page: it belongs to nobody's connection, and goes on when the visitor who caused it has gone.
//!
//! ```text
//! begin -> run: waits for its place among the zone's fetches, asks the origin
//!           -> judge: may the answer be stored? -> store: the body, teed to the zone and its waiters
//!                \-- confirmed, refused or failed: the waiters and the visitor are told
//! ```

mod begin;
mod end;
mod job;
mod judge;
mod no_answer;
mod report;
mod run;
mod store;

pub(crate) use begin::{start, start_behind, start_early};
pub(crate) use no_answer::{NoAnswer, failure, is_of_the_origin};
pub(crate) use report::Report;
