//! The candidates. Each keeps pages in so much room, and says of each request whether its page was there.

pub mod libraries;
pub mod lru;
pub mod s3_fifo;
pub mod sieve;
pub mod zone;

/// A cache that a trace is run through.
pub trait Policy {
    /// A request for a page of so many bytes; whether it was there. Afterwards it is, if the policy wants it.
    fn request(&mut self, page: u32, bytes: u32) -> bool;
}
