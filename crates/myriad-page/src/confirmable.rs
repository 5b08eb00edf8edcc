//! What an origin can be asked to confirm of a stored page.

use myriad_http::Known;
use myriad_policy::EntityTag;
use smallvec::SmallVec;

use crate::Page;

/// A condition that an origin may answer with a 304.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// `If-None-Match`.
    NoneMatch,
    /// `If-Modified-Since`.
    ModifiedSince,
}

/// What an origin is asked to confirm, with the values.
pub type Conditions = SmallVec<[(Condition, Vec<u8>); 2]>;

impl Condition {
    /// The field.
    pub const fn known(self) -> Known {
        match self {
            Condition::NoneMatch => Known::IfNoneMatch,
            Condition::ModifiedSince => Known::IfModifiedSince,
        }
    }

    /// The field's name.
    pub const fn field(self) -> &'static [u8] {
        match self {
            Condition::NoneMatch => b"If-None-Match",
            Condition::ModifiedSince => b"If-Modified-Since",
        }
    }

    /// The name of the FastCGI parameter.
    pub const fn param(self) -> &'static [u8] {
        match self {
            Condition::NoneMatch => b"HTTP_IF_NONE_MATCH",
            Condition::ModifiedSince => b"HTTP_IF_MODIFIED_SINCE",
        }
    }
}

/// What the origin can be asked about a page: nothing where it gave no validator, nor for what is no plain page (nginx
/// asks about 200 and 206 alone).
pub fn conditions(page: &Page) -> Conditions {
    let meta = page.meta();
    let mut conditions = Conditions::new();
    if !matches!(meta.status, 200 | 206) {
        return conditions;
    }
    if let Some((text, _)) = meta.last_modified() {
        conditions.push((Condition::ModifiedSince, text.to_vec()));
    }
    if let Some(tag) = meta.tag.as_ref().and_then(EntityTag::for_origin) {
        conditions.push((Condition::NoneMatch, tag));
    }
    conditions
}
