//! `myriad tune`: derives a [`TuningPlan`] with settings of PHP, database, object cache, Apache and kernel from
//! [`MachineFacts`].
//!
//! ```text
//! MachineFacts -> budget: memory of each program -> settings with their reasons -> files -> SettingChange per line
//!                             present_settings: values in present files ----------------^
//! ```
//!
//! All programs together are planned to use at most three quarters of the memory, if that suffices for their minimum
//! sizes. This avoids swapping and leaves the rest to the page cache of the kernel. Except for `command`, this module
//! does not access the machine.

mod amount;
mod apache;
mod budget;
mod changes;
pub mod command;
mod database;
mod facts;
mod file;
mod kernel;
mod object_cache;
mod opcache;
mod php;
mod plan;
mod present_settings;
mod shares;

pub use amount::{MIB, parse as parse_amount, text as amount};
pub use changes::{SettingChange, changes};
pub use facts::{
    ApacheSetup, DatabaseKind, DatabaseServer, InstalledPhp, MachineFacts, Mpm, ObjectCacheServer,
    PhpWorkerSize, WorkerSizeSource,
};
pub use file::{ConfigFile, FileFormat, Setting};
pub use plan::{TuningPlan, plan};
pub use present_settings::{PresentFile, PresentSettings};
pub use shares::{MemoryBudget, MemoryShare};
