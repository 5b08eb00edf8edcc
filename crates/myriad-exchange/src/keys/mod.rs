//! The keys of pages: what tells one from another.

pub mod no_vary_search;
pub mod page_key;
