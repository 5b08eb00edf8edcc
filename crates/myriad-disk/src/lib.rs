//! The disk tier of a zone: one checksummed file for each page, named as nginx names it. It knows pages as keys and bytes;
//! objects are made of them above, in `myriad-store`.
//!
//! | file | what |
//! |---|---|
//! | `disk/` | the tier as the zone uses it: finding, writing, removing, showing pages |
//! | `page` | what a page is known by, as it is written, as it was read |
//! | `memory_tier` | the memory tier, as seen from here |
//! | `shelf` | the files of a zone: room, removal |
//! | `catalogue/`, `file_labels` | what is known of the files; which of them bear a label |
//! | `format`, `files`, `read`, `load` | what is in a file; where files are; reading one |
//! | `stage`, `spill` | writing: beside the others, then renamed; bodies that are too long for memory |
//! | `body_file`, `stored_body` | bodies that are read piece by piece |
//! | `health`, `counts`, `faults` | whether the disk works; what has happened; failures for tests |
//! | `lease`, `folder` | which of two processes writes; the folder itself, removed and made anew |
//! | `quarantine` | files that are not what they should be |
//! | `purge_log`, `purges/` | purges: written down before they are answered, asked about every file |
//! | `recover`, `first_stretch`, `snapshot`, `sequence`, `secret` | what a start finds |
//! | `watch`, `keeper/` | files that somebody else removed; what is done from time to time |
//! | `pool`, `backlog` | threads of the disk; pages that came faster than they write |
//!
//! Lock order: a stripe, then the memory tier, or the catalogue. The memory tier and the catalogue are never locked at once.

#![forbid(unsafe_code)]

mod backlog;
mod body_file;
mod catalogue;
mod checked_number;
mod clock_reference;
mod counts;
mod disk;
mod faults;
mod file_labels;
mod files;
mod first_stretch;
mod folder;
mod format;
mod health;
mod keeper;
mod lease;
mod load;
mod memory_tier;
mod options;
mod page;
mod pool;
mod purge_log;
mod purges;
mod quarantine;
mod read;
mod recover;
mod secret;
mod sequence;
mod shelf;
mod snapshot;
mod spill;
mod stage;
mod stored_body;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod watch;

pub use catalogue::Filed;
pub use clock_reference::ClockReference;
pub use disk::Disk;
pub use format::{FormatError, examine, variant_hash, write_encoding};
pub use memory_tier::{MemoryPurges, MemoryTier};
pub use options::{Clock, DiskEvent, DiskLimits, DiskOptions, DiskStats, Pace, Reference, Report};
pub use page::{PageBody, PageHead, PageId, PageParts, ReadPage};
pub use pool::DiskPool;
pub use spill::{BACKLOG, Spill};
pub use stage::{Stage, Unwritten};
pub use stored_body::{BodyReader, OpenBody, Opening, ReadError, StoredBody};
