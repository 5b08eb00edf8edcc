//! `Cache-Control` (RFC 9111 §5.2, RFC 5861, RFC 8246).

use smallvec::SmallVec;

/// The directives of all `Cache-Control` fields of a message; times are seconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CacheControl {
    /// `max-age`.
    pub max_age: Option<u64>,
    /// `s-maxage`.
    pub s_maxage: Option<u64>,
    /// `stale-while-revalidate` (RFC 5861 §3).
    pub stale_while_revalidate: Option<u64>,
    /// `stale-if-error` (RFC 5861 §4).
    pub stale_if_error: Option<u64>,
    /// `min-fresh`.
    pub min_fresh: Option<u64>,
    /// `max-stale`; `u64::MAX` without an argument.
    pub max_stale: Option<u64>,
    /// `no-cache` without field names.
    pub no_cache: bool,
    /// The field names of `no-cache="…"`, in lower case.
    pub no_cache_fields: SmallVec<[Box<[u8]>; 1]>,
    /// `no-store`.
    pub no_store: bool,
    /// `private` without field names.
    pub private: bool,
    /// The field names of `private="…"`, in lower case.
    pub private_fields: SmallVec<[Box<[u8]>; 1]>,
    /// `public`.
    pub public: bool,
    /// `must-revalidate`.
    pub must_revalidate: bool,
    /// `proxy-revalidate`.
    pub proxy_revalidate: bool,
    /// `must-understand`.
    pub must_understand: bool,
    /// `only-if-cached`.
    pub only_if_cached: bool,
    /// `no-transform`.
    pub no_transform: bool,
    /// `immutable` (RFC 8246).
    pub immutable: bool,
}

impl CacheControl {
    /// Reads the values of all `Cache-Control` fields, in order.
    pub fn parse<'a>(_values: impl IntoIterator<Item = &'a [u8]>) -> Self {
        Self::default()
    }
}
