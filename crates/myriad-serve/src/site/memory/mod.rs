//! Memory limit of the process (`memory_limit`), enforced by a separate thread.
//!
//! ```text
//! /proc/self/status -> PressureTracker -> stage --> zones: limits, eviction of pages in small batches
//! each second, up to                        |-> small files, background compression
//! ten times as often                        |-> workers (WorkerCommand::FreeMemory): buffers, idle connections
//! near the limit                            '-> Pressure, which is checked before a request to an origin
//! ```

mod relieve;
mod stage_logger;
mod watcher;

pub(super) use relieve::{measure, relieve};
pub(super) use watcher::{MemoryWatcherHandle, WatchedResources};
