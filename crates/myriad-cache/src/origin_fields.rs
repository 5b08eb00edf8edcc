//! `$upstream_http_*` for a stored page: the header fields of its origin, including those hidden from clients.

use myriad_http::Fields;
use myriad_http::lines::{line_named, lines_named};

use myriad_exchange::exchange::{Request, StoredFields, of_page};
use myriad_store::page::{Page, PageMeta, PageView};

/// Adds to a page's metadata the origin's header fields that the configuration reads (`$upstream_http_*`) and that are
/// not sent to clients.
///
/// A field that `fields` does not contain is taken from the lines `older`. Cookies are never stored, because they are
/// private.
pub(crate) fn store_fields(request: &Request, meta: PageMeta, fields: &Fields, older: &[u8]) -> PageMeta {
    let mut unsent = Vec::new();
    for name in &request.runtime().origin_fields {
        let name = name.as_bytes();
        if name == b"set-cookie" || line_named(meta.view().lines(), name).is_some() {
            continue;
        }
        let before = unsent.len();
        fields.get_all(name).for_each(|value| write_line(name, value, &mut unsent));
        if unsent.len() == before {
            lines_named(older, name).for_each(|value| write_line(name, value, &mut unsent));
        }
    }
    if unsent.is_empty() { meta } else { meta.with_unsent(&unsent) }
}

fn write_line(name: &[u8], value: &[u8], out: &mut Vec<u8>) {
    for part in [name, b": ", value, b"\r\n"] {
        out.extend_from_slice(part);
    }
}

/// Sets the values of `$upstream_http_*` to the header fields of a stored page, if the configuration uses any and this
/// request did not fetch the page.
pub(crate) fn show(request: &mut Request, page: &Page) {
    if is_shown(request) {
        request.cache.origin_fields = Some(StoredFields::Page(page.clone()));
    }
}

/// Returns whether the stored fields are used. False if the configuration uses no `$upstream_http_*`, or if this
/// request fetched the page and therefore has the origin's complete head.
fn is_shown(request: &Request) -> bool {
    !request.runtime().origin_fields.is_empty() && !request.cache.lookup.fetched
}

/// Sets the values of `$upstream_http_*` like [`show`], to the header fields of a page in flight.
pub(crate) fn show_head(request: &mut Request, page: PageView<'_>) {
    if !is_shown(request) {
        return;
    }
    let mut fields = Fields::new();
    for name in &request.runtime().origin_fields {
        let name = name.as_bytes();
        of_page(page, name).for_each(|value| fields.push(name, value));
    }
    request.cache.origin_fields = Some(StoredFields::Head(Box::new(fields)));
}
