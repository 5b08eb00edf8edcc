//! The cache part of the upstream family, and Myriad's own cache directives.

use myriad_policy::{Grace, Invalidate, Methods, StatusMatch, UseStale, ValidFor};

use super::{
    Arguments, Contexts, Directive, Done, FLAG, FamilyRow, ONE, Set, at_least, set,
    zone::{cache_path, use_cache_zone},
};
use crate::{
    settings::{CacheValid, CacheZone, OriginSettings, PersonalCookies, Settings},
    text::Text,
};

const HSL: Contexts = Contexts::HSL;

const fn row(name: &'static str, arity: super::Arity, set: Set, doc: &'static str) -> FamilyRow {
    FamilyRow::new(Directive::new(name, HSL, arity, set, doc))
}

pub(super) static ROWS: &[FamilyRow] = &[
    FamilyRow::new(
        Directive::new("cache_path", Contexts::HTTP, at_least(2), Set::Http(cache_path), "A cache zone.")
            .repeats()
            .differs(
                "pages are in memory too, which `memory=SIZE` caps; `max_fetches=` and `fetch_queue=` bound what is fetched at once; files have nginx's names and a format of their own, \
                 and are always written beside the cache, as with `use_temp_path=off`; `loader_files` is 10000 by \
                 default; one zone may serve fastcgi_cache and proxy_cache alike",
            ),
    ),
    FamilyRow::new(
        Directive::new("cache", HSL, ONE, Set::Origin(cache), "The zone that answers are kept in.")
            .default("off"),
    ),
    FamilyRow::new(Directive::new(
        "cache_key",
        HSL,
        ONE,
        set!(Origin.text => Some cache.key),
        "What a page is kept under.",
    ))
    .computed_by(|protocol| Some(protocol.default_key()?.documented)),
    FamilyRow::new(
        Directive::new(
            "cache_valid",
            HSL,
            at_least(1),
            Set::Origin(cache_valid),
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
            Set::Origin(cache_methods),
            "Methods whose answers are kept.",
        )
        .default("GET HEAD"),
    ),
    FamilyRow::new(
        Directive::new(
            "cache_min_uses",
            HSL,
            ONE,
            set!(Origin.number => cache.min_uses),
            "How often a page must be asked for before it is kept.",
        )
        .default("1"),
    ),
    row("cache_bypass", at_least(1), Set::Origin(cache_bypass), "When the cache is not read."),
    row("no_cache", at_least(1), Set::Origin(no_cache), "When an answer is not kept."),
    FamilyRow::new(
        Directive::new(
            "cache_lock",
            HSL,
            FLAG,
            set!(Origin.flag => cache.lock),
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
            set!(Origin.millis => Some cache.lock_rules.timeout_ms),
            "How long to wait for another's fetch.",
        )
        .differs("no limit unless written"),
    ),
    FamilyRow::new(
        Directive::new(
            "cache_lock_age",
            HSL,
            ONE,
            set!(Origin.millis => Some cache.lock_rules.age_ms),
            "When one request more may fetch.",
        )
        .differs("no limit unless written"),
    ),
    FamilyRow::new(
        Directive::new(
            "cache_use_stale",
            HSL,
            at_least(1),
            Set::Origin(use_stale),
            "When an expired page may be sent.",
        )
        .default("off")
        .differs("`updating` holds for ten minutes after the expiry unless `*_cache_stale` says otherwise; nginx has no bound but `inactive`"),
    ),
    FamilyRow::new(
        Directive::new(
            "cache_stale",
            HSL,
            super::TWO,
            Set::Origin(cache_stale),
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
            Set::Origin(cache_negative),
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
            Set::Origin(cache_invalidate),
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
            set!(Origin.flag => cache.background_update),
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
            set!(Origin.flag => cache.revalidate),
            "Whether an expired page is refreshed with a conditional request.",
        )
        .default("off"),
    ),
    FamilyRow::with_fields(
        Directive::new(
            "cache_convert_head",
            HSL,
            FLAG,
            set!(Origin.flag => cache.convert_head),
            "Whether HEAD becomes GET for the cache.",
        )
        .differs("where it is off, HEAD is asked of the origin and its answer is not stored")
        .default("on"),
    ),
    row(
        "cache_max_range_offset",
        ONE,
        set!(Origin.size => Some cache.max_range_offset),
        "Ranges beyond it pass the cache by.",
    ),
];

/// Directives that are the same for every protocol.
pub(super) static OWN: &[Directive] = &[
    Directive::new(
        "personal_cookies",
        HSL,
        at_least(1),
        Set::Settings(personal_cookies),
        "Cookies whose bearer neither reads nor fills a shared page.",
    )
    .default("default")
    .own(),
    Directive::new(
        "cache_rfc9111",
        HSL,
        FLAG,
        set!(Settings.flag => cache_rules.rfc9111),
        "Whether RFC 9111 holds where nginx goes other ways.",
    )
    .default("off")
    .own(),
];

fn cache(origin: &mut OriginSettings, args: &mut Arguments<'_>) -> Done {
    let zone = args.text(0)?;
    origin.cache.zone = if zone.value == b"off" {
        CacheZone::Off
    } else {
        if zone.is_empty() {
            return Err(args.invalid(0, "the name of a zone, or off"));
        }
        use_cache_zone(args, &zone);
        CacheZone::Zone(zone)
    };
    Ok(())
}

