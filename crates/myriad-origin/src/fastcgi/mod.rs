//! FastCGI origins (`fastcgi_*`).

mod compile;
mod directives;
mod hint;
mod language;
mod place;
mod pool;
mod settings;
mod variables;

pub(super) use compile::PROTOCOL;
pub(crate) use pool::begin;
