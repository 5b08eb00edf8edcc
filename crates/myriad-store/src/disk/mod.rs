//! The disk tier: one file for each object, named as nginx names it.
//!
//! | file | what |
//! |---|---|
//! | `name`, `format` | how a file is called, and what is in it |
//! | `catalogue` | what is known of the files |
//! | `shelf` | the folder: room, removal, trouble |
//! | `aside` | files that are not what they should be |
//! | `turn` | which of two processes writes |
//! | `folder` | the folder itself, removed and made anew |
//! | `stage`, `spill` | writing: aside, then renamed; bodies that are too long for memory |
//! | `read`, `stored_body` | reading, whole or in pieces |
//! | `tier` | pages in files, files as pages |
//! | `inspect` | what files say of their pages, for people to see |
//! | `recover`, `first_stretch`, `snapshot`, `sequence`, `secret` | what a start finds |
//! | `file_labels` | which files bear a label |
//! | `purge_log`, `purges` | purges: written down before they are answered, asked about every file |
//! | `watch`, `tend` | what is done from time to time |
//! | `pool`, `ticket` | threads of the disk, and waiting for them |
//!
//! Lock order: a stripe, then the memory tier, or the catalogue. No two of the latter are held at once.

mod aside;
mod backlog;
mod catalogue;
mod faults;
mod file_labels;
mod first_stretch;
mod folder;
mod format;
mod inspect;
mod name;
mod options;
mod pool;
mod purge_log;
mod purges;
mod read;
mod recover;
pub(crate) mod secret;
mod sequence;
mod shelf;
mod snapshot;
mod spill;
mod stage;
mod stored_body;
mod tend;
#[cfg(test)]
mod tests;
mod ticket;
mod tier;
mod turn;
mod watch;

pub(crate) use catalogue::Filed;
pub(crate) use format::variant_hash;
pub use format::{FormatError, examine};
pub use inspect::DiskPage;
pub(crate) use name::Name;
pub use options::{Clock, DiskEvent, DiskLimits, DiskOptions, DiskStats, Pace, Report};
pub use pool::DiskPool;
pub(crate) use pool::Tend;
pub(crate) use purges::Banning;
pub(crate) use shelf::Above;
pub(crate) use spill::{BACKLOG, Spill};
pub(crate) use stage::Stage;
pub use stored_body::{BodyReader, OpenBody, Opening, ReadError, StoredBody};
pub(crate) use ticket::Ticket;
pub(crate) use tier::Tier;
