//! Counts of traffic.
//!
//! What every request is counted by, always; all of it is read as one [`TrafficSnapshot`]:
//!
//! | file | what |
//! |---|---|
//! | `served` | what one worker has served: by version, cache status, class of robot |
//! | `histogram`, `codes`, `named`, `tls` | how long things took; answers by status; counts by name; handshakes |
//! | `queues` | requests before the queues of origins |
//! | `zone` | a server, or locations, under a name (`status_zone`) |
//! | `zones` | what of it outlives reloads |
//! | `snapshot` | all counts at one moment |
//!
//! Counts by key, where a place wants them (`vhost_traffic_status`): servers, filters, origins, cache zones, and whatever a feature counts by:
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
mod codes;
mod counts;
mod histogram;
mod key;
mod named;
mod queues;
mod served;
mod slots;
mod snapshot;
mod sums;
mod times;
mod tls;
mod zone;
mod zones;

pub use board::{Board, Shelf};
pub use counts::{MOST_BUCKETS, Sample, TrafficCounts};
pub use histogram::Times;
pub use key::{TrafficKey, TrafficKind};
pub use myriad_page::{CacheZoneCount, ZoneSums as CacheZoneSums};
pub use queues::{QUEUE_ENDS, QueueCounts, QueueEnd, QueueSums};
pub use served::{CACHE_NAMES, CacheSums, Served, ServedCounts, VERSION_NAMES};
pub use slots::TrafficSlots;
pub use snapshot::{SavedSums, TrafficSnapshot, UpstreamSums};
pub use sums::{DurationSums, TrafficSums, all};
pub use times::{Average, LAST_TIMES};
pub use tls::{TlsEnd, TlsSums};
pub use zone::{TrafficZone, ZoneKind, ZoneSums, classes};
pub use zones::Traffic;
