//! The memory of the process under its limit (`memory_limit`): watched by a thread of its own, off the way of any request.
//!
//! ```text
//! /proc/self/status -> Ladder -> stage --> zones: what they may hold, pages evicted some at a time
//!    each second, up to                |-> small files, background compression
//!    ten times as often                |-> workers (Order::Relieve): buffers, idle connections
//!    near the limit                    '-> Pressure, which is asked before an origin is
//! ```

mod relieve;
mod tell;
mod watch;

pub(super) use relieve::{measure, relieve};
pub(super) use watch::{Subject, Watching};
