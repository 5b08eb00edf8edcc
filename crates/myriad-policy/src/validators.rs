//! Entity tags of stored pages, and evaluation of conditional requests (RFC 9110 §13).

mod entity_tag;

use myriad_base::calendar::parse_http_date;
use myriad_http::conditional::{EntityTag as SentTag, entity_tags};
use myriad_http::{Fields, Known};

pub use entity_tag::{EntityTag, PageEncoding};

/// Validators of a page in the encoding that will be served.
#[derive(Clone, Copy, Debug)]
pub struct StoredValidators<'a> {
    /// Entity tag of the page; `None` if it has none.
    pub tag: Option<&'a EntityTag>,
    /// Encoding that will be served.
    pub encoding: PageEncoding,
    /// `Last-Modified`, in seconds since the epoch; `None` if the page has none.
    pub last_modified_s: Option<u64>,
}

/// nginx's `if_modified_since`: comparison of `If-Modified-Since` with the page's `Last-Modified`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IfModifiedSince {
    /// `off`: `If-Modified-Since` is ignored, and the page is considered modified.
    Off,
    /// `exact`: unmodified if both times are equal.
    #[default]
    Exact,
    /// `before`: unmodified if `Last-Modified` is not later than the time in the request.
    Before,
}

/// Result of the preconditions of a GET or HEAD request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PreconditionOutcome {
    /// Serve the page: no precondition prevents it.
    Pass,
    /// Respond with 304.
    NotModified,
    /// Respond with 412.
    Failed,
}

/// Evaluates the preconditions in the order of RFC 9110 §13.2.2, for a GET or HEAD whose response would be a 200.
/// `now_s` is the time in seconds since the epoch, needed for dates with two-digit years.
pub fn judge_conditions(
    request: &Fields,
    stored: &StoredValidators<'_>,
    mode: IfModifiedSince,
    now_s: u64,
) -> PreconditionOutcome {
    if request.has(Known::IfMatch) {
        if !names_page(request, Known::IfMatch, stored, Comparison::Strong) {
            return PreconditionOutcome::Failed;
        }
    } else if let Some(since) = date(request, Known::IfUnmodifiedSince, now_s)
        && stored.last_modified_s.is_some_and(|modified| modified > since)
    {
        return PreconditionOutcome::Failed;
    }
    // `If-None-Match` overrides `If-Modified-Since` (RFC 9110 §13.1.3).
    if request.has(Known::IfNoneMatch) {
        let named = names_page(request, Known::IfNoneMatch, stored, Comparison::Weak);
        return if named { PreconditionOutcome::NotModified } else { PreconditionOutcome::Pass };
    }
    match date(request, Known::IfModifiedSince, now_s) {
        Some(since) if is_unmodified(stored.last_modified_s, since, mode) => PreconditionOutcome::NotModified,
        _ => PreconditionOutcome::Pass,
    }
}

/// Returns whether the value of an `If-Range` field matches the stored page, so that a part may be sent (RFC 9110
/// §13.1.5): it is a strong tag of the same bytes in the same encoding, or exactly the time of `Last-Modified`.
pub fn if_range_holds(value: &[u8], stored: &StoredValidators<'_>, now_s: u64) -> bool {
    if let Some(sent) = SentTag::parse(value.trim_ascii()) {
        return stored.tag.is_some_and(|tag| tag.is_exactly(sent, stored.encoding));
    }
    let date = parse_http_date(value, now_s);
    date.is_some() && date == stored.last_modified_s
}

/// Comparison function for entity tags (RFC 9110 §8.8.3.2).
#[derive(Clone, Copy, PartialEq, Eq)]
enum Comparison {
    Strong,
    Weak,
}

/// Returns whether the field `name` (`If-Match` or `If-None-Match`) is `*` or has a tag of the stored page, in any
/// encoding. The strong comparison accepts no weak tags.
fn names_page(request: &Fields, name: Known, stored: &StoredValidators<'_>, comparison: Comparison) -> bool {
    request.known_all(name).any(|value| {
        value.trim_ascii() == b"*"
            || stored.tag.is_some_and(|tag| {
                entity_tags(value).any(|sent| {
                    tag.is_same_page(sent)
                        && (comparison == Comparison::Weak || !(sent.weak || tag.is_weak()))
                })
            })
    })
}

fn is_unmodified(modified: Option<u64>, since: u64, mode: IfModifiedSince) -> bool {
    match (modified, mode) {
        (None, _) | (_, IfModifiedSince::Off) => false,
        (Some(modified), IfModifiedSince::Exact) => modified == since,
        (Some(modified), IfModifiedSince::Before) => modified <= since,
    }
}

fn date(request: &Fields, name: Known, now_s: u64) -> Option<u64> {
    parse_http_date(request.known(name)?, now_s)
}

#[cfg(test)]
mod tests;
