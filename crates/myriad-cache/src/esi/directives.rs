//! Rows of the directives.

use myriad_conf::registry::{Arguments, Contexts, Directive, Done, FLAG, ONE, Set, at_least, between};
use myriad_conf::set;
use myriad_conf::settings::Settings;

use super::settings::{EsiSettings, PrivateCache};
use crate::directives::cookie_list;

const HSL: Contexts = Contexts::HSL;
/// Upper bound of `esi_max_includes`. It limits the data stored with each page to a few hundred KB.
const MOST_INCLUDES: u64 = 256;
/// Upper bound of `esi_max_depth`; subrequests have a separate limit.
const DEEPEST: u8 = 16;
/// Upper bound of the time that a part is stored: a day.
const LONGEST_VALID_MS: u64 = 86_400_000;

pub(super) static ROWS: &[Directive] = &[
    Directive::new(
        "esi",
        HSL,
        FLAG,
        set!(Feature<EsiSettings>.flag => on),
        "Whether ESI markup in answers of origins is obeyed, where they say that there is some.",
    )
    .default("off")
    .own(),
    Directive::new(
        "esi_known_cookies",
        HSL,
        at_least(1),
        Set::Settings(known_cookies),
        "Cookies by which known visitors are known who read everybody's page with parts of their own in it, where its origin allows it; \
         `off`. Whoever bears another personal cookie does not.",
    )
    .default("off")
    .own(),
    Directive::new(
        "esi_session_cookies",
        HSL,
        at_least(1),
        Set::Settings(|settings, args| {
            settings.feature_mut::<EsiSettings>().sessions = cookie_list(args)?;
            Ok(())
        }),
        "The known cookies whose value is a secret of one visitor: logins and sessions; `default` is a built-in list, `off` means none. \
         Without one of them, parts are requested without the client's own fields, for all visitors with the same known cookies.",
    )
    .default("default")
    .own(),
    Directive::new(
        "esi_max_includes",
        HSL,
        ONE,
        Set::Settings(max_includes),
        "Most includes of a page; those beyond stay empty.",
    )
    .default("64")
    .own(),
    Directive::new(
        "esi_max_depth",
        HSL,
        ONE,
        Set::Settings(|settings, args| {
            settings.feature_mut::<EsiSettings>().max_depth = args.within(0, 1, DEEPEST)?;
            Ok(())
        }),
        "How deep pages with includes may stand in each other.",
    )
    .default("3")
    .own(),
    Directive::new(
        "esi_timeout",
        HSL,
        ONE,
        set!(Feature<EsiSettings>.millis => timeout),
        "How long a page waits for its parts; then it goes on without them.",
    )
    .default("10s")
    .own(),
    Directive::new(
        "esi_private_cache",
        Contexts::HTTP,
        between(1, 3),
        Set::Settings(private_cache),
        "Memory for parts that are kept for one visitor each: of all of them, of one (`visitor=`), and how long a part is kept at most \
         (`valid=`); `off`.",
    )
    .default("16m visitor=128k valid=1m")
    .own(),
];

fn known_cookies(settings: &mut Settings, args: &mut Arguments<'_>) -> Done {
    let mut known = Vec::new();
    for index in 0..args.len() {
        match args.bytes(index) {
            b"off" if args.len() == 1 => {}
            b"off" => return Err(args.invalid(index, "alone: \"off\" excludes every name")),
            name if name.is_empty() || name == b"*" || name[..name.len() - 1].contains(&b'*') => {
                return Err(args.invalid(index, "a cookie's name, `*` only at its end"));
            }
            _ => known.push(args.text(index)?),
        }
    }
    settings.feature_mut::<EsiSettings>().known = known;
    Ok(())
}

fn max_includes(settings: &mut Settings, args: &mut Arguments<'_>) -> Done {
    let most = args.number(0)?;
    if !(1..=MOST_INCLUDES).contains(&most) {
        return Err(args.invalid(0, format!("between 1 and {MOST_INCLUDES}")));
    }
    settings.feature_mut::<EsiSettings>().max_includes = most;
    Ok(())
}

fn private_cache(settings: &mut Settings, args: &mut Arguments<'_>) -> Done {
    let mut cache = PrivateCache { total: 0, visitor: 128 << 10, valid_ms: 60_000 };
    if args.bytes(0) == b"off" {
        if args.len() > 1 {
            return Err(args.invalid(1, "left out: \"off\" has no bounds"));
        }
        cache = PrivateCache::default();
    } else {
        cache.total = args.size(0)?;
        cache.visitor = cache.visitor.min(cache.total);
        for index in 1..args.len() {
            match args.bytes(index) {
                word if word.starts_with(b"visitor=") => cache.visitor = args.size_after(index, 8)?,
                word if word.starts_with(b"valid=") => cache.valid_ms = args.millis_after(index, 6)?,
                _ => return Err(args.invalid(index, "visitor=SIZE or valid=TIME")),
            }
        }
        // The weight of a visitor's parts is a 32-bit number.
        if cache.visitor > cache.total || cache.visitor >= u64::from(u32::MAX) {
            return Err(args.error(0, "one visitor may not have more than all: make `visitor=` smaller"));
        }
        if cache.valid_ms > LONGEST_VALID_MS {
            return Err(args.error(args.len() - 1, "parts may be kept for a day at most").help("valid=1d"));
        }
    }
    settings.feature_mut::<EsiSettings>().private = cache;
    Ok(())
}
