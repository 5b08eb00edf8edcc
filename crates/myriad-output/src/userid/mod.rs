//! `userid*`: visitors are distinguished by a cookie with an ID, in the format of Apache's mod_uid (`v1`) or nginx
//! (`on`). The cookie is added after the store, so that no stored page contains it. It distinguishes visits and is not
//! an authentication: IDs can be guessed.
//!
//! | file | content |
//! |---|---|
//! | `directives`, `settings` | directive table; settings |
//! | `rules` | settings of a place |
//! | `id` | creating, parsing and formatting of IDs |
//! | `visitor` | received and assigned ID |
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

/// Feature entry for the list of features.
pub const FEATURE: Feature =
    Feature::new("userid", directives::ROWS).compiled_by(rules::compile).with_variables(variables::VARIABLES);
