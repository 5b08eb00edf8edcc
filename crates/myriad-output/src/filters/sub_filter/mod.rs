//! `sub_filter`: replacement of texts in bodies.
//!
//! | file | content |
//! |---|---|
//! | `directives`, `settings` | directives and their settings |
//! | `filter` | selection of the responses that are changed |
//! | `substitute` | streaming replacement |

mod directives;
mod filter;
mod settings;
mod substitute;

pub use directives::ROWS;
pub(super) use filter::compiled;
