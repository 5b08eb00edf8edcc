//! FastCGI origins (`fastcgi_*`).

mod compile;
mod directives;
mod hint;
mod language;
mod place;
mod settings;
mod variables;

pub(super) use compile::PROTOCOL;
