//! Small HTTP/1.1 client, by which commands request pages as a browser does. It blocks the thread, within limits of
//! time and size.
//!
//! It connects to one address, by default on this machine, whatever the host of the URL: the host may resolve to a
//! proxy elsewhere. Redirects are not followed.

mod client;
mod target;

pub use client::{WebAnswer, WebClient, WebFailure};
pub use target::WebTarget;
