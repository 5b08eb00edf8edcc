//! Directives of shared fetches.

use myriad_conf::registry::{Arguments, Contexts, Directive, Set, SetterResult, at_least};
use myriad_conf::settings::Settings;

use super::settings::{KeyedInput, SharedFetchSettings};

pub(super) static ROWS: &[Directive] = &[
    Directive::new(
        "shared_fetch_headers",
        Contexts::HSL,
        at_least(1),
        Set::Settings(shared_fetch_headers),
        "Forwards only listed headers to the origin on shared fetches (on), and adds names to the list.",
    )
    .default("off")
    .repeats()
    .own(),
    Directive::new(
        "cache_key_field",
        Contexts::HSL,
        at_least(1),
        Set::Settings(cache_key_field),
        "Request header in cache keys, and its recognized values; a shared fetch forwards the value from the key.",
    )
    .repeats()
    .group("cache_key_input")
    .own(),
    Directive::new(
        "cache_key_cookie",
        Contexts::HSL,
        at_least(1),
        Set::Settings(cache_key_cookie),
        "Cookie in cache keys, and its recognized values; a shared fetch forwards the value from the key.",
    )
    .repeats()
    .group("cache_key_input")
    .own(),
];

fn shared_fetch_headers(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let shared = settings.feature_mut::<SharedFetchSettings>();
    args.start(&mut shared.fields);
    if args.first {
        shared.on = false;
    }
    for index in 0..args.len() {
        match args.bytes(index) {
            b"off" if args.len() == 1 && args.first => return Ok(()),
            b"off" => return Err(args.invalid(index, "the only argument: \"off\" excludes every name")),
            b"on" => {}
            name if name.eq_ignore_ascii_case(b"cookie") => {
                return Err(args
                    .error(index, "forwarding all cookies would store a page of one visitor for all")
                    .help("add the required cookies to the key: cache_key_cookie NAME;"));
            }
            name if !is_token(name) => return Err(args.invalid(index, "on, off or a header name")),
            _ => shared.fields.push(args.text(index)?),
        }
    }
    shared.on = true;
    Ok(())
}

fn cache_key_field(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    if args.bytes(0).eq_ignore_ascii_case(b"cookie") {
        return Err(args
            .error(0, "a key with all cookies is valid for one visitor only")
            .help("name the cookie: cache_key_cookie NAME;"));
    }
    keyed(settings, args, false)
}

fn cache_key_cookie(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    keyed(settings, args, true)
}

fn keyed(settings: &mut Settings, args: &mut Arguments<'_>, cookie: bool) -> SetterResult {
    let list = &mut settings.feature_mut::<SharedFetchSettings>().keyed;
    args.start(list);
    let name = args.text(0)?;
    // `$http_NAME` must be able to read the field, so its name is limited to the characters of a variable.
    let is_field = |name: &[u8]| name.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'-');
    if !is_token(name.bytes()) || !cookie && !is_field(name.bytes()) {
        let what = if cookie { "a cookie name" } else { "a header name: letters, digits and hyphens" };
        return Err(args.invalid(0, what));
    }
    let is_value = |value: &[u8]| {
        !value.is_empty() && value.iter().all(|byte| byte.is_ascii_graphic() && !b";,".contains(byte))
    };
    let mut values = Vec::new();
    for index in 1..args.len() {
        if !is_value(args.bytes(index)) {
            return Err(args.invalid(index, "a valid header value"));
        }
        values.push(args.text(index)?);
    }
    if list
        .iter()
        .any(|other| other.cookie == cookie && other.name.bytes().eq_ignore_ascii_case(name.bytes()))
    {
        return Err(args.error(0, format!("\"{}\" is already in the key", name.lossy())));
    }
    list.push(KeyedInput { cookie, name, values });
    Ok(())
}

/// Returns whether a name is a token (RFC 9110 section 5.6.2).
fn is_token(name: &[u8]) -> bool {
    !name.is_empty()
        && name.iter().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte))
}
