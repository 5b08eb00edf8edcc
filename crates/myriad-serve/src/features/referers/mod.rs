//! `valid_referers`: valid referring sites (nginx's referer module).

mod compile;
mod directives;
mod settings;
mod valid_referers;
mod variables;

pub(super) use compile::compile;
pub(super) use directives::ROWS;
pub(super) use variables::VARIABLES;
