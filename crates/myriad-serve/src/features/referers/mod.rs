//! `valid_referers`: from which sites visitors may come (nginx's referer module).

mod compile;
mod directives;
mod settings;
mod valid;
mod variables;

pub(super) use compile::compile;
pub(super) use directives::ROWS;
pub(super) use variables::VARIABLES;
