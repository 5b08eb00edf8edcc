//! HTTP/2 with origins (RFC 9113): a connection carries many requests of a worker.
//!
//! ```text
//!   fetch -> pool: an available connection, or a dial shared by all waiters -> exchange: one request and response
//!                         |                                                      |  opens, sends, reads, cancels
//!                         v                                                      v
//!                     driver: a task for each connection: socket <-> codec <-> shared: state of the streams
//! ```
//!
//! An exchange never accesses the socket, and the driver has no information about requests: both use
//! [`shared::Shared`]. The memory that an origin can occupy is bounded by the codec, by the window of each stream, and
//! by the connection limit of the worker.

mod body;
mod driver;
mod exchange;
mod fetch;
mod head;
mod liveness;
mod pool;
mod shared;

pub(crate) use fetch::fetch;
pub(crate) use pool::H2Connections;
