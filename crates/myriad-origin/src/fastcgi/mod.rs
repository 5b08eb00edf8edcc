//! FastCGI origins (`fastcgi_*`).

mod compile;
mod place;

pub(super) use compile::COMPILED;
