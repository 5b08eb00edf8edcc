//! Fetch of a page in a separate task, which does not depend on the connection of the client whose request started it.
//!
//! ```text
//! begin -> run: searches for the page in the cluster (cluster_page), or
//!           waits for a slot among the zone's fetches, and sends the request to the origin
//!           -> store_decision: may the response be stored? -> store: the body, to the zone and the waiters
//!                \-- confirmed, refused or failed: the waiters and the client are notified
//! verify: fetches a page without the visitor's values, and searches the response for them; it is not stored
//! ```

mod abort;
mod begin;
mod cluster_page;
mod job;
mod no_response;
mod report;
mod run;
mod store;
mod store_decision;
mod verify;

pub(crate) use begin::{start, start_early, start_in_background};
pub(crate) use no_response::{NoResponse, failure, is_of_the_origin};
pub(crate) use report::FetchReport;
