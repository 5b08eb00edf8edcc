//! Cache keys.

pub mod no_vary_search;
pub mod page_key;
