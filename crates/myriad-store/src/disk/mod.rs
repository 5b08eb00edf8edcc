//! Disk tier of objects, based on [`myriad_disk`], which stores bytes.
//!
//! | file | contents |
//! |---|---|
//! | `tier` | conversion between objects and files |
//! | `inspect` | descriptions of the pages in files, for display |

mod inspect;
#[cfg(test)]
mod tests;
mod tier;

pub use inspect::DiskPage;
pub(crate) use tier::DiskTier;
