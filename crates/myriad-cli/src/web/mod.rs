//! Small HTTP/1.1 client, by which commands request a site like a visitor: blocking, limited in time and bytes.
//!
//! It connects to one address, by default of this machine, independent of the name of the site: a name that resolves to
//! a proxy elsewhere is not followed, and redirects are not followed either.

mod client;
mod target;

pub use client::{WebAnswer, WebClient, WebFailure};
pub use target::WebTarget;
