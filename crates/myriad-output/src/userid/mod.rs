//! `userid*`: visitors are distinguished by a cookie with an ID, in the format of Apache's mod_uid (`v1`) or of nginx
//! (`on`). The cookie is added after a page has been stored, so that no stored page contains it. It is not an
//! authentication: IDs can be guessed.
//!
//! | file | content |
//! |---|---|
//! | `directives`, `settings`, `rules` | directives, their settings, compiled settings |
//! | `id` | creation, parsing and formatting of IDs |
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

/// Registration of the directives `userid*` and their variables.
pub const FEATURE: Feature =
    Feature::new("userid", directives::ROWS).compiled_by(rules::compile).with_variables(variables::VARIABLES);
