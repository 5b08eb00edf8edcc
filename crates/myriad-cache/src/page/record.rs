//! Stored form of the head of an origin's response.

use std::borrow::Cow;

use myriad_base::calendar::parse_http_date;
use myriad_encode::{Coding, coding_from_token};
use myriad_http::cache_control::CacheControl;
use myriad_http::{Fields, Known, ResponseHead};
use myriad_net::clock::to_wall_ms;
use myriad_policy::{CachePolicy, EntityTag, Lifetime, StoredFields};

use crate::esi;
use myriad_exchange::exchange::Request;
use myriad_exchange::runtime::OriginPlace;
use myriad_origin::connection_listed_fields::ConnectionListedFields;
use myriad_store::page::{PageFacts, PageMarks, PageMeta, ProxiedFacts, StoredDuration, TextEnds, TextParts};

/// Returns the metadata of a page from its head, which arrived at `now`, in milliseconds since the epoch. `removed` is
/// the coding that is removed from the body before it is stored ([`removed_coding`]).
pub(crate) fn meta_of(
    head: &ResponseHead,
    place: &OriginPlace,
    rules: &CachePolicy,
    lifetime: Lifetime,
    now: u64,
    marks: &PageMarks,
    removed: Option<Coding>,
) -> PageMeta {
    let fields = &head.fields;
    let mut lines = Vec::with_capacity(512);
    let nominated = ConnectionListedFields::of(fields);
    for (known, name, value) in StoredFields::new(fields, rules).iter() {
        let own_line = matches!(known, Some(Known::ETag | Known::LastModified))
            || is_omitted(known, removed.is_some(), head.status)
            // The age is stored as the time when the page was generated.
            || known == Some(Known::Age);
        if !own_line && !nominated.has(name) && place.passes(known, name, false) {
            // Stored in this spelling, as for responses from other sources.
            lines.extend_from_slice(if known == Some(Known::ContentType) { b"Content-Type" } else { name });
            lines.extend_from_slice(b": ");
            lines.extend_from_slice(value);
            lines.extend_from_slice(b"\r\n");
        }
    }
    let control = CacheControl::parse(fields.known_all(Known::CacheControl));
    let modified = fields.known(Known::LastModified);
    let modified = modified.and_then(|text| Some((text, parse_http_date(text, now / 1000)?)));
    let tag = fields.known(Known::ETag);
    let tag = tag.and_then(|value| EntityTag::from_origin(value, removed.unwrap_or(Coding::Identity)));
    let parts = TextParts {
        lines: &lines,
        marks: marks.borrowed(),
        media_type: &bare_type(head),
        last_modified: modified.map_or(b"", |(text, _)| text),
        reason: &unusual_reason(head),
        unsent: b"",
        cut: b"",
        history: b"",
    };
    let facts = PageFacts {
        status: head.status,
        ends: TextEnds::of(&parts),
        stored_proxied: (ProxiedFacts {
            expired: fields
                .known(Known::Expires)
                .map(|text| ProxiedFacts::is_over(text, to_wall_ms(now) / 1000)),
            has_cache_control: fields.has(Known::CacheControl),
            no_cache: control.no_cache,
            no_store: control.no_store,
            private: control.private,
            has_last_modified: modified.is_some(),
            has_etag: tag.is_some(),
        })
        .into(),
        tag,
        modified_s: modified.map_or(0, |(_, seconds)| seconds),
        redirects: place.protocol.rewrites_redirects()
            && (fields.has(Known::Location) || fields.has(Known::Refresh)),
        origin_encoded: removed.is_some(),
        no_transform: control.no_transform || removed.is_none() && is_coded(fields),
        stored_lifetime: lifetime.into(),
        response_time: StoredDuration::default(),
    };
    PageMeta::new(facts, parts.join())
}

/// Returns the time from the start of the last attempt to the head of its response; zero if it is unknown.
pub(crate) fn response_time(request: &Request) -> StoredDuration {
    let Some(origin) = &request.origin else { return StoredDuration::default() };
    let header_ms = origin.attempts.get().last().and_then(|attempt| attempt.header_ms);
    StoredDuration::of_ms(header_ms.unwrap_or(0))
}

/// Returns the reason phrase; empty if it is the standard phrase of the status, which is not stored.
fn unusual_reason(head: &ResponseHead) -> Cow<'_, str> {
    if *head.reason == *myriad_http::head::reason_phrase(head.status).as_bytes() {
        return Cow::Borrowed("");
    }
    String::from_utf8_lossy(&head.reason)
}

/// Returns whether a field is not stored because each response sets it itself (`Accept-Ranges`), or because it does not
/// apply to the decoded body (`Content-Encoding`, `Content-Range`).
fn is_omitted(known: Option<Known>, decoded: bool, status: u16) -> bool {
    match known {
        Some(Known::AcceptRanges) => decoded || status == 200,
        Some(Known::ContentEncoding | Known::ContentRange) => decoded,
        _ => false,
    }
}

/// Returns whether the body has a coding that this server cannot decode.
pub(crate) fn is_opaque(fields: &Fields) -> bool {
    fields.known_all(Known::ContentEncoding).any(|token| coding_from_token(token).is_none())
}

/// Returns whether the body has any coding except identity.
fn is_coded(fields: &Fields) -> bool {
    fields.known_all(Known::ContentEncoding).any(|token| coding_from_token(token) != Some(Coding::Identity))
}

/// Returns the coding of an origin's body; `None` without a coding, or with one that this server cannot decode.
pub(crate) fn origin_coding(head: &ResponseHead) -> Option<Coding> {
    let coding = coding_from_token(head.known(Known::ContentEncoding)?)?;
    (coding != Coding::Identity).then_some(coding)
}

/// Returns the coding that is removed from an origin's body before it is stored, so that each client gets the page in a
/// coding that it accepts; `None` if the body is stored as received.
///
/// Only bodies that the location may compress, or that a filter or ESI reads, are decoded: an archive is sent
/// unchanged, so that its checksum remains correct. A partial response and one with `no-transform` are not decoded.
pub(crate) fn removed_coding(request: &Request, head: &ResponseHead) -> Option<Coding> {
    let coding = origin_coding(head)?;
    let place = request.place();
    let media_type = bare_type(head);
    let is_recodable =
        place.offer.covers(&media_type) || place.filters.change(&media_type) || esi::is_marked(request, head);
    let may_transform = !CacheControl::parse(head.fields.known_all(Known::CacheControl)).no_transform;
    (is_recodable && may_transform && head.status != 206).then_some(coding)
}

/// Returns the media type in lower case, without parameters.
fn bare_type(head: &ResponseHead) -> Vec<u8> {
    let media_type = head.known(Known::ContentType).unwrap_or_default();
    media_type.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii().to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a response head with this `Content-Encoding`, or without one.
    fn head(coding: Option<&str>) -> ResponseHead {
        let fields = coding.map(|coding| ("Content-Encoding", coding)).into_iter().collect();
        ResponseHead { fields, ..ResponseHead::new(200) }
    }

    #[test]
    fn decodable_codings_are_distinguished_from_opaque_ones() {
        assert_eq!(origin_coding(&head(Some("gzip"))), Some(Coding::Gzip));
        assert_eq!(origin_coding(&head(Some("identity"))), None);
        assert_eq!(origin_coding(&head(None)), None);
        assert!(is_opaque(&head(Some("dcb")).fields));
        assert!(!is_opaque(&head(Some("gzip")).fields));
    }
}
