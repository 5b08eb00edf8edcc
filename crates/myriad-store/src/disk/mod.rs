//! The disk tier: one file for each object, named as nginx names it.
//!
//! | file | what |
//! |---|---|
//! | `name`, `format` | how a file is called, and what is in it |
//! | `files`, `read`, `body_file` | where files are, and what is read of one |
//! | `health`, `counts` | whether the disk works; what has happened |
//! | `catalogue`, `file_labels` | what is known of the files; which of them bear a label |
//! | `lease` | which of two processes writes |
//! | `quarantine` | files that are not what they should be |
//! | `memory_tier` | the memory tier, as seen from here |
//! | `shelf` | all of these together: room, removal |
//! | `load`, `stored_body` | reading a page, whole or in pieces |
//! | `stage`, `spill` | writing: aside, then renamed; bodies that are too long for memory |
//! | `folder` | the folder itself, removed and made anew |
//! | `purge_log`, `purges` | purges: written down before they are answered, asked about every file |
//! | `recover`, `first_stretch`, `snapshot`, `sequence`, `secret` | what a start finds |
//! | `watch`, `keeper` | what somebody else removed; what is done from time to time |
//! | `tier` | pages in files, files as pages |
//! | `inspect` | what files say of their pages, for people to see |
//! | `pool`, `ticket` | threads of the disk, and waiting for them |
//!
//! Lock order: a stripe, then the memory tier, or the catalogue. No two of the latter are held at once.

mod backlog;
mod body_file;
mod catalogue;
mod counts;
mod faults;
mod file_labels;
mod files;
mod first_stretch;
mod folder;
mod format;
mod health;
mod inspect;
mod keeper;
mod lease;
mod load;
mod memory_tier;
mod name;
mod options;
mod pool;
mod purge_log;
mod purges;
mod quarantine;
mod read;
mod recover;
pub(crate) mod secret;
mod sequence;
mod shelf;
mod snapshot;
mod spill;
mod stage;
mod stored_body;
#[cfg(test)]
mod tests;
mod ticket;
mod tier;
mod watch;

pub(crate) use catalogue::Filed;
pub(crate) use format::variant_hash;
pub use format::{FormatError, examine};
pub use inspect::DiskPage;
pub(crate) use memory_tier::{MemoryPurges, MemoryTier};
pub(crate) use name::Name;
pub use options::{Clock, DiskEvent, DiskLimits, DiskOptions, DiskStats, Pace, Report};
pub use pool::DiskPool;
pub(crate) use pool::Tend;
pub(crate) use spill::{BACKLOG, Spill};
pub(crate) use stage::Stage;
pub use stored_body::{BodyReader, OpenBody, Opening, ReadError, StoredBody};
pub(crate) use ticket::Ticket;
pub(crate) use tier::Tier;
