//! FastCGI origins (`fastcgi_*`).

mod compile;
mod directives;
mod hint;
mod language;
mod place;
mod settings;

pub(super) use compile::PROTOCOL;
