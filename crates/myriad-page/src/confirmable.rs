//! Conditions by which an origin can confirm a stored page.

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

/// Conditions with their values, for one stored page.
pub type Conditions = SmallVec<[(Condition, Vec<u8>); 2]>;

impl Condition {
    /// Field of the request.
    pub const fn known(self) -> Known {
        match self {
            Condition::NoneMatch => Known::IfNoneMatch,
            Condition::ModifiedSince => Known::IfModifiedSince,
        }
    }

    /// Name of the field.
    pub const fn field(self) -> &'static [u8] {
        match self {
            Condition::NoneMatch => b"If-None-Match",
            Condition::ModifiedSince => b"If-Modified-Since",
        }
    }

    /// Name of the FastCGI parameter.
    pub const fn param(self) -> &'static [u8] {
        match self {
            Condition::NoneMatch => b"HTTP_IF_NONE_MATCH",
            Condition::ModifiedSince => b"HTTP_IF_MODIFIED_SINCE",
        }
    }
}

/// Conditions for a page: none if the origin gave no validator, nor for other statuses than 200 and 206, as in nginx.
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
