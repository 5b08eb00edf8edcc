//! Small HTTP/1.1 client, by which commands request pages like a visitor. It blocks, within limits of time and size.
//!
//! It connects to one address, by default on this machine, whatever the host of the URL: the host may resolve to a
//! proxy elsewhere. Redirects are not followed.

mod client;
mod target;

pub use client::{WebAnswer, WebClient, WebFailure};
pub use target::WebTarget;
