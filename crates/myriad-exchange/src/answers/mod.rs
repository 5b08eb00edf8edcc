//! Answers of this server's own: errors, redirects.

pub mod error_body;
pub mod error_pages;
pub mod msie;
pub mod redirect;
