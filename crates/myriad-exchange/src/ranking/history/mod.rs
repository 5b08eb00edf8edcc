//! History: statistics of two weeks in steps of three lengths, and their file.
//!
//! ```text
//! file = head (64 bytes) + 360 records of 10 s + 1440 of 60 s + 2016 of 600 s
//! position of the step that starts at `at` = (at / length) modulo the number of steps; the oldest step is overwritten
//! ```
//!
//! Each record has a checksum: if a crash interrupts writing, the incomplete record is skipped, and the others remain
//! valid.

mod file;
mod record;
mod steps;

pub use file::{HistoryError, file_bytes, head, read};
pub use record::{Figures, HistoryRecord, RECORD_BYTES};
pub use steps::{HEAD_BYTES, History, HistoryWrite, LENGTHS};
