//! Cache keys of requests.

pub mod no_vary_search;
pub mod page_key;
