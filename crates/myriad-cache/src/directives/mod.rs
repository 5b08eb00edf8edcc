//! Directives of the cache.

mod of_origins;
mod rules;
mod values;

pub(crate) use of_origins::OF_ORIGINS;
pub(crate) use rules::{ROWS, cookie_list};
