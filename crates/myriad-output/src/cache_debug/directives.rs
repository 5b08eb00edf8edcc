//! Directives `cache_debug` and `cache_status`, and their parsers.

use myriad_conf::registry::{Arguments, Contexts, Directive, Set, SetterResult, at_least, network};
use myriad_conf::settings::Settings;

use super::settings::{CacheDebug, CacheStatusField};

pub(super) static ROWS: &[Directive] = &[
    Directive::new(
        "cache_debug",
        Contexts::HSL,
        at_least(1),
        Set::Settings(cache_debug),
        "Adds `X-Cache` and `X-Cache-Age` with the cache status, and the cache key for permitted clients that request it.",
    )
    .default("off")
    .own(),
    Directive::new(
        "cache_status",
        Contexts::HSL,
        at_least(1),
        Set::Settings(cache_status),
        "Adds `Cache-Status` (RFC 9211) with the cache status and its reason: `on`, or the name of this cache; with \
             `hits=off` only for responses that are not cache hits.",
    )
    .default("off")
    .own(),
];

/// Parses `cache_status on|off|NAME [hits=on|off]`. A name must be a token of structured fields (RFC 9651 section
/// 3.3.4).
fn cache_status(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let name = match args.bytes(0) {
        b"on" => "Myriad",
        b"off" => "",
        name => {
            let begins = name.first().is_some_and(|first| first.is_ascii_alphabetic() || *first == b'*');
            let is_in_it = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~:/".contains(byte);
            let name = std::str::from_utf8(name)
                .ok()
                .filter(|name| begins && name.bytes().all(|byte| is_in_it(&byte)));
            name.ok_or_else(|| args.invalid(0, "`on`, `off`, or a name such as cache-1.example.com"))?
        }
    };
    let name = name.to_owned();
    let without_hits = match args.len() {
        1 => false,
        2 if args.bytes(1) == b"hits=on" => false,
        2 if args.bytes(1) == b"hits=off" => true,
        _ => return Err(args.invalid(1, "`hits=on` or `hits=off` alone")),
    };
    *settings.feature_mut() = CacheStatusField { name, without_hits };
    Ok(())
}

/// Parses `cache_debug on|off [from ADDRESS...]`.
fn cache_debug(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let on = args.choice(0, &[("on", true), ("off", false)])?;
    let mut from = None;
    if args.len() > 1 {
        if !on || args.bytes(1) != b"from" || args.len() == 2 {
            let wanted = "\"from\" followed by addresses, networks or \"all\"";
            return Err(args.invalid(1, wanted));
        }
        let networks = from.insert(Vec::new());
        for index in 2..args.len() {
            let word = args.bytes(index).to_vec();
            networks.push(network(args, index, &word)?);
        }
    }
    *settings.feature_mut() = CacheDebug { on, from };
    Ok(())
}
