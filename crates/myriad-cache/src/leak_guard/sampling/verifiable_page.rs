//! Pages that sampled requests can verify.

use myriad_http::Method;
use myriad_http::lines::{each_line, lines_named};
use myriad_policy::{Rendering, VaryRule, is_text};
use myriad_store::Selection;
use myriad_store::page::Page;

use crate::adaptive_validity::contiguous;
use crate::other_codings;
use myriad_exchange::exchange::Request;

/// Maximum length in bytes of a page that is verified.
pub(super) const MAX_BODY: u64 = 1 << 20;

/// Returns whether requests like this one can verify a page: the page is text in memory of at most [`MAX_BODY`] bytes,
/// without content coding, with a status below 500 other than 206; and the request is a GET of a client that uses no
/// special rule (slices, `*_cache_share`, the key for other codings).
pub(super) fn is_verifiable(request: &Request, page: &Page) -> bool {
    let meta = page.meta();
    request.received.head.method() == Method::Get
        && !request.is_subrequest()
        && !request.cache.lookup.stored_only
        && !request.cache.shared_by_condition
        && request.cache.slice.get().is_none()
        && !other_codings::uses_separate_key(request)
        && meta.status < 500
        && meta.status != 206
        && page.stored_body().is_none()
        && page.body_len() <= MAX_BODY
        && is_text(meta.media_type())
        && lines_named(meta.lines(), b"content-encoding").next().is_none()
}

/// Returns status, fields and body of a stored page, for comparisons; [`Rendering::shows_counters`] is false.
pub(super) fn rendering_of(page: &Page) -> Rendering {
    let meta = page.meta();
    Rendering {
        status: meta.status,
        media_type: bare_type(meta.media_type()),
        location: lines_named(meta.lines(), b"location").next().unwrap_or_default().into(),
        fields: each_line(meta.lines()).filter_map(split_line).collect(),
        body: contiguous(&page.body()).into_owned(),
        shows_counters: false,
    }
}

/// Returns the fields by which a page with this secondary key varies; none if it has no secondary key.
pub(super) fn varies_of(selection: Option<&Selection>) -> VaryRule {
    let rule = selection.and_then(|selection| VaryRule::parse([&*selection.selector]).ok());
    rule.unwrap_or_default()
}

/// Splits a field line into name and value; `None` if it has no colon.
fn split_line(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = line.iter().position(|byte| *byte == b':')?;
    Some((&line[..at], line[at + 1..].trim_ascii()))
}

/// Returns a media type in lower case, without parameters.
pub(super) fn bare_type(media_type: &[u8]) -> Box<[u8]> {
    let bare = media_type.split(|byte| *byte == b';').next().unwrap_or_default();
    bare.trim_ascii().to_ascii_lowercase().into()
}
