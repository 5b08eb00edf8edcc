//! Plans the settings of PHP, database, object cache, Apache and kernel for a machine: converts [`Facts`] to a
//! [`Plan`].
//!
//! ```text
//! Facts -> budget: memory of each program -> settings of each program, with the reason -> files -> Change, a line each
//!                                                                     present: values in files ------^
//! ```
//!
//! All programs together are planned to use three quarters of the memory. This avoids swapping and leaves the rest to
//! the page cache of the kernel. This crate does not access the machine: the caller reads the facts and writes the
//! files.

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
mod present;
mod shares;

pub use amount::{MIB, parse as parse_amount, text as amount};
pub use changes::{Change, changes};
pub use facts::{Apache, Database, DatabaseKind, Facts, Mpm, ObjectCache, Php, Worker};
pub use file::{ConfigFile, Format, Setting};
pub use plan::{Plan, plan};
pub use present::{Present, Source};
pub use shares::{Budget, Share};
