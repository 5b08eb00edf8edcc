//! Directives of the cache that are the same for every protocol.

use myriad_conf::registry::{Arguments, Contexts, Directive, Done, FLAG, Set, at_least};
use myriad_conf::set;
use myriad_conf::settings::Settings;

use crate::settings::{CacheRules, PersonalCookies};

/// Directives that are the same for every protocol.
pub(crate) static ROWS: &[Directive] = &[
    Directive::new(
        "personal_cookies",
        Contexts::HSL,
        at_least(1),
        Set::Settings(personal_cookies),
        "Cookies whose bearer neither reads nor fills a shared page.",
    )
    .default("default")
    .own(),
    Directive::new(
        "cache_rfc9111",
        Contexts::HSL,
        FLAG,
        set!(Feature<CacheRules>.flag => rfc9111),
        "Whether RFC 9111 holds where nginx goes other ways.",
    )
    .default("off")
    .own(),
    Directive::new(
        "cache_no_vary_search",
        Contexts::HSL,
        FLAG,
        set!(Feature<CacheRules>.flag => no_vary_search),
        "Whether keys leave out the arguments of a path that an origin's `No-Vary-Search` says make no other page.",
    )
    .default("on")
    .own(),
];

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
    settings.feature_mut::<CacheRules>().personal_cookies = cookies;
    Ok(())
}
