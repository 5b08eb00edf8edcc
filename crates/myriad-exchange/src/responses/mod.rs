//! Responses that this server generates: errors and redirects.

pub mod error_body;
pub mod error_pages;
pub mod msie;
pub mod redirect;
