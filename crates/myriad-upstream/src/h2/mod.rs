//! HTTP/2 with origins (RFC 9113): one connection carries many requests of a worker.
//!
//! ```text
//!   fetch -> pool: a connection with room, or one that is dialed for all who wait -> exchange: one request and its answer
//!                         |                                                              |  opens, sends, takes, cancels
//!                         v                                                              v
//!                     driver: a task for each connection: socket <-> codec <-> shared: what streams wait for
//! ```
//!
//! An exchange never touches the socket, and the driver knows no request: they meet in [`shared::Shared`]. What an origin can make
//! this side hold is bounded by the codec, by the window of each stream, and by how many connections the worker may have.

mod body;
mod driver;
mod exchange;
mod fetch;
mod head;
mod pool;
mod pulse;
mod shared;

pub(crate) use fetch::fetch;
pub(crate) use pool::Multiplexed;
