//! What changes bodies on their way at a place.

use myriad_script::Template;

use super::SsiRules;

/// The filters of a place that has any.
#[derive(Default)]
pub(crate) struct BodyFilters {
    /// `gunzip`.
    pub gunzip: bool,
    /// `ssi`.
    pub ssi: Option<SsiRules>,
    /// `sub_filter`.
    pub sub: Option<SubRules>,
    /// Whether `charset` may convert bodies, whose rules stand in [`super::Place::charset`].
    pub converts: bool,
}

impl BodyFilters {
    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        !self.gunzip && !self.converts && self.sub.is_none() && self.ssi.is_none()
    }
}

/// `sub_filter*`.
pub(crate) struct SubRules {
    /// What is looked for, and what stands in its place.
    pub pairs: Vec<(Template, Template)>,
    /// `sub_filter_once`.
    pub once: bool,
    /// `sub_filter_last_modified`.
    pub last_modified: bool,
    /// `sub_filter_types`.
    pub types: TypeSet,
}

/// Media types that a directive names.
pub(crate) struct TypeSet(pub Option<Vec<Box<[u8]>>>);

impl TypeSet {
    /// Whether a media type, without its parameters, is one of them. Where `*` is written, none at all is too.
    pub(crate) fn cover(&self, media_type: &[u8]) -> bool {
        self.0.as_ref().is_none_or(|types| types.iter().any(|known| media_type.eq_ignore_ascii_case(known)))
    }
}
