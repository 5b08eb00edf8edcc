//! Features: optional functions of a configuration.
//!
//! A feature is a folder, usually in a crate of similar features (`myriad-access`, `myriad-output`, `myriad-origin`,
//! ...). It contains its directives, their settings, their compilation, their use and tests. It is registered by one
//! line of the list in `list.rs`.

pub(crate) mod forwarded;
pub(crate) mod https_only;
mod list;
pub(crate) mod real_ip;
mod referers;
pub(crate) mod resolver;
#[cfg(feature = "nginx-extras")]
mod set_misc;
mod ssl;

pub(crate) use list::{compiled, tables};
pub use list::{documented_variables, registry, variables, warnings};
