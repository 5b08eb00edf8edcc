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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{head, keyed, site, store};

    /// Returns the fields of a page of which one field is hidden and some are used by the configuration.
    fn shown(fetched: bool) -> Option<Vec<(String, String)>> {
        let read =
            "add_header X-Seen \"$upstream_http_x_a $upstream_http_x_gone $upstream_http_set_cookie\";";
        let site = site(&format!("fastcgi_hide_header X-Gone; fastcgi_ignore_headers Set-Cookie; {read}"));
        let mut exchange = keyed(&site, &[]);
        let sent =
            head(200, &[("X-A", "1"), ("X-A", "2"), ("X-Gone", "3"), ("X-B", "4"), ("Set-Cookie", "a=b")]);
        let page = store(&mut exchange, &sent, 60_000);
        let meta = store_fields(&exchange.request, page.meta().to_owned(), &sent.fields, b"");
        assert_eq!(meta.view().unsent(), b"x-gone: 3\r\n");
        exchange.request.cache.lookup.fetched = fetched;
        show_head(&mut exchange.request, meta.view());
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let Some(StoredFields::Head(fields)) = &exchange.request.cache.origin_fields else { return None };
        Some(fields.iter().map(|(name, value)| (text(name), text(value))).collect())
    }

    #[test]
    fn stored_page_shows_what_is_read_of_its_origin_hidden_or_not_and_no_cookie() {
        let mut fields = shown(false).expect("fields");
        fields.sort();
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(fields, [pair("x-a", "1"), pair("x-a", "2"), pair("x-gone", "3")]);
    }

    #[test]
    fn page_of_the_store_is_asked_when_a_field_is_read() {
        let site = site("add_header X-Seen $upstream_http_x_a; fastcgi_ignore_headers Set-Cookie;");
        let mut exchange = keyed(&site, &[]);
        let page =
            store(&mut exchange, &head(200, &[("X-A", "1"), ("X-A", "2"), ("Set-Cookie", "a=b")]), 60_000);
        show(&mut exchange.request, &page);
        let shown = exchange.request.cache.origin_fields.as_ref().expect("a page");
        let values = |name: &'static str| shown.get_all(name.as_bytes()).collect::<Vec<_>>();
        assert_eq!(values("x-a"), [b"1", b"2"]);
        assert!(values("x-b").is_empty() && values("set-cookie").is_empty());
    }

    #[test]
    fn just_fetched_page_uses_its_own_head() {
        assert_eq!(shown(true), None);
    }

    #[test]
    fn field_that_a_confirmation_does_not_name_stays() {
        let site = site("add_header X-Seen $upstream_http_x_gone; fastcgi_hide_header X-Gone;");
        let mut exchange = keyed(&site, &[]);
        let page = store(&mut exchange, &head(200, &[]), 60_000);
        let stored_lines = |fields: &[(&str, &str)]| {
            let older = b"x-gone: 3\r\n";
            let meta =
                store_fields(&exchange.request, page.meta().to_owned(), &head(304, fields).fields, older);
            meta.view().unsent().to_vec()
        };
        assert_eq!(stored_lines(&[]), b"x-gone: 3\r\n");
        assert_eq!(stored_lines(&[("X-Gone", "5")]), b"x-gone: 5\r\n");
    }
}
