//! URL, tags and labels by which purges find a page.

use std::borrow::Cow;

use myriad_http::uri::parse_host;
use myriad_http::{Known, ResponseHead};
use myriad_policy::{PurgeSubject, Tags};

use myriad_exchange::exchange::Request;
use myriad_store::page::PageMarks;

/// Returns the URL and tags by which purges find the response to a request. Logs a warning if there are too many tags.
pub(crate) fn marks_of(request: &Request, head: &ResponseHead) -> PageMarks {
    let tags = Tags::of(&head.fields);
    if tags.is_truncated() {
        let text = "upstream sent more tags than allowed per page (512, or 16 KB): the page will be purged with any tag";
        request.log(myriad_log::LogLevel::Warn, format_args!("{text}"));
    }
    let marks = PageMarks::new(request.scheme(), &request.route.host, &target_of(request), &tags);
    match own_port(request) {
        Some(port) => marks.with_port(port),
        None => marks,
    }
}

/// Returns the port of the page's URL if its key contains a `Host` field with a port other than the default; `None` if
/// pages are shared by all ports.
fn own_port(request: &Request) -> Option<u16> {
    let sent = request.received.head.known(Known::Host)?;
    port_in_key(sent, request.scheme(), &request.cache.key)
}

/// Returns the port in a `Host` field if it is not the default port of the scheme and the key contains the field.
fn port_in_key(host_field: &[u8], scheme: &str, key: &[u8]) -> Option<u16> {
    let default = if scheme == "https" { 443 } else { 80 };
    let port = parse_host(host_field).ok()?.port.filter(|port| *port != default)?;
    key.windows(host_field.len()).any(|part| part == host_field).then_some(port)
}

/// Returns the labels by which a purge of the request's URL finds the page.
pub(crate) fn address_of(request: &Request) -> [u64; 2] {
    PurgeSubject::new(request.scheme().as_bytes(), &request.route.host, &target_of(request)).address()
}

/// Returns the path and query as the client sent them, before rewrites; for a subrequest of another URI, such as an
/// include, the path and query of the subrequest.
pub(crate) fn target_of(request: &Request) -> Cow<'_, [u8]> {
    let own = || match &request.route.args[..] {
        b"" => request.route.uri.clone(),
        args => [&request.route.uri[..], b"?", args].concat(),
    };
    match request.sent_uri() {
        Some(sent) if request.has_own_target() || request.cache.slice.get().is_some() => Cow::Borrowed(sent),
        _ => Cow::Owned(own()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn port_counts_where_the_key_holds_it() {
        assert_eq!(port_in_key(b"localhost:81", "http", b"localhost:81/a"), Some(81));
        assert_eq!(port_in_key(b"localhost:81", "http", b"/a"), None);
        assert_eq!(port_in_key(b"localhost:80", "http", b"localhost:80/a"), None);
        assert_eq!(port_in_key(b"localhost:80", "https", b"localhost:80/a"), Some(80));
    }
}
