//! Disk tier of a zone: one checksummed file per page, named as in nginx. This crate handles pages as keys and bytes;
//! `myriad-store` converts them to objects.
//!
//! | file | contents |
//! |---|---|
//! | `disk/` | interface of the tier for the zone: finding, writing, removing, inspecting pages |
//! | `options` | options, limits, events and statistics of the tier |
//! | `index/` | data structures with which both tiers find, purge and evict pages |
//! | `page` | identity of a page, its parts for writing, and pages that were read |
//! | `memory_tier` | interface of the memory tier for this crate |
//! | `file_store` | the files of a zone: space management, removal |
//! | `file_index/`, `file_labels` | index of the files by name, key and use; index of the files by label |
//! | `format`, `files`, `read`, `load` | contents of a file; paths of files; reading of files |
//! | `staged_file`, `spill` | writing: to a temporary file, then renamed; bodies that are too long for memory |
//! | `body_file`, `stored_body` | bodies that are read in pieces |
//! | `health`, `counts`, `faults` | state of the disk; event counters; failures for tests |
//! | `lease`, `folder` | selection of the writing process; removal and creation of the folder |
//! | `quarantine` | invalid files |
//! | `purge_log`, `purges/` | purges: logged before they complete, applied to every file |
//! | `recover`, `first_recovery_step`, `snapshot` | recovery of the index at start |
//! | `sequence`, `hash_seed`, `checked_number` | numbers of starts; seed of key hashes; files that contain one number |
//! | `clock_reference` | conversion of times in files to the clock of this process |
//! | `folder_watch`, `maintenance` | detection of files removed by other programs; periodic maintenance |
//! | `pool`, `backlog` | disk threads; pages that arrive faster than they are written |
//!
//! Lock order: the stripe of a key before the memory tier or the file index. The memory tier and the file index are
//! never locked at the same time.

#![forbid(unsafe_code)]

mod backlog;
mod body_file;
mod checked_number;
mod clock_reference;
mod counts;
mod disk;
mod faults;
mod file_index;
mod file_labels;
mod file_store;
mod files;
mod first_recovery_step;
mod folder;
mod folder_watch;
mod format;
mod hash_seed;
mod health;
pub mod index;
mod lease;
mod load;
mod maintenance;
mod memory_tier;
mod options;
mod page;
mod pool;
mod purge_log;
mod purges;
mod quarantine;
mod read;
mod recover;
mod sequence;
mod snapshot;
mod spill;
mod staged_file;
mod stored_body;
#[cfg(any(test, feature = "testing"))]
pub mod testing;

pub use clock_reference::ClockReference;
pub use disk::DiskStore;
pub use file_index::IndexedFile;
pub use format::{FormatError, examine, variant_hash, write_encoding};
pub use memory_tier::{MemoryPurges, MemoryTier};
pub use options::{
    Clock, ClockReferenceFn, DiskEvent, DiskEventHandler, DiskLimits, DiskOptions, DiskStats, WorkPace,
};
pub use page::{PageBody, PageHead, PageId, PageParts, ReadPage};
pub use pool::DiskPool;
pub use spill::{MAX_PENDING_BYTES, SpillWriter};
pub use staged_file::{StagedFile, WriteFailure};
pub use stored_body::{BodyReader, OpenBody, OpeningBody, ReadError, StoredBody};
