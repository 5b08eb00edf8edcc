//! HTTP origins (`proxy_*`): the request that they get, and what of their answer is made this server's own.

mod compile;
mod compile_rewriting;
mod cookies;
mod fields;
mod place;
mod protocol;
mod request;
mod rewriting;
mod uri;
mod url;

pub(super) use compile::COMPILED;
