//! `userid*`: visitors are told apart by a cookie, with numbers as mod_uid of Apache (`v1`) or nginx (`on`) gives them. The cookie is
//! added to an answer on its way out, behind the store: no stored page holds one. It tells visits apart and proves nothing: numbers can
//! be guessed.
//!
//! | file | what |
//! |---|---|
//! | `directives`, `settings` | the rows; what they say |
//! | `rules` | the same for a place |
//! | `id` | numbers: made, read, written |
//! | `visitor` | the number that came, and the one that is given |
//! | `add` | `Set-Cookie`, `P3P` |
//! | `variables` | `$uid_got`, `$uid_set`, `$uid_reset` |

mod add;
mod directives;
mod id;
mod rules;
mod settings;
mod variables;
mod visitor;

pub(crate) use add::add;
use myriad_exchange::feature::Feature;
pub(crate) use rules::Userid;

/// The feature, for the list of them.
pub const FEATURE: Feature =
    Feature::new("userid", directives::ROWS).compiled_by(rules::compile).with_variables(variables::VARIABLES);
