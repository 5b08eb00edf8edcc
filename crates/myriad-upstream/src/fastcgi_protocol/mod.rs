//! FastCGI without I/O: records, parameters, demultiplexing and the CGI response head.
//!
//! The module implements the web server side of the [FastCGI 1.0 specification]: [`request`] encodes the input of a
//! responder, [`ResponderDecoder`] decodes its output, [`cgi`] parses the head at the start of that output, and
//! [`pool_status`] parses the status of php-fpm. A connection carries a single request at a time, as php-fpm requires,
//! so no multiplexing is needed.
//!
//! [FastCGI 1.0 specification]: https://fastcgi-archives.github.io/FastCGI_Specification.html

pub mod cgi;
mod decoder;
mod fatal_error;
pub mod params;
pub mod pool_status;
pub mod record;
pub mod request;

pub use decoder::{EndRequest, Event, FastCgiError, ResponderDecoder};
pub use fatal_error::FatalErrors;
pub use params::Params;
pub use pool_status::PoolStatus;
pub use record::{Header, ProtocolStatus, RecordType};
