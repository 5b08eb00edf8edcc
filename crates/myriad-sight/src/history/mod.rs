//! Figures of two weeks in steps of three lengths, and the file that they are kept in.
//!
//! ```text
//! file = head (64 bytes) + 360 records of 10 s + 1440 of 60 s + 2016 of 600 s
//! record of the step that begins at `at` = place (at / length) modulo their number, so that the oldest is written over
//! ```
//!
//! Each record has a checksum of its own: one that a crash has cut in two is passed over, the others stand.

mod file;
mod record;
mod steps;

pub use file::{Damage, file_bytes, head, read};
pub use record::{Figures, RECORD_BYTES, Record};
pub use steps::{HEAD_BYTES, History, LENGTHS, Written};
