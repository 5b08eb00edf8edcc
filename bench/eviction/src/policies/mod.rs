//! The candidates. Each stores pages up to a capacity, and reports for each request whether it was a hit.

pub mod libraries;
pub mod lru;
pub mod s3_fifo;
pub mod sieve;
pub mod zone;

/// A cache for running a trace.
pub trait Policy {
    /// Requests a page with this size; returns whether it was a hit. After a miss the policy may store it.
    fn request(&mut self, page: u32, bytes: u32) -> bool;
}
