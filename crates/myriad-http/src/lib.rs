//! HTTP semantics without I/O: heads, fields, ranges, dates, URIs and the HTTP/1 codec.

#![forbid(unsafe_code)]