/// Statuses a bare time covers, as in nginx.
const DEFAULT_STATUSES: [u16; 3] = [200, 301, 302];

fn cache_valid(origin: &mut OriginSettings, args: &mut Arguments<'_>) -> Done {
    let list = &mut origin.cache.valid;
    args.start(list);
    let last = args.len() - 1;
    let text = args.bytes(last).contains(&b'$').then(|| args.text(last)).transpose()?;
    let ms = if text.is_some() { 0 } else { args.millis(last)? };
    let of = |status| CacheValid { valid: ValidFor { status, ms }, text: text.clone() };
    if last == 0 {
        list.extend(DEFAULT_STATUSES.map(|code| of(StatusMatch::Code(code))));
    }
    for index in 0..last {
        let status = match args.bytes(index) {
            b"any" => StatusMatch::Any,
            _ => match args.count(index) {
                Ok(code @ 100..=599) => StatusMatch::Code(code as u16),
                _ => return Err(args.invalid(index, "\"any\" or a status from 100 to 599")),
            },
        };
        list.push(of(status));
    }
    Ok(())
}

fn cache_methods(origin: &mut OriginSettings, args: &mut Arguments<'_>) -> Done {
    let mut methods = Methods::default();
    for index in 0..args.len() {
        methods.post |= args.choice(index, &[("GET", false), ("HEAD", false), ("POST", true)])?;
    }
    origin.cache.methods = methods;
    Ok(())
}

fn all_texts(args: &Arguments<'_>) -> Vec<Text> {
    args.words().iter().map(crate::parsed::Word::to_text).collect()
}

fn cache_bypass(origin: &mut OriginSettings, args: &mut Arguments<'_>) -> Done {
    args.start(&mut origin.cache.bypass);
    origin.cache.bypass.extend(all_texts(args));
    Ok(())
}

fn no_cache(origin: &mut OriginSettings, args: &mut Arguments<'_>) -> Done {
    args.start(&mut origin.cache.no_cache);
    origin.cache.no_cache.extend(all_texts(args));
    Ok(())
}

fn use_stale(origin: &mut OriginSettings, args: &mut Arguments<'_>) -> Done {
    let mut when = UseStale::default();
    let http = !origin.protocol.has_environment();
    let mut off = false;
    for index in 0..args.len() {
        let field = match args.bytes(index) {
            b"error" => &mut when.error,
            b"timeout" => &mut when.timeout,
            b"invalid_header" => &mut when.invalid_header,
            b"updating" => &mut when.updating,
            b"http_500" => &mut when.http_500,
            b"http_502" if http => &mut when.http_502,
            b"http_503" => &mut when.http_503,
            b"http_504" if http => &mut when.http_504,
            b"http_403" => &mut when.http_403,
            b"http_404" => &mut when.http_404,
            b"http_429" => &mut when.http_429,
            b"off" => &mut off,
            _ => {
                return Err(args.invalid(
                    index,
                    "error, timeout, invalid_header, updating, http_500 and the like, or off",
                ));
            }
        };
        *field = true;
    }
    origin.cache.use_stale = if off { UseStale::default() } else { when };
    Ok(())
}

fn cache_stale(origin: &mut OriginSettings, args: &mut Arguments<'_>) -> Done {
    let time = |index| if args.bytes(index) == b"off" { Ok(u64::MAX) } else { args.millis(index) };
    origin.cache.stale = Grace { refresh_ms: time(0)?, failure_ms: time(1)? };
    Ok(())
}

/// Statuses that say that there is no page to see, or none for this request: a redirect or a page would be hidden by such a
/// rule, and a server error has `*_cache_valid`.
fn cache_negative(origin: &mut OriginSettings, args: &mut Arguments<'_>) -> Done {
    let list = &mut origin.cache.negative;
    list.clear();
    let last = args.len() - 1;
    if last == 0 {
        return if args.bytes(0) == b"off" {
            Ok(())
        } else {
            Err(args.invalid(0, "statuses and a time, or off"))
        };
    }
    let valid = args.millis(last)?;
    for index in 0..last {
        match args.count(index) {
            Ok(code @ (403 | 404 | 410 | 451)) => list.push((code as u16, valid)),
            _ => return Err(args.invalid(index, "403, 404, 410 or 451")),
        }
    }
    Ok(())
}

fn cache_invalidate(origin: &mut OriginSettings, args: &mut Arguments<'_>) -> Done {
    let choices =
        [("off", Invalidate::Nothing), ("redirect", Invalidate::Redirects), ("on", Invalidate::Everything)];
    origin.cache.invalidate = args.choice(0, &choices)?;
    Ok(())
}

fn personal_cookies(settings: &mut Settings, args: &mut Arguments<'_>) -> Done {
    let mut cookies = PersonalCookies { builtin: false, names: Vec::new() };
    for index in 0..args.len() {
        match args.bytes(index) {
            b"off" if args.len() == 1 => {}
            b"off" => return Err(args.invalid(index, "alone: \"off\" excludes every name")),
            b"default" => cookies.builtin = true,
            name if name.is_empty() || name[..name.len() - 1].contains(&b'*') => {
                return Err(args.invalid(index, "a cookie's name, `*` only at its end"));
            }
            _ => cookies.names.push(args.text(index)?),
        }
    }
    settings.cache_rules.personal_cookies = cookies;
    Ok(())
}
