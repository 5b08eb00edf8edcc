//! Entity tags and the conditions on them (RFC 9110 §8.8.3, §13.1).

/// An entity tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntityTag<'a> {
    /// Whether it is weak, `W/"…"`.
    pub weak: bool,
    /// What stands between the quotes.
    pub opaque: &'a [u8],
}

impl<'a> EntityTag<'a> {
    /// Reads one entity tag with nothing around it.
    pub fn parse(_value: &'a [u8]) -> Option<Self> {
        None
    }

    /// Strong comparison: both are strong and the same (RFC 9110 §8.8.3.2).
    pub fn matches_strongly(self, other: EntityTag<'_>) -> bool {
        !self.weak && !other.weak && self.opaque == other.opaque
    }

    /// Weak comparison: the same but for weakness (RFC 9110 §8.8.3.2).
    pub fn matches_weakly(self, other: EntityTag<'_>) -> bool {
        self.opaque == other.opaque
    }
}

/// The entity tags of an `If-Match` or `If-None-Match` value, in order; what is no entity tag is passed over.
pub fn entity_tags(_value: &[u8]) -> impl Iterator<Item = EntityTag<'_>> {
    std::iter::empty()
}

/// Whether `If-None-Match: value` holds for a representation with `etag`, by weak comparison: a `true` lets the
/// request go on, a `false` is answered with 304 (RFC 9110 §13.1.2).
pub fn if_none_match(_value: &[u8], _etag: Option<&[u8]>) -> bool {
    true
}

/// Whether `If-Match: value` holds for a representation with `etag`, by strong comparison: a `false` is answered
/// with 412 (RFC 9110 §13.1.1).
pub fn if_match(_value: &[u8], _etag: Option<&[u8]>) -> bool {
    true
}

/// Whether `If-Range: value` holds, so that the range may be sent: the strong entity tag, or the exact
/// modification time in seconds (RFC 9110 §13.1.5).
pub fn if_range(_value: &[u8], _etag: Option<&[u8]>, _last_modified_s: Option<u64>) -> bool {
    false
}
