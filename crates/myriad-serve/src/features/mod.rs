//! Features: a folder of each holds its directives, their settings, what these are compiled to, its use and its tests.
//!
//! A feature is registered by one line of the list in `list.rs`; nothing below knows its name.

mod api;
mod autoindex;
mod feature;
mod list;
mod real_ip;
mod referers;
mod stub_status;

pub(crate) use feature::made;
pub(crate) use list::compiled;
pub use list::registry;
