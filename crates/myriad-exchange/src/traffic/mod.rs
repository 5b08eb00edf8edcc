//! Traffic counters.
//!
//! Counters that every request updates, read as one [`TrafficSnapshot`]:
//!
//! | file | content |
//! |---|---|
//! | `served_requests` | requests of one worker by version, cache status and class of client |
//! | `histogram`, `codes`, `named_counts`, `tls` | durations; responses by status; counts by name; TLS handshakes |
//! | `queues` | requests in the queues of origins |
//! | `zone` | requests of a server or location, by `status_zone` |
//! | `zones` | counters that survive reloads |
//! | `snapshot` | all counters of a site at one moment |
//!
//! Counters by key, in locations that enable them (`vhost_traffic_status`): servers, filters, origins, cache zones, and
//! keys of features:
//!
//! | file | content |
//! |---|---|
//! | `key` | key: a kind, its zone, and a name |
//! | `counts` | counts of one key by one worker, and the figures of a finished request |
//! | `times` | durations of the latest requests |
//! | `table` | all keys of one worker, limited in number or size |
//! | `slots` | counts that a worker needs for each request, without a look-up by key |
//! | `sums` | sums of the counts of all workers |
//!
//! ```text
//! finished request -> `Counting` of its location -> slots of the worker -> counts, which no other thread writes
//!                                                | unknown key
//!                                                '-> table of the worker, which the worker and readers lock
//! reader           -> the tables of all workers, one after another -> sums
//! ```
//!
//! Only its worker writes a count, so that no request waits for another worker. A reset removes counts from the table
//! of the worker; the worker detects by the table's epoch that it must look up its counts again.

mod codes;
mod counts;
mod histogram;
mod key;
mod named_counts;
mod queues;
mod served_requests;
mod slots;
mod snapshot;
mod sums;
mod table;
mod times;
mod tls;
mod zone;
mod zones;

pub use counts::{MAX_BUCKETS, Sample, TrafficCounts};
pub use histogram::TimeHistogram;
pub use key::{TrafficKey, TrafficKind};
pub use myriad_store::page::{CacheZoneCount, ZoneSums as CacheZoneSums};
pub use queues::{QUEUE_ENDS, QueueCounts, QueueEnd, QueueSums};
pub use served_requests::{CACHE_NAMES, CacheSums, Served, ServedCounts, VERSION_NAMES};
pub use slots::TrafficSlots;
pub use snapshot::{SavedSums, TrafficSnapshot, UpstreamSums};
pub use sums::{DurationSums, TrafficSums, all};
pub use table::{KeyClass, TrafficTable};
pub use times::{Average, LAST_TIMES};
pub use tls::{TlsEnd, TlsSums};
pub use zone::{TrafficZone, ZoneKind, ZoneSums, classes};
pub use zones::Traffic;
