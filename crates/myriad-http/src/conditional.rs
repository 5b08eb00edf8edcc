//! Entity tags and conditional requests (RFC 9110 §8.8.3, §13.1).

use myriad_base::calendar::parse_http_date;

/// Entity tag of a message (RFC 9110 §8.8.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntityTag<'a> {
    /// True for a weak tag, `W/"…"`.
    pub weak: bool,
    /// Text of the entity tag between its quotes.
    pub opaque: &'a [u8],
}

impl<'a> EntityTag<'a> {
    /// Parses a value that is a single entity tag; `None` for any other value. The `W` of a weak tag must be
    /// upper-case.
    pub fn parse(value: &'a [u8]) -> Option<Self> {
        match Self::parse_prefix(value)? {
            (tag, []) => Some(tag),
            _ => None,
        }
    }

    /// Parses the entity tag at the start of `value`, and returns it with the remaining bytes; `None` if there is none.
    fn parse_prefix(value: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let (weak, quoted) = match value {
            [b'W', b'/', quoted @ ..] => (true, quoted),
            _ => (false, value),
        };
        let rest = quoted.strip_prefix(b"\"")?;
        let end = memchr::memchr(b'"', rest)?;
        Some((Self { weak, opaque: &rest[..end] }, &rest[end + 1..]))
    }

    /// Returns whether both tags are strong and have the same text (strong comparison, RFC 9110 §8.8.3.2).
    pub fn matches_strongly(self, other: EntityTag<'_>) -> bool {
        !self.weak && !other.weak && self.opaque == other.opaque
    }

    /// Returns whether the tags have the same text, weak or not (weak comparison, RFC 9110 §8.8.3.2).
    pub fn matches_weakly(self, other: EntityTag<'_>) -> bool {
        self.opaque == other.opaque
    }
}

/// Returns the entity tags in the value of `If-Match` or `If-None-Match`, in order; invalid members are skipped.
pub fn entity_tags(value: &[u8]) -> impl Iterator<Item = EntityTag<'_>> {
    let mut rest = value;
    std::iter::from_fn(move || {
        loop {
            rest = rest.trim_ascii_start();
            if rest.is_empty() {
                return None;
            }
            // A tag may contain commas, so the list cannot be split at commas first.
            if let Some((tag, after)) = EntityTag::parse_prefix(rest) {
                let after = after.trim_ascii_start();
                rest = next_member(after);
                if after.is_empty() || after.starts_with(b",") {
                    return Some(tag);
                }
            } else {
                rest = next_member(rest);
            }
        }
    })
}

fn next_member(rest: &[u8]) -> &[u8] {
    memchr::memchr(b',', rest).map_or(&[], |comma| &rest[comma + 1..])
}

/// Returns whether the condition `If-None-Match: value` holds for a representation with `etag`, by weak comparison:
/// `value` does not contain the tag. `*` does not hold for any existing representation; any other value holds if `etag`
/// is missing or invalid.
///
/// If the condition does not hold, the response to a GET or HEAD is a 304 (RFC 9110 §13.1.2).
pub fn if_none_match(value: &[u8], etag: Option<&[u8]>) -> bool {
    if value.trim_ascii() == b"*" {
        return false;
    }
    let Some(etag) = etag.and_then(EntityTag::parse) else { return true };
    !entity_tags(value).any(|tag| tag.matches_weakly(etag))
}

/// Returns whether the condition `If-Match: value` holds for a representation with `etag`, by strong comparison:
/// `value` contains the tag. `*` holds for every existing representation; any other value does not hold if `etag` is
/// missing or invalid.
///
/// If the condition does not hold, the response is a 412 (RFC 9110 §13.1.1).
pub fn if_match(value: &[u8], etag: Option<&[u8]>) -> bool {
    if value.trim_ascii() == b"*" {
        return true;
    }
    let Some(etag) = etag.and_then(EntityTag::parse) else { return false };
    entity_tags(value).any(|tag| tag.matches_strongly(etag))
}

