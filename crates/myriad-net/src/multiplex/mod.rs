//! Shared parts of the drivers of multiplexed connections.
//!
//! On HTTP/1 the socket belongs to one exchange at a time, which reads its body from it and writes its response to it.
//! On a multiplexed connection the driver reads and writes for all exchanges, so
//!
//! - the body of a request is a [`BodyFeed`]: the driver pushes pieces, the handler of the request reads them, and the bytes
//!   read open the stream's window again;
//! - the body of a response is an [`OutgoingBody`]: the driver takes pieces as the stream's window allows;
//! - an interim response (103) is passed to the driver as an [`Interim`].

mod body_feed;
mod interim;
mod outgoing_body;

pub use body_feed::BodyFeed;
pub use interim::{Interim, Interims};
pub use outgoing_body::OutgoingBody;
