//! How an origin is asked, and what of its answer goes to the visitor.

pub(crate) mod answer;
pub(crate) mod bind;
mod cgi;
mod compiled;
pub(crate) mod early_hints;
mod fastcgi;
pub(crate) mod fetch;
pub(crate) mod group;
mod http;
pub(crate) mod make;
pub(crate) mod nominated;
pub(crate) mod observer;
pub(crate) mod pace;
pub(crate) mod protocols;
pub(crate) mod read_ahead;
pub(crate) mod respond;
pub(crate) mod rewrite;
mod scgi;
mod tls;
pub(crate) mod unbuffered;
pub(crate) mod upgrade;
pub(crate) mod upgrade_protocols;
pub(crate) mod upload;
pub(crate) mod uwsgi;
