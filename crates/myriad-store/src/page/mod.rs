//! Pages of a cache zone: their records, the data by which they are found, and limits for the fetches that fill a zone.
//!
//! | file | contents |
//! |---|---|
//! | `zone`, `zone_counts`, `purge_log` | zones of pages on their store; their counters, and their last purges |
//! | `page_record`, `texts`, `marks`, `kept_*` | stored data of a page in addition to its body |
//! | `key` | the bytes of a key and of its parts |
//! | `variant`, `revalidation` | the variant of a request; the conditions by which a page is revalidated |
//! | `metadata` | metadata of a page as the store sees it |
//! | `purge_matching` | decision whether a purge covers a page |
//! | `fetches` | limits for concurrent and queued fetches |

mod counter;
mod fetches;
mod folder_creator;
pub mod key;
mod marks;
mod metadata;
mod page_record;
mod proxied_facts;
mod purge_log;
mod purge_matching;
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

pub use counter::Counter;
pub use fetches::{FetchAdmission, FetchLimiter, FetchLimits, FetchPermit};
pub use folder_creator::FolderCreator;
pub use marks::PageMarks;
pub use proxied_facts::ProxiedFacts;
pub use purge_log::{PurgeLog, PurgeLogEntry, PurgeSource};
pub use purge_matching::purge_predicate;
pub use revalidation::{Conditions, RevalidationCondition, conditions};
pub use stored_duration::StoredDuration;
pub use stored_lifetime::StoredLifetime;
pub use stored_proxied_facts::StoredProxiedFacts;
pub use texts::{TextEnds, TextParts, Texts};
pub use variant::{NO_VARIANT, write_variant};
pub use zone::{
    Page, PageFacts, PageFolder, PageMeta, PageView, PageZone, STRONG_GZIP, alternative, encoding_index,
};
pub use zone_counts::{CacheZoneCount, PurgeResults, ZoneCounts, ZoneSums};
