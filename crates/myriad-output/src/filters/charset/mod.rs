//! `charset`: named behind the media types of text, and answers of another charset converted to it by `charset_map`.

mod converter;
mod directives;
mod filter;
mod settings;
mod tables;

pub use directives::ROWS;
pub(super) use filter::compiled;
pub use filter::names_utf8;

#[cfg(test)]
mod tests;
