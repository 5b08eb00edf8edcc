//! Variables of the request, its connection and its response, by theme.

use super::write::RequestVariable;
use super::{answer, body, connection, fields, files, request, site, time};

/// Built-in variables of requests that this crate defines, one list per theme.
pub const ROWS: &[&[RequestVariable]] = &[
    request::ROWS,
    fields::ROWS,
    body::ROWS,
    files::ROWS,
    connection::ROWS,
    time::ROWS,
    answer::ROWS,
    site::ROWS,
];
