//! `auth_request`: the status of a subrequest decides whether a request is admitted.

mod check;
mod compile;
mod directives;
mod settings;

pub(super) use compile::check;
pub use compile::{assigned, unused_values};
pub use directives::ROWS;
pub(super) use settings::AuthRequestSettings;
