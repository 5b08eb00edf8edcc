//! `*_cache*` directives of every origin protocol.

use myriad_conf::registry::{Arity, Contexts, Directive, FLAG, FamilyRow, ONE, Set, TWO, at_least};
use myriad_conf::set;

use super::values;
use crate::settings::CacheSettings;

const HSL: Contexts = Contexts::HSL;

const fn row(name: &'static str, arity: Arity, set: Set, doc: &'static str) -> FamilyRow {
    FamilyRow::new(Directive::new(name, HSL, arity, set, doc))
}

/// Returns the row of a directive whose arguments are conditions. The directive applies if at least one condition is
/// true. Repeated directives on a level add conditions.
const fn conditions(name: &'static str, set: Set, doc: &'static str) -> FamilyRow {
    FamilyRow::new(Directive::new(name, HSL, at_least(1), set, doc).repeats())
}

/// Rows of the `*_cache*` directives of every origin protocol.
pub(crate) static OF_ORIGINS: &[FamilyRow] = &[
    FamilyRow::new(
        Directive::new("cache", HSL, ONE, Set::Origin(values::cache), "Cache zone for responses.")
            .default("off"),
    ),
    FamilyRow::new(Directive::new(
        "cache_key",
        HSL,
        ONE,
        set!(Own<CacheSettings>.text => Some key),
        "Cache key.",
    ))
    .computed_by(|protocol| Some(protocol.default_key().documented)),
    FamilyRow::new(
        Directive::new(
            "cache_valid",
            HSL,
            at_least(1),
            Set::Origin(values::cache_valid),
            "Freshness lifetime of responses, by status.",
        )
        .repeats()
        .differs("`any` includes neither 5xx nor statuses that depend on the request (400, 405, 411 to 417, 431); these and 501 \
             must be listed explicitly, even if the response specifies a lifetime; the time may contain variables, and \
             nothing is stored if it evaluates to an empty text or 0; it expires with a resolution of 64 ms instead of one \
             second"),
    ),
    FamilyRow::new(
        Directive::new(
            "cache_methods",
            HSL,
            at_least(1),
            Set::Origin(values::cache_methods),
            "Methods whose responses are stored.",
        )
        .repeats()
        .default("GET HEAD"),
    ),
    FamilyRow::new(
        Directive::new(
            "cache_min_uses",
            HSL,
            ONE,
            set!(Own<CacheSettings>.number => min_uses),
            "Number of requests after which a page is stored.",
        )
        .default("1"),
    ),
    conditions("cache_bypass", Set::Origin(values::cache_bypass), "Conditions under which the cache is not read."),
    FamilyRow::new(
        Directive::new(
            "cache_share",
            HSL,
            at_least(1),
            Set::Origin(values::cache_share),
            "Conditions under which a GET, HEAD or POST request uses the cache although its method or `*_cache_bypass` \
                 excludes it; `*_no_cache` then does not apply. POST becomes GET without body. The response is stored only if \
                 it specifies its lifetime.",
        )
        .repeats()
        .own(),
    ),
    conditions("no_cache", Set::Origin(values::no_cache), "Conditions under which a response is not stored."),
    FamilyRow::new(
        Directive::new(
            "cache_lock",
            HSL,
            FLAG,
            set!(Own<CacheSettings>.flag => lock),
            "Coalesces concurrent requests for a page into one fetch.",
        )
        .default("on")
        .differs("enabled by default; waiting requests are woken by events"),
    ),
    FamilyRow::new(
        Directive::new(
            "cache_lock_timeout",
            HSL,
            ONE,
            set!(Own<CacheSettings>.millis => Some lock_rules.timeout_ms),
            "Maximum wait for another request's fetch.",
        )
        .differs("unlimited by default"),
    ),
    FamilyRow::new(
        Directive::new(
            "cache_lock_age",
            HSL,
            ONE,
            set!(Own<CacheSettings>.millis => Some lock_rules.age_ms),
            "Time after which one more request may fetch the page.",
        )
        .differs("unlimited by default"),
    ),
    FamilyRow::new(
        Directive::new(
            "cache_use_stale",
            HSL,
            at_least(1),
            Set::Origin(values::use_stale),
            "Cases in which an expired page may be served.",
        )
        .repeats()
        .default("off")
        .differs("`updating` applies for ten minutes after the expiry unless set by `*_cache_stale`; in nginx only `inactive` limits it"),
    ),
    FamilyRow::new(
        Directive::new(
            "cache_stale",
            HSL,
            TWO,
            Set::Origin(values::cache_stale),
            "Maximum time after the expiry for which a page may be served: while it is refreshed, and if the refresh fails; \
                 `off` means until it is removed by `inactive`.",
        )
        .default("10m off")
        .own(),
    ),
    FamilyRow::new(
        Directive::new(
            "cache_adaptive",
            HSL,
            ONE,
            Set::Origin(values::cache_adaptive),
            "Limits the validity that a response sets to half the time for which the content of the page has been equal, but \
                 not below this time; to an hour if the content changed within the last day, and to 10 seconds directly \
                 after a purge.",
        )
        .default("off")
        .own(),
    ),
    FamilyRow::new(
        Directive::new(
            "cache_negative",
            HSL,
            at_least(1),
            Set::Origin(values::cache_negative),
            "Statuses that are stored for the given time even if the response has no-cache, no-store or max-age=0.",
        )
        .default("off")
        .own(),
    ),
    FamilyRow::new(
        Directive::new(
            "cache_invalidate",
            HSL,
            ONE,
            Set::Origin(values::cache_invalidate),
            "Effect of responses to unsafe methods (POST, PUT, DELETE and others) on stored pages.",
        )
        .default("off")
        .own(),
    ),
    FamilyRow::new(
        Directive::new(
            "cache_background_update",
            HSL,
            FLAG,
            set!(Own<CacheSettings>.flag => background_update),
            "Refreshes expired pages in the background.",
        )
        .default("off")
        .differs("a frequently requested page with a lifetime of 10 s or more is refreshed before it expires"),
    ),
    FamilyRow::new(
        Directive::new(
            "cache_revalidate",
            HSL,
            FLAG,
            set!(Own<CacheSettings>.flag => revalidate),
            "Refreshes expired pages with conditional requests.",
        )
        .default("off"),
    ),
    FamilyRow::with_fields(
        Directive::new(
            "cache_convert_head",
            HSL,
            FLAG,
            set!(Own<CacheSettings>.flag => Some convert_head),
            "Converts HEAD to GET for the cache.",
        )
        .differs("if it is off, HEAD requests are sent to the origin and their responses are not stored")
        .default("on"),
    ),
    row(
        "cache_max_range_offset",
        ONE,
        set!(Own<CacheSettings>.size => Some max_range_offset),
        "Offset beyond which range requests bypass the cache.",
    ),
];
