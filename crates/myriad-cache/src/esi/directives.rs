//! Directives of `esi*`.

use myriad_conf::Word;
use myriad_conf::registry::{
    Arguments, Contexts, Directive, FLAG, ONE, Set, SetterResult, at_least, between,
};
use myriad_conf::set;
use myriad_conf::settings::Settings;

use super::settings::{EsiSettings, PrivateCache};
use crate::directives::cookie_list;

const HSL: Contexts = Contexts::HSL;
/// Maximum value of `esi_max_includes`. It limits the data about a page's includes to a few hundred KB.
const MAX_INCLUDES: u64 = 256;
/// Maximum value of `esi_max_depth`; other subrequests have a separate limit.
const MAX_DEPTH: u8 = 16;
/// Maximum time in milliseconds for which a visitor's part of a page is stored (`valid=`): one day.
const MAX_VALID_MS: u64 = 86_400_000;

pub(super) static ROWS: &[Directive] = &[
    Directive::new(
        "esi",
        HSL,
        FLAG,
        set!(Feature<EsiSettings>.flag => on),
        "Processes ESI markup in responses that declare it.",
    )
    .default("off")
    .own(),
    Directive::new(
        "esi_known_cookies",
        HSL,
        at_least(1),
        Set::Settings(known_cookies),
        "Cookies of known visitors, who get shared pages with fragments of their own if the origin allows it; `off` for \
             none. Clients with another personal cookie do not get shared pages.",
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
        "Known cookies whose value is a secret of one visitor, such as logins and sessions; `default` is a built-in \
             list, `off` means none. Without such a cookie, fragments are requested without the client's own headers, for \
             all visitors with the same known cookies.",
    )
    .default("default")
    .own(),
    Directive::new(
        "esi_max_includes",
        HSL,
        ONE,
        Set::Settings(max_includes),
        "Maximum number of includes in a page; further ones stay empty.",
    )
    .default("64")
    .own(),
    Directive::new(
        "esi_max_depth",
        HSL,
        ONE,
        Set::Settings(|settings, args| {
            settings.feature_mut::<EsiSettings>().max_depth = args.within(0, 1, MAX_DEPTH)?;
            Ok(())
        }),
        "Maximum nesting depth of pages with includes.",
    )
    .default("3")
    .own(),
    Directive::new(
        "esi_timeout",
        HSL,
        ONE,
        set!(Feature<EsiSettings>.millis => timeout),
        "Timeout for the fragments of a page; after it the page is sent without them.",
    )
    .default("10s")
    .own(),
    Directive::new(
        "esi_private_cache",
        Contexts::HTTP,
        between(1, 3),
        Set::Settings(private_cache),
        "Memory for fragments stored per visitor: in total, per visitor (`visitor=`), and the maximum lifetime \
             (`valid=`); `off` disables it.",
    )
    .default("16m visitor=128k valid=1m")
    .own(),
    Directive::new(
        "esi_private_responses",
        HSL,
        at_least(1),
        Set::Settings(|settings, args| {
            let list = &mut settings.feature_mut::<EsiSettings>().responses;
            args.start(list);
            list.extend(args.words().iter().map(Word::to_text));
            Ok(())
        }),
        "Conditions under which the response to a GET request of a known visitor is stored for this visitor, if the origin \
             permits it with `X-Myriad-Private-Cache`.",
    )
    .repeats()
    .own(),
];

fn known_cookies(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let mut known = Vec::new();
    for index in 0..args.len() {
        match args.bytes(index) {
            b"off" if args.len() == 1 => {}
            b"off" => return Err(args.invalid(index, "the only argument: \"off\" excludes every name")),
            name if name.is_empty() || name == b"*" || name[..name.len() - 1].contains(&b'*') => {
                return Err(args.invalid(index, "a cookie name, with `*` only at the end"));
            }
            _ => known.push(args.text(index)?),
        }
    }
    settings.feature_mut::<EsiSettings>().known = known;
    Ok(())
}

fn max_includes(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let most = args.number(0)?;
    if !(1..=MAX_INCLUDES).contains(&most) {
        return Err(args.invalid(0, format!("between 1 and {MAX_INCLUDES}")));
    }
    settings.feature_mut::<EsiSettings>().max_includes = most;
    Ok(())
}

fn private_cache(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let mut cache = PrivateCache { total: 0, visitor: 128 << 10, valid_ms: 60_000 };
    if args.bytes(0) == b"off" {
        if args.len() > 1 {
            return Err(args.invalid(1, "omitted after \"off\""));
        }
        cache = PrivateCache::default();
    } else {
        cache.total = args.size(0)?;
        cache.visitor = cache.visitor.min(cache.total);
        for index in 1..args.len() {
            match args.bytes(index) {
                word if word.starts_with(b"visitor=") => {
                    cache.visitor = args.size_after(index, 8)?;
                    // The size of a visitor's parts is stored as a 32-bit number.
                    if cache.visitor >= u64::from(u32::MAX) {
                        return Err(args.error(index, "\"visitor=\" must be less than 4 GB"));
                    }
                    if cache.visitor > cache.total {
                        return Err(args.error(index, "\"visitor=\" must not exceed the total size"));
                    }
                }
                word if word.starts_with(b"valid=") => {
                    cache.valid_ms = args.millis_after(index, 6)?;
                    if cache.valid_ms > MAX_VALID_MS {
                        let message = "\"valid=\" must be at most one day";
                        return Err(args.error(index, message).help("valid=1d"));
                    }
                }
                _ => return Err(args.invalid(index, "visitor=SIZE or valid=TIME")),
            }
        }
    }
    settings.feature_mut::<EsiSettings>().private = cache;
    Ok(())
}
