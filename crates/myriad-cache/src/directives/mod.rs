//! Directives of the cache.

mod origin;
mod rules;
mod values;

pub(crate) use origin::OF_ORIGINS;
pub(crate) use rules::{ROWS, cookie_list};
