//! The fields of a stored page's origin.

use myriad_http::Fields;
use myriad_http::lines::{line_named, lines_named};
use myriad_page::{Page, PageView};

/// What `$upstream_http_*` shows of a stored page. Of one that is whole the page itself, in which a field is looked for when it is read.
pub enum StoredFields {
    /// A page of the store.
    Page(Page),
    /// The head of a page that still arrives.
    Head(Box<Fields>),
}

impl StoredFields {
    /// The values of a field, in order. Never those of a cookie, which are one visitor's.
    pub fn get_all<'a>(&'a self, name: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
        let (page, head) = match self {
            Self::Page(page) => (Some(of_page(page.meta(), name)), None),
            Self::Head(fields) => (None, Some(fields.get_all(name))),
        };
        page.into_iter().flatten().chain(head.into_iter().flatten())
    }
}

/// The same of a page: what visitors are sent, else what is kept from them.
pub fn of_page<'a>(page: PageView<'a>, name: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
    let lines = if line_named(page.lines(), name).is_some() { page.lines() } else { page.unsent() };
    let lines = if name.eq_ignore_ascii_case(b"set-cookie") { b"" } else { lines };
    lines_named(lines, name)
}
