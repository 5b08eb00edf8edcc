//! Common parts of the HTTP/2 and HTTP/3 drivers.
//!
//! On HTTP/1 one exchange at a time uses the socket directly. On a multiplexed connection the driver reads and writes
//! for all exchanges:
//!
//! - A request body is a [`BodyFeed`]: the driver pushes received pieces, the service reads them, and the number of
//!   bytes read opens the stream's flow-control window again.
//! - A response body is an [`OutgoingBody`]: the driver takes pieces as the stream's window allows.
//! - An interim response (103) is passed to the driver as an [`Interim`].

mod body_feed;
mod interim;
mod outgoing_body;

pub use body_feed::BodyFeed;
pub use interim::{Interim, Interims};
pub use outgoing_body::OutgoingBody;
