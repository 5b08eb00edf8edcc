//! Fields of answers set, replaced and taken out, as by the module headers-more: `more_set_headers`, `more_clear_headers`.
//!
//! | file | what |
//! |---|---|
//! | `directives` | the rows, and the words of a directive read: options, then fields |
//! | `settings` | what a level says: the directives of the levels around it, then its own |
//! | `rules` | what that is compiled to: runs of directives without conditions become one block of bytes |
//! | `apply` | the rules at work: on the media type before the filters, on the head before `add_header` |

mod apply;
mod directives;
mod rules;
mod settings;
#[cfg(test)]
mod tests;

use myriad_exchange::feature::Feature;

/// The feature, for the list of them.
pub const FEATURE: Feature = Feature::new("headers_more", directives::ROWS).compiled_by(rules::compile);
