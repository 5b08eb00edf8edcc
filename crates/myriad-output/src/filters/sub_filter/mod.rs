//! `sub_filter`: replacement of text.

mod directives;
mod filter;
mod settings;
mod substitute;

pub use directives::ROWS;
pub(super) use filter::compiled;

#[cfg(test)]
mod tests;
