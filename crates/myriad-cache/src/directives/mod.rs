//! Directives of the cache: `origin` and `values` contain those of each origin protocol, `rules` the others.

mod origin;
mod rules;
mod values;

pub(crate) use origin::OF_ORIGINS;
pub(crate) use rules::{ROWS, cookie_list};
