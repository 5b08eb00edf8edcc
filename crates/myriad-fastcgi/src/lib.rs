//! FastCGI without I/O: records, params, demultiplexing and the CGI response head.

#![forbid(unsafe_code)]
