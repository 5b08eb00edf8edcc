//! Pages of a cache zone: their metadata, their keys, and limits for the fetches that fill a zone.
//!
//! | file | contents |
//! |---|---|
//! | `zone`, `zone_counts`, `purge_log` | zones of pages; their counters; their last purges, and changes without a purge |
//! | `page_meta`, `page_record`, `texts`, `marks`, `stored_*` | metadata of a page, in memory and in files |
//! | `key` | format of cache keys |
//! | `variant`, `revalidation` | variant of a request; conditions with which a page is revalidated |
//! | `metadata` | metadata of a page as the store uses it |
//! | `purge_matching` | rules of purges as functions of a page |
//! | `purge_publisher` | publication of purges to the other nodes of a cluster |
//! | `cluster_pages` | pages that the nodes of a cluster fetch for each other |
//! | `fetches` | limits for concurrent and queued fetches |
//! | `recent_purges` | purges by tag or URL, for data of visitors outside of the zone |
//! | `leaks` | results of the leak guard |
//! | `optimized` | state of the optimized form of a page |
//! | `image_records` | images without a smaller copy |
//! | `leak_samples` | state of the leak guard's sampled verifications |

mod cluster_pages;
mod counter;
mod fetches;
mod folder_creator;
mod image_records;
pub mod key;
mod leak_samples;
mod leaks;
mod marks;
mod metadata;
mod optimized;
mod page_meta;
mod page_record;
mod proxied_facts;
mod purge_log;
mod purge_matching;
mod purge_publisher;
mod recent_purges;
mod revalidation;
mod stored_duration;
mod stored_lifetime;
mod stored_proxied_facts;
pub mod testing;
#[cfg(test)]
mod tests;
mod texts;
mod variant;
mod zone;
mod zone_counts;

pub use cluster_pages::{
    ClusterPage, ClusterPageFuture, ClusterPageRequest, ClusterPageResult, ClusterPages, MAX_CLUSTER_BODY,
    PageLease,
};
pub use counter::Counter;
pub use fetches::{FetchAdmission, FetchLimiter, FetchLimits, FetchPermit};
pub use folder_creator::FolderCreator;
pub use image_records::{UncopiedImage, UncopiedImages};
pub use leak_samples::{ComparisonResult, LeakSamples, SampleCause, SampleCounts, SuspectedPage};
pub use leaks::{LeakFinding, LeakRecords, LeakState, LeakedPage, LeakedValue};
pub use marks::PageMarks;
pub use optimized::{FileVersion, OptimizedCounts, OptimizedState};
pub use page_meta::{Page, PageFacts, PageMeta, PageView};
pub use proxied_facts::ProxiedFacts;
pub use purge_log::{PurgeLog, PurgeLogEntry, PurgeSource, TextChange};
pub use purge_matching::purge_predicate;
pub use purge_publisher::{
    AnnouncedPurge, ClusterMember, PublishedPurge, PublisherStatus, PurgePublisher, PurgeReceipts,
    ReceiptsFuture, ServerStatus, UnconfirmedPurge,
};
pub use recent_purges::RecentPurges;
pub use revalidation::{Conditions, RevalidationCondition, conditions};
pub use stored_duration::StoredDuration;
pub use stored_lifetime::StoredLifetime;
pub use stored_proxied_facts::StoredProxiedFacts;
pub use texts::{TextEnds, TextParts, Texts};
pub use variant::{NO_VARIANT, write_variant};
pub use zone::{PageFolder, PageZone, STRONG_GZIP, alternative, encoding_index};
pub use zone_counts::{CacheZoneCount, PurgeResults, ZoneCounts, ZoneSums};
