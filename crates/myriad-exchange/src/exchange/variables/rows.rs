//! The variables of the request, its connection and its answer, by theme.

use super::write::Row;
use super::{answer, body, connection, fields, files, moment, request, site};

/// The variables of the core, a list each theme.
pub const ROWS: &[&[Row]] = &[
    request::ROWS,
    fields::ROWS,
    body::ROWS,
    files::ROWS,
    connection::ROWS,
    moment::ROWS,
    answer::ROWS,
    site::ROWS,
];
