//! HTTP origins (`proxy_*`): requests, and rewriting of responses.

mod compile;
mod compile_rewriting;
mod cookies;
mod directives;
mod fields;
mod language;
mod pass_url;
mod place;
mod protocol;
mod request;
mod rewriting;
mod settings;
#[cfg(test)]
mod tests;
mod uri;
pub(crate) mod url;
mod variables;

pub(super) use compile::{PROTOCOL, compile_target, sent_fields};
pub(super) use directives::set_header_row;
pub(super) use pass_url::PassUrl;
pub(super) use place::HttpPlace;
