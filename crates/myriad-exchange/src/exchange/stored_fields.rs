//! Header fields of the origin for a stored page.

use myriad_http::Fields;
use myriad_http::lines::{line_named, lines_named};
use myriad_store::page::{Page, PageView};

/// Fields that `$upstream_http_*` returns for a stored page. For a complete page this is the page itself, which is
/// searched when a field is read.
pub enum StoredFields {
    /// Page of the store.
    Page(Page),
    /// Head of a page that is still being received.
    Head(Box<Fields>),
}

impl StoredFields {
    /// Returns the values of a field, in order. Cookies are never returned, because they belong to a single client.
    pub fn get_all<'a>(&'a self, name: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
        let (page, head) = match self {
            Self::Page(page) => (Some(of_page(page.meta(), name)), None),
            Self::Head(fields) => (None, Some(fields.get_all(name))),
        };
        page.into_iter().flatten().chain(head.into_iter().flatten())
    }
}

/// Returns the values from a page: of the fields that are sent to clients, otherwise of those that are not sent.
pub fn of_page<'a>(page: PageView<'a>, name: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
    let lines = if line_named(page.lines(), name).is_some() { page.lines() } else { page.unsent() };
    let lines = if name.eq_ignore_ascii_case(b"set-cookie") { b"" } else { lines };
    lines_named(lines, name)
}
