//! `charset`: added to the media types of text; responses in another charset are converted by `charset_map`.

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
