//! A small client of HTTP/1.1, by which commands look at a site as a visitor does: blocking, bounded in time and bytes.
//!
//! It connects to one address only, this machine's unless told otherwise, whatever name the site has: a name that leads to a proxy
//! elsewhere is not followed there, and redirects are not followed at all.

mod client;
mod target;

pub(crate) use client::{Answer, Client, Failure};
pub(crate) use target::Target;
