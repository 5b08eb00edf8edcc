//! All variables, by theme.

use super::write::Row;
use super::{
    access, answer, body, cache, certificate, connection, fields, files, moment, origin, pass, request, site,
    tls,
};

/// Every variable that has a value.
pub fn rows() -> impl Iterator<Item = &'static Row> {
    let themes = [
        request::ROWS,
        fields::ROWS,
        body::ROWS,
        files::ROWS,
        connection::ROWS,
        moment::ROWS,
        answer::ROWS,
        site::ROWS,
        access::ROWS,
        tls::ROWS,
        certificate::ROWS,
        pass::ROWS,
        origin::ROWS,
        cache::ROWS,
    ];
    themes.into_iter().flatten()
}
