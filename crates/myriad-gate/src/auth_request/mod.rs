//! `auth_request`: a subrequest says whether the visitor may come in.

mod check;
mod compile;
mod directives;
mod settings;

pub(super) use compile::check;
pub use compile::{assigned, unasked};
pub use directives::ROWS;
pub(super) use settings::AuthRequestSettings;

#[cfg(test)]
mod tests;
