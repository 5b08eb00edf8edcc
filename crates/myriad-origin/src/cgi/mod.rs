//! Common code of protocols that send a CGI environment (RFC 3875): FastCGI, SCGI and uwsgi.

pub(super) mod environment;
mod pairs;
mod payload;
mod place;
mod protocol;
mod table;

pub(super) use pairs::Pairs;
pub(super) use payload::length;
pub(super) use place::CgiPlace;
pub(super) use protocol::{CgiOrigin, CgiProtocol};
pub(super) use table::table;
