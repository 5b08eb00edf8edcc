//! What the drivers of connections with many streams share.
//!
//! On HTTP/1 the socket belongs to one exchange at a time: its body is read from there, its answer written there. On a
//! connection of streams the driver reads and writes for all of them, so that
//!
//! - the body of a request is a [`Feed`]: the driver puts pieces in, whoever answers takes them out, and what was taken
//!   opens the stream's window again;
//! - the body of an answer is an [`Outgoing`]: pieces of it are taken as the stream's window allows;
//! - what goes ahead of an answer (103) is handed to the driver as an [`Interim`].

mod feed;
mod interim;
mod outgoing;

pub use feed::Feed;
pub use interim::{Interim, Interims};
pub use outgoing::Outgoing;
