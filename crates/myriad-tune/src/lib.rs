//! Plans the settings of PHP, database, object cache, Apache and kernel for one machine: [`Facts`] in, a [`Plan`] out.
//!
//! ```text
//! Facts -> budget: what each program may take -> settings of each program, with the reason -> files -> Change, a line each
//!                                                                  present: what files say now --------^
//! ```
//!
//! All programs together are planned into three quarters of the memory, so that nothing is swapped and the rest is the kernel's
//! page cache. Nothing here touches the machine: whoever calls reads the facts and writes the files.

#![forbid(unsafe_code)]

mod amount;
mod apache;
mod budget;
mod changes;
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
