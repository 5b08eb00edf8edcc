//! Header fields of the origin's response from which a page in the cache was stored.

use myriad_http::Fields;
use myriad_http::lines::{line_named, lines_named};
use myriad_store::page::{Page, PageView};

/// Header fields for `$upstream_http_*` of a page served from the cache.
pub enum StoredFields {
    /// Complete page, whose fields are searched when a variable is read.
    Page(Page),
    /// Header fields of a page whose body is still arriving.
    Head(Box<Fields>),
}

impl StoredFields {
    /// Returns the values of the origin's response field `name` in order. `Set-Cookie` of a complete page is never
    /// returned, because cookies belong to another client.
    pub fn get_all<'a>(&'a self, name: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
        let (page, head) = match self {
            Self::Page(page) => (Some(of_page(page.meta(), name)), None),
            Self::Head(fields) => (None, Some(fields.get_all(name))),
        };
        page.into_iter().flatten().chain(head.into_iter().flatten())
    }
}

/// Returns the values of the field `name` of a stored page: the values sent to clients or, if there are none, the
/// values that are stored but not sent. Returns no values for `Set-Cookie`.
pub fn of_page<'a>(page: PageView<'a>, name: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
    let lines = if line_named(page.lines(), name).is_some() { page.lines() } else { page.unsent() };
    let lines = if name.eq_ignore_ascii_case(b"set-cookie") { b"" } else { lines };
    lines_named(lines, name)
}
