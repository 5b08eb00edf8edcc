//! Subrequests: exchanges within an exchange, whose responses go to the parent and never directly to the client.
//!
//! ```text
//! parent --child(uri, args)--> server rewrite -> location -> rewrite -> content -> body filters
//!    ^                                                                                  |
//!    '------------------------ SubrequestResponse: head, and a body to be pulled <------'
//! ```
//!
//! A child runs the phases of a request, except conditions, ranges, `add_header`, and the access checks that apply only
//! to a client's request. It is owned by the future or body that its parent polls, so it is cancelled together with its
//! parent.

mod body;
mod child;
mod execution;
mod follow_up;
mod response;

pub use execution::{SubrequestFuture, begin, execute, execute_in_place, target};
pub use follow_up::follow;
pub use response::SubrequestResponse;
