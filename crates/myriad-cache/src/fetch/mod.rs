//! Fetch of a page. It is independent of any connection, and continues after the client that started it has
//! disconnected.
//!
//! ```text
//! begin -> run: waits for a position among the zone's fetches, sends the request to the origin
//!           -> judge: may the response be stored? -> store: the body, teed to the zone and its waiters
//!                \-- confirmed, refused or failed: the waiters and the client are notified
//! ```

mod abort;
mod begin;
mod job;
mod no_response;
mod report;
mod run;
mod store;
mod store_decision;

pub(crate) use begin::{start, start_early, start_in_background};
pub(crate) use no_response::{NoResponse, failure, is_of_the_origin};
pub(crate) use report::FetchReport;
