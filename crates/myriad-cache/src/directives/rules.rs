//! Cache directives without the prefix of a protocol.

use myriad_conf::Diagnostic;
use myriad_conf::registry::{Arguments, Contexts, Directive, FLAG, Set, SetterResult, at_least, between};
use myriad_conf::set;
use myriad_conf::settings::Settings;
use myriad_policy::{LeakSampling, NoVarySearch};

use crate::settings::{CacheRules, PersonalCookies};

/// Rows of the cache directives without the prefix of a protocol.
pub(crate) static ROWS: &[Directive] = &[
    Directive::new(
        "personal_cookies",
        Contexts::HSL,
        at_least(1),
        Set::Settings(personal_cookies),
        "Cookies that identify a client, which then neither reads nor fills shared pages.",
    )
    .default("default")
    .own(),
    Directive::new(
        "impersonal_cookies",
        Contexts::HSL,
        at_least(1),
        Set::Settings(impersonal_cookies),
        "Cookies that do not depend on the page that sets them: the page is stored without them.",
    )
    .default("off")
    .own(),
    Directive::new(
        "leak_guard",
        Contexts::HSL,
        between(1, 4),
        Set::Settings(leak_guard),
        "Does not share a response that contains data of the visitor whose request fetched it; with `sample=`, also verifies \
             stored pages by requests without data of visitors.",
    )
    .default("on")
    .own(),
    Directive::new(
        "cache_rfc9111",
        Contexts::HSL,
        FLAG,
        set!(Feature<CacheRules>.flag => rfc9111),
        "Follows RFC 9111 where nginx deviates from it.",
    )
    .default("off")
    .own(),
    Directive::new(
        "cache_no_vary_search",
        Contexts::HSL,
        between(1, 2),
        Set::Settings(no_vary_search),
        "Removes URL arguments from keys if the origin's `No-Vary-Search` declares that they do not change the page; \
             sets the default for stored pages without this header.",
    )
    .default("on")
    .own(),
];

fn leak_guard(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let mut sampling = None;
    let mut is_on = true;
    for index in 0..args.len() {
        let word = args.bytes(index);
        let parameters = || sampling.unwrap_or_default();
        if word.starts_with(b"sample=") {
            sampling = Some(LeakSampling { part_ppm: args.millionths_after(index, 7)?, ..parameters() });
        } else if word.starts_with(b"delay=") {
            sampling = Some(LeakSampling { delay_ms: args.millis_after(index, 6)?, ..parameters() });
        } else if word.starts_with(b"budget=") {
            sampling = Some(LeakSampling { budget_ppm: args.millionths_after(index, 7)?, ..parameters() });
        } else {
            is_on = args.flag(index)?;
            if index > 0 {
                return Err(args.invalid(index, "sample=, delay= or budget="));
            }
        }
    }
    if !is_on && sampling.is_some() {
        return Err(args.invalid(0, "\"on\", or the only argument"));
    }
    let rules = settings.feature_mut::<CacheRules>();
    rules.leak_guard = is_on;
    rules.leak_sampling = sampling;
    Ok(())
}

fn no_vary_search(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let is_obeyed = args.flag(0)?;
    let mut default_rule = None;
    if args.len() > 1 {
        let value = args.bytes(1).strip_prefix(b"say=").filter(|value| NoVarySearch::parse(value).is_some());
        let Some(value) = value else {
            return Err(args
                .invalid(1, "say= with the value of the header: 'say=params=(\"utm_source\" \"fbclid\")'"));
        };
        default_rule = Some(value.to_vec());
    }
    let rules = settings.feature_mut::<CacheRules>();
    rules.no_vary_search = is_obeyed;
    rules.no_vary_search_default = default_rule;
    Ok(())
}

fn personal_cookies(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    settings.feature_mut::<CacheRules>().personal_cookies = cookie_list(args)?;
    Ok(())
}

/// Parses the cookie names of a directive. `default` adds the built-in list; a single `off` results in an empty list.
/// `off` among other arguments, an empty name, and a `*` that is not the last character of a name, are errors.
pub(crate) fn cookie_list(args: &mut Arguments<'_>) -> Result<PersonalCookies, Diagnostic> {
    let mut cookies = PersonalCookies { builtin: false, names: Vec::new() };
    for index in 0..args.len() {
        match args.bytes(index) {
            b"off" if args.len() == 1 => {}
            b"off" => return Err(args.invalid(index, "the only argument: \"off\" excludes every name")),
            b"default" => cookies.builtin = true,
            name if !is_pattern(name) => {
                return Err(args.invalid(index, "a cookie name, with `*` only at the end"));
            }
            _ => cookies.names.push(args.text(index)?),
        }
    }
    Ok(cookies)
}

fn impersonal_cookies(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let mut names = Vec::new();
    for index in 0..args.len() {
        match args.bytes(index) {
            b"off" if args.len() == 1 => {}
            b"off" => return Err(args.invalid(index, "the only argument: \"off\" excludes every name")),
            b"*" => {
                return Err(args.invalid(
                    index,
                    "a cookie name; to store pages regardless of their cookies, use *_ignore_headers Set-Cookie",
                ));
            }
            name if !is_pattern(name) => {
                return Err(args.invalid(index, "a cookie name, with `*` only at the end"));
            }
            _ => names.push(args.text(index)?),
        }
    }
    settings.feature_mut::<CacheRules>().impersonal_cookies = names;
    Ok(())
}

/// Returns whether a text is not empty and has no `*`, except at its end.
fn is_pattern(name: &[u8]) -> bool {
    name.split_last().is_some_and(|(_, beginning)| !beginning.contains(&b'*'))
}
