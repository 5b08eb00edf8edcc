//! The disk tier with objects: [`myriad_disk`] has files of bytes.
//!
//! | file | what |
//! |---|---|
//! | `tier` | objects in files, files as objects |
//! | `inspect` | what files say of their pages, for people to see |

mod inspect;
#[cfg(test)]
mod tests;
mod tier;

pub use inspect::DiskPage;
pub(crate) use tier::Tier;