/// Returns whether the condition `If-Range: value` holds, so that the range may be sent (RFC 9110 §13.1.5): `value` is
/// a strong entity tag equal to `etag`, or a date equal to `last_modified_s`, the modification time of the
/// representation in seconds since the Unix epoch. Does not hold if that property of the representation is `None`.
pub fn if_range(value: &[u8], etag: Option<&[u8]>, last_modified_s: Option<u64>) -> bool {
    let value = value.trim_ascii();
    if value.ends_with(b"\"") {
        let tags = EntityTag::parse(value).zip(etag.and_then(EntityTag::parse));
        return tags.is_some_and(|(asked, own)| asked.matches_strongly(own));
    }
    // No clock is available, so two-digit years are interpreted relative to the modification time.
    last_modified_s.is_some_and(|own| parse_http_date(value, own) == Some(own))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn if_none_match_compares_weakly() {
        let matching =
            [r#""a""#, r#"W/"a""#, r#""x", "a""#, r#" "x" , W/"a" "#, "*", r#""x,y","a""#, r#"junk, "a""#];
        for value in matching {
            assert!(!if_none_match(value.as_bytes(), Some(br#""a""#)), "{value}");
            assert!(!if_none_match(value.as_bytes(), Some(br#"W/"a""#)), "{value}");
        }
        let other = [r#""b""#, r#"w/"a""#, "a", r#""a"#, "", r#""A""#, r#""a"x"#, r#""a" "a""#, r#""x,"a""#];
        for value in other {
            assert!(if_none_match(value.as_bytes(), Some(br#""a""#)), "{value}");
        }
    }

    #[test]
    fn if_match_compares_strongly() {
        assert!(if_match(br#""x", "a""#, Some(br#""a""#)));
        assert!(if_match(b"*", Some(br#""a""#)));
        assert!(if_match(b"*", None));
        assert!(!if_match(br#"W/"a""#, Some(br#""a""#)));
        assert!(!if_match(br#""a""#, Some(br#"W/"a""#)));
        assert!(!if_match(br#""a""#, None));
    }

    #[test]
    fn a_representation_without_an_entity_tag_matches_only_the_star() {
        assert!(if_none_match(br#""a""#, None));
        assert!(!if_none_match(b"*", None));
    }

    #[test]
    fn if_range_wants_the_strong_tag_or_the_exact_time() {
        let date = b"Sun, 06 Nov 1994 08:49:37 GMT";
        assert!(if_range(br#""a""#, Some(br#""a""#), None));
        assert!(!if_range(br#"W/"a""#, Some(br#"W/"a""#), None));
        assert!(!if_range(br#""b""#, Some(br#""a""#), Some(784_111_777)));
        assert!(if_range(date, None, Some(784_111_777)));
        assert!(!if_range(date, None, Some(784_111_778)));
        assert!(!if_range(date, Some(br#""a""#), None));
        assert!(!if_range(b"", Some(br#""a""#), Some(0)));
        assert!(if_range(b"Sunday, 06-Nov-94 08:49:37 GMT", None, Some(784_111_777)));
    }

    #[test]
    fn the_list_is_read_tag_by_tag() {
        let tags: Vec<_> = entity_tags(br#""a", W/"b,c" ,, bad, "d"#).collect();
        assert_eq!(tags.len(), 2);
        assert_eq!((tags[0].weak, tags[0].opaque), (false, &b"a"[..]));
        assert_eq!((tags[1].weak, tags[1].opaque), (true, &b"b,c"[..]));
    }

    #[test]
    fn random_lists_never_panic_and_never_loop() {
        let mut random = fastrand::Rng::with_seed(6);
        for _ in 0..20_000 {
            let value: Vec<u8> =
                (0..random.usize(..24)).map(|_| *random.choice(b"W/\", ab*").unwrap()).collect();
            assert!(entity_tags(&value).count() <= value.len());
        }
    }
}
