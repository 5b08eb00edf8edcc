//! `add_before_body`, `add_after_body`: what other addresses of this server answer stands before and behind a page.
//!
//! | file | what |
//! |---|---|
//! | `directives`, `settings` | the rows; what they say |
//! | `filter` | the pages that get something added |
//! | `body` | the parts in their order |

mod body;
mod directives;
mod filter;
mod settings;

pub use directives::ROWS;
pub(crate) use filter::compiled;
