//! Disk tier with objects; [`myriad_disk`] provides files of bytes.
//!
//! | file | contents |
//! |---|---|
//! | `tier` | conversion between objects and files |
//! | `inspect` | descriptions of pages in files, for display |

mod inspect;
#[cfg(test)]
mod tests;
mod tier;

pub use inspect::DiskPage;
pub(crate) use tier::DiskTier;
