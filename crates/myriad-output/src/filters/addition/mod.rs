//! `add_before_body`, `add_after_body`: responses of other URIs of this server are added before and after a page.
//!
//! | file | content |
//! |---|---|
//! | `directives`, `settings` | directives and their settings |
//! | `filter` | selection of the responses that are changed |
//! | `body` | combined body |

mod body;
mod directives;
mod filter;
mod settings;

pub use directives::ROWS;
pub(crate) use filter::compiled;
