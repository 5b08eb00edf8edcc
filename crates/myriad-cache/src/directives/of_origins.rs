//! `*_cache*` directives of every origin protocol.

use myriad_conf::registry::{Arity, Contexts, Directive, FLAG, FamilyRow, ONE, Set, TWO, at_least};
use myriad_conf::set;

use super::values;
use crate::settings::CacheSettings;

const HSL: Contexts = Contexts::HSL;

const fn row(name: &'static str, arity: Arity, set: Set, doc: &'static str) -> FamilyRow {
    FamilyRow::new(Directive::new(name, HSL, arity, set, doc))
}

/// Directive with conditions, of which any true condition is sufficient. Repeated directives on a level add conditions.
const fn conditions(name: &'static str, set: Set, doc: &'static str) -> FamilyRow {
    FamilyRow::new(Directive::new(name, HSL, at_least(1), set, doc).repeats())
}

/// Directives of every origin protocol.
pub(crate) static OF_ORIGINS: &[FamilyRow] = &[
    FamilyRow::new(
        Directive::new("cache", HSL, ONE, Set::Origin(values::cache), "The zone that answers are kept in.")
            .default("off"),
    ),
    FamilyRow::new(Directive::new(
        "cache_key",
        HSL,
        ONE,
        set!(Own<CacheSettings>.text => Some key),
        "What a page is kept under.",
    ))
    .computed_by(|protocol| Some(protocol.default_key().documented)),
    FamilyRow::new(
        Directive::new(
            "cache_valid",
            HSL,
            at_least(1),
            Set::Origin(values::cache_valid),
            "How long an answer is fresh.",
        )
        .repeats()
        .differs("`any` stores neither a 5xx nor what says something of the request (400, 405, 411 to 417, 431); these and 501 need their own code, whatever the answer says of its freshness; the time may hold variables, and where it comes to nothing or 0 nothing is stored; it ends on a tick of 64 ms rather than of a second"),
    ),
    FamilyRow::new(
        Directive::new(
            "cache_methods",
            HSL,
            at_least(1),
            Set::Origin(values::cache_methods),
            "Methods whose answers are kept.",
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
            "How often a page must be asked for before it is kept.",
        )
        .default("1"),
    ),
    conditions("cache_bypass", Set::Origin(values::cache_bypass), "When the cache is not read."),
    conditions("no_cache", Set::Origin(values::no_cache), "When an answer is not kept."),
    FamilyRow::new(
        Directive::new(
            "cache_lock",
            HSL,
            FLAG,
            set!(Own<CacheSettings>.flag => lock),
            "Whether one request fetches a page for all.",
        )
        .default("on")
        .differs("on unless written off; waiters are woken by event"),
    ),
    FamilyRow::new(
        Directive::new(
            "cache_lock_timeout",
            HSL,
            ONE,
            set!(Own<CacheSettings>.millis => Some lock_rules.timeout_ms),
            "How long to wait for another's fetch.",
        )
        .differs("no limit unless written"),
    ),
    FamilyRow::new(
        Directive::new(
            "cache_lock_age",
            HSL,
            ONE,
            set!(Own<CacheSettings>.millis => Some lock_rules.age_ms),
            "When one request more may fetch.",
        )
        .differs("no limit unless written"),
    ),
    FamilyRow::new(
        Directive::new(
            "cache_use_stale",
            HSL,
            at_least(1),
            Set::Origin(values::use_stale),
            "When an expired page may be sent.",
        )
        .repeats()
        .default("off")
        .differs("`updating` holds for ten minutes after the expiry unless `*_cache_stale` says otherwise; nginx has no bound but `inactive`"),
    ),
    FamilyRow::new(
        Directive::new(
            "cache_stale",
            HSL,
            TWO,
            Set::Origin(values::cache_stale),
            "How long an expired page may be sent: while it is refreshed, and when its refresh fails; `off` for as long as `inactive` leaves it.",
        )
        .default("10m off")
        .own(),
    ),
    FamilyRow::new(
        Directive::new(
            "cache_negative",
            HSL,
            at_least(1),
            Set::Origin(values::cache_negative),
            "Statuses that are kept for so long though the answer says no-cache, no-store or max-age=0.",
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
            "What the answer to POST, PUT, DELETE and the like makes of stored pages.",
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
            "Whether an expired page is refreshed behind the visitor's back.",
        )
        .default("off")
        .differs("a page with a validity of 10 s or more that is asked for often is refreshed before it expires"),
    ),
    FamilyRow::new(
        Directive::new(
            "cache_revalidate",
            HSL,
            FLAG,
            set!(Own<CacheSettings>.flag => revalidate),
            "Whether an expired page is refreshed with a conditional request.",
        )
        .default("off"),
    ),
    FamilyRow::with_fields(
        Directive::new(
            "cache_convert_head",
            HSL,
            FLAG,
            set!(Own<CacheSettings>.flag => Some convert_head),
            "Whether HEAD becomes GET for the cache.",
        )
        .differs("where it is off, HEAD is asked of the origin and its answer is not stored")
        .default("on"),
    ),
    row(
        "cache_max_range_offset",
        ONE,
        set!(Own<CacheSettings>.size => Some max_range_offset),
        "Ranges beyond it pass the cache by.",
    ),
];
