//! Features: what a configuration may turn on.
//!
//! A feature is a folder, most in a crate of their own kind (`myriad-gate`, `myriad-output`, `myriad-origin`, ...), which holds its
//! directives, their settings, what these are compiled to, its use and its tests. It is registered by one line of the list in `list.rs`; nothing else knows its name.

pub(crate) mod forwarded;
pub(crate) mod https_only;
mod list;
pub(crate) mod real_ip;
mod referers;
pub(crate) mod resolver;
mod set_misc;
mod ssl;

pub(crate) use list::{compiled, tables};
pub use list::{documented_variables, registry, variables, warnings};
