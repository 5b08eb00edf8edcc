//! `$upstream_http_*` of a stored page: the fields that its origin has sent, also those that are kept from visitors.

use myriad_http::Fields;
use myriad_http::lines::{line_named, lines_named};

use myriad_exchange::exchange::Request;
use myriad_page::{PageMeta, PageView};

/// Keeps with a page what the configuration reads of its origin's fields and no visitor is sent; what `fields` has not stays as
/// it was in the `older` lines. Never cookies, which are one visitor's.
pub(crate) fn keep(request: &Request, meta: PageMeta, fields: &Fields, older: &[u8]) -> PageMeta {
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

/// Has `$upstream_http_*` show the fields of a stored page. Nothing is done where nothing in the configuration reads them, nor for
/// whom the page was just fetched: the whole head of the origin is at hand then.
pub(crate) fn show(request: &mut Request, page: PageView<'_>) {
    if request.runtime().origin_fields.is_empty() || request.cache.journey.fetched {
        return;
    }
    let mut fields = Fields::new();
    for name in &request.runtime().origin_fields {
        let name = name.as_bytes();
        let lines = if line_named(page.lines(), name).is_some() { page.lines() } else { page.unsent() };
        lines_named(lines, name).for_each(|value| fields.push(name, value));
    }
    request.cache.origin_fields = Some(Box::new(fields));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{head, keyed, site, store};

    /// What is shown of a page of these fields, of which one is hidden and some are read.
    fn shown(fetched: bool) -> Option<Vec<(String, String)>> {
        let read =
            "add_header X-Seen \"$upstream_http_x_a $upstream_http_x_gone $upstream_http_set_cookie\";";
        let site = site(&format!("fastcgi_hide_header X-Gone; fastcgi_ignore_headers Set-Cookie; {read}"));
        let mut exchange = keyed(&site, &[]);
        let sent =
            head(200, &[("X-A", "1"), ("X-A", "2"), ("X-Gone", "3"), ("X-B", "4"), ("Set-Cookie", "a=b")]);
        let page = store(&mut exchange, &sent, 60_000);
        let meta = keep(&exchange.request, page.meta().to_owned(), &sent.fields, b"");
        assert_eq!(meta.view().unsent(), b"x-gone: 3\r\n");
        exchange.request.cache.journey.fetched = fetched;
        show(&mut exchange.request, meta.view());
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let fields = exchange.request.cache.origin_fields.as_deref()?;
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
    fn page_that_was_just_fetched_is_told_by_its_own_head() {
        assert_eq!(shown(true), None);
    }

    #[test]
    fn field_that_a_confirmation_does_not_name_stays() {
        let site = site("add_header X-Seen $upstream_http_x_gone; fastcgi_hide_header X-Gone;");
        let mut exchange = keyed(&site, &[]);
        let page = store(&mut exchange, &head(200, &[]), 60_000);
        let kept = |fields: &[(&str, &str)]| {
            let older = b"x-gone: 3\r\n";
            let meta = keep(&exchange.request, page.meta().to_owned(), &head(304, fields).fields, older);
            meta.view().unsent().to_vec()
        };
        assert_eq!(kept(&[]), b"x-gone: 3\r\n");
        assert_eq!(kept(&[("X-Gone", "5")]), b"x-gone: 5\r\n");
    }
}
