//! Subrequests: exchanges within an exchange, whose answers go to whoever asked and never to the client by themselves.
//!
//! ```text
//! parent --child(uri, args)--> server rewrite -> location -> rewrite -> content -> body filters
//!    ^                                                                                  |
//!    '------------------------ Subanswer: head, and a body to be pulled <---------------'
//! ```
//!
//! A child runs the phases of a request of its own, but for access (its parent was judged), conditions, ranges and
//! `add_header`. It lives in the future or the body that its parent waits for, so it ends with its parent.

mod ask;
mod body;
mod child;
mod follow;
mod subanswer;

pub use ask::{Asked, ask, ask_in_place, begin, target};
pub use follow::follow;
pub use subanswer::Subanswer;
