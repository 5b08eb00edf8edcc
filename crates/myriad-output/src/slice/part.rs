//! Validation of a response that contains a slice.

use myriad_http::content_range::ContentRange;
use myriad_http::lines::line_named;
use myriad_policy::PageEncoding;

use myriad_exchange::exchange::{ContentResponse, ResponseSource, Slice};

/// Slice in a response, and properties of the representation to which it belongs.
pub(super) struct SlicePart {
    /// `Content-Range` of the slice.
    pub(super) range: ContentRange,
    /// Total size of the representation, in bytes.
    pub(super) complete: u64,
    /// Entity tag of the representation; `None` if the response has none.
    pub(super) tag: Option<Vec<u8>>,
}

/// Returns the slice in a response. Returns an error (a text for the error log) if the response is not the requested
/// slice. With `etags`, the generated entity tag of a file is used.
pub(super) fn part(answer: &ContentResponse, slice: Slice, etags: bool) -> Result<SlicePart, String> {
    let lines = match &answer.source {
        ResponseSource::Page(page) => page.meta().lines(),
        _ => b"",
    };
    let named = |name: &[u8]| line_named(&answer.lines, name).or_else(|| line_named(lines, name));
    let range = named(b"content-range").and_then(ContentRange::parse);
    let range = range.ok_or("invalid range in slice response")?;
    let complete = range.complete.ok_or("no complete length in slice response")?;
    let expected = slice.start..slice.start.saturating_add(slice.size).min(complete);
    if range.range != expected {
        let (got, wanted) = (&range.range, &expected);
        return Err(format!(
            "unexpected range in slice response: {}-{}, expected: {}-{}",
            got.start, got.end, wanted.start, wanted.end
        ));
    }
    let tag = match answer.tag(etags) {
        Some(tag) => {
            let mut text = Vec::new();
            tag.write(PageEncoding::IDENTITY, &mut text);
            Some(text)
        }
        None => named(b"etag").map(<[u8]>::to_vec),
    };
    Ok(SlicePart { range, complete, tag })
}
