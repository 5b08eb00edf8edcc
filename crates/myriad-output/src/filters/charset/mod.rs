//! `charset`: adds a charset to the media types of text; bodies in another charset are converted by `charset_map`.
//!
//! | file | content |
//! |---|---|
//! | `directives`, `settings` | directives and their settings |
//! | `tables` | charsets of the configuration, conversion tables |
//! | `filter` | addition of the charset, selection of the conversion |
//! | `converter` | streaming conversion of a body |

mod converter;
mod directives;
mod filter;
mod settings;
mod tables;

pub use directives::ROWS;
pub(super) use filter::compiled;
pub use filter::names_utf8;
