//! The keys of pages: what tells one from another.

pub mod page_key;
