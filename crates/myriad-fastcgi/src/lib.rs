//! FastCGI without I/O: records, params, demultiplexing and the CGI response head.
//!
//! The crate is the web server's side of the [FastCGI 1.0 specification]: [`request`] writes what a responder
//! reads, [`Decoder`] reads what a responder writes, [`cgi`] parses the head at the front of its output, [`pool_status`] what php-fpm tells of
//! itself. One
//! request at a time runs on a connection, as php-fpm requires, so there is nothing to multiplex.
//!
//! [FastCGI 1.0 specification]: https://fastcgi-archives.github.io/FastCGI_Specification.html

#![forbid(unsafe_code)]

pub mod cgi;
mod decoder;
mod fatal_error;
pub mod params;
pub mod pool_status;
pub mod record;
pub mod request;

pub use decoder::{DecodeError, Decoder, End, Event};
pub use fatal_error::FatalErrors;
pub use params::Params;
pub use pool_status::PoolStatus;
pub use record::{Header, ProtocolStatus, RecordType};
