//! Counts of traffic by key: servers, filters, origins, cache zones, and whatever a feature counts by.
//!
//! | file | what |
//! |---|---|
//! | `key` | what is counted: a kind, the zone of it, a name within |
//! | `counts` | the counts of one key by one worker, and a finished request that is added to them |
//! | `times` | how long the last requests took |
//! | `board` | all keys of one worker, of bounded size |
//! | `slots` | the counts that a worker needs for each request, found without looking for their keys |
//! | `sums` | the counts of all workers together |
//!
//! ```text
//! a finished request -> Counting of its place -> slots of the worker -> counts: loads and stores of memory that no other thread writes
//!                                                  | key not seen yet
//!                                                  '-> board of the worker, locked by itself and by whoever reads
//! whoever reads -> the boards of all workers, one after the other -> sums
//! ```
//!
//! Nobody but its worker writes a count, so that no request waits for another worker. A reset takes the counts off the board; the
//! worker sees by the board's epoch that it has to look for new ones.

mod board;
mod counts;
mod key;
mod slots;
mod sums;
mod times;

pub use board::{Board, Shelf};
pub use counts::{MOST_BUCKETS, Sample, TrafficCounts};
pub use key::{TrafficKey, TrafficKind};
pub use slots::TrafficSlots;
pub use sums::{DurationSums, TrafficSums, all};
pub use times::{Average, LAST_TIMES};
