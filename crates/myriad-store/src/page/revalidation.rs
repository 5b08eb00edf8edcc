//! Conditions with which an origin can confirm a stored page.

use myriad_http::Known;
use myriad_policy::EntityTag;
use smallvec::SmallVec;

use crate::page::Page;

/// Condition in a request to an origin, which may respond with 304.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RevalidationCondition {
    /// `If-None-Match`.
    NoneMatch,
    /// `If-Modified-Since`.
    ModifiedSince,
}

/// Conditions for the revalidation of one stored page, each with its value.
pub type Conditions = SmallVec<[(RevalidationCondition, Vec<u8>); 2]>;

impl RevalidationCondition {
    /// Returns the header field of the condition.
    pub const fn known_header(self) -> Known {
        match self {
            RevalidationCondition::NoneMatch => Known::IfNoneMatch,
            RevalidationCondition::ModifiedSince => Known::IfModifiedSince,
        }
    }

    /// Returns the name of the header field.
    pub const fn field(self) -> &'static [u8] {
        match self {
            RevalidationCondition::NoneMatch => b"If-None-Match",
            RevalidationCondition::ModifiedSince => b"If-Modified-Since",
        }
    }

    /// Returns the name of the FastCGI parameter for the condition, such as `HTTP_IF_NONE_MATCH`.
    pub const fn param(self) -> &'static [u8] {
        match self {
            RevalidationCondition::NoneMatch => b"HTTP_IF_NONE_MATCH",
            RevalidationCondition::ModifiedSince => b"HTTP_IF_MODIFIED_SINCE",
        }
    }
}

/// Returns the conditions for a page: none if the origin sent no validator, or if the status is neither 200 nor 206, as
/// in nginx.
pub fn conditions(page: &Page) -> Conditions {
    let meta = page.meta();
    let mut conditions = Conditions::new();
    if !matches!(meta.status, 200 | 206) {
        return conditions;
    }
    if let Some((text, _)) = meta.last_modified() {
        conditions.push((RevalidationCondition::ModifiedSince, text.to_vec()));
    }
    if let Some(tag) = meta.tag.as_ref().and_then(EntityTag::for_origin) {
        conditions.push((RevalidationCondition::NoneMatch, tag));
    }
    conditions
}
