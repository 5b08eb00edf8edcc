//! Directives of `proxy_*` that other protocols do not have.

use myriad_conf::registry::{
    Arguments, Arity, Contexts, Directive, FLAG, FamilyRow, ONE, Set, SetterResult, TWO, between,
    pass_with_methods,
};
use myriad_conf::settings::{OriginSettings, Parameter};
use myriad_conf::{Diagnostic, Text, set};

use super::settings::{CookieFlags, HttpSettings, HttpVersion, Redirect};

const fn row(name: &'static str, arity: Arity, set: Set, doc: &'static str) -> Directive {
    Directive::new(name, Contexts::HSL, arity, set, doc)
}

pub(super) static ROWS: &[FamilyRow] = &[
    FamilyRow::new(
        pass_with_methods("Passes requests to an HTTP server.")
            .differs("spaces and control characters in the value of a variable are sent escaped"),
    ),
    set_header_row("`Host $proxy_host`, `Connection \"\"`"),
    FamilyRow::new(row(
        "set_body",
        ONE,
        set!(Own<HttpSettings>.text => Some body),
        "Body that is sent instead of the request's body.",
    )),
    FamilyRow::new(row(
        "method",
        ONE,
        set!(Own<HttpSettings>.text => Some method),
        "Method that is sent instead of the request's method.",
    )),
    FamilyRow::new(
        row("http_version", ONE, Set::Origin(http_version), "HTTP version of requests to the origin.")
            .default("1.1")
            .differs(
                "an HTTP/2 connection carries as many concurrent requests of a worker as the origin allows; a request that the \
                     origin refused is retried once",
            ),
    ),
    FamilyRow::new(
        row("redirect", between(1, 2), Set::Origin(redirect), "Rewrites Location and Refresh.")
            .repeats()
            .default("default"),
    ),
    FamilyRow::new(
        row(
            "pass_trailers",
            FLAG,
            set!(Own<HttpSettings>.flag => pass_trailers),
            "Forwards trailer fields of the origin's response.",
        )
        .default("off")
        .differs("fields that are only valid in a header section are not forwarded"),
    ),
    FamilyRow::new(
        row("cookie_domain", between(1, 2), Set::Origin(cookie_domain), "Rewrites a cookie's domain.")
            .repeats()
            .default("off"),
    ),
    FamilyRow::new(
        row("cookie_path", between(1, 2), Set::Origin(cookie_path), "Rewrites a cookie's path.")
            .repeats()
            .default("off"),
    ),
    FamilyRow::new(
        row("cookie_flags", between(1, 4), Set::Origin(cookie_flags), "Sets a cookie's flags.")
            .repeats()
            .default("off"),
    ),
];

/// Returns the directive row of `*_set_header`; `unless` documents the default fields.
pub(crate) const fn set_header_row(unless: &'static str) -> FamilyRow {
    let row =
        row("set_header", TWO, Set::Origin(set_header), "Sets a header field of requests to the origin.");
    FamilyRow::new(row.repeats().computed(unless).differs(
        "Content-Length and Transfer-Encoding are set for the body that is sent; line breaks in values become spaces; \
             fields that the client's Connection header names are not forwarded",
    ))
}

/// Directives without effect, which tune internals of nginx.
pub(super) static TUNING: &[FamilyRow] = &[hash("headers_hash_max_size"), hash("headers_hash_bucket_size")];

const fn hash(name: &'static str) -> FamilyRow {
    FamilyRow::new(
        row(name, ONE, Set::Nothing, "Tunes nginx's hash tables.")
            .no_effect("hash tables are sized automatically"),
    )
}

fn set_header(origin: &mut OriginSettings, args: &mut Arguments<'_>) -> SetterResult {
    args.start(&mut origin.request.parameters);
    origin.request.parameters.push(Parameter {
        name: args.text(0)?,
        value: args.text(1)?,
        if_not_empty: false,
    });
    Ok(())
}

fn http_version(origin: &mut OriginSettings, args: &mut Arguments<'_>) -> SetterResult {
    let versions = [("1.0", HttpVersion::Http10), ("1.1", HttpVersion::Http11), ("2", HttpVersion::Http2)];
    origin.own_mut::<HttpSettings>().version = args.choice(0, &versions)?;
    Ok(())
}

fn redirect(origin: &mut OriginSettings, args: &mut Arguments<'_>) -> SetterResult {
    let redirects = &mut origin.own_mut::<HttpSettings>().redirects;
    args.start(redirects);
    if args.len() == 1 {
        let default = args.choice(0, &[("off", false), ("false", false), ("default", true)])?;
        if default {
            redirects.push(Redirect::Default);
        } else {
            redirects.clear();
        }
        return Ok(());
    }
    let rule = rewriting(args)?;
    redirects.push(rule);
    Ok(())
}

/// Parses a rule of `proxy_redirect` or `proxy_cookie_*`: a prefix, or a pattern after `~` or `~*`, and its
/// replacement.
fn rewriting(args: &Arguments<'_>) -> Result<Redirect, Diagnostic> {
    let (from, to) = (args.text(0)?, args.text(1)?);
    let (pattern, caseless) = match from.value.as_slice() {
        [b'~', b'*', pattern @ ..] => (pattern, true),
        [b'~', pattern @ ..] => (pattern, false),
        _ => return Ok(Redirect::Prefix { from, to }),
    };
    Ok(Redirect::Regex { pattern: Text::new(pattern, from.span), caseless, to })
}

fn cookie_rules(rules: &mut Vec<Redirect>, args: &mut Arguments<'_>) -> SetterResult {
    args.start(rules);
    if args.len() == 1 {
        args.choice(0, &[("off", ())])?;
        rules.clear();
        return Ok(());
    }
    let rule = rewriting(args)?;
    rules.push(rule);
    Ok(())
}

fn cookie_domain(origin: &mut OriginSettings, args: &mut Arguments<'_>) -> SetterResult {
    cookie_rules(&mut origin.own_mut::<HttpSettings>().cookie_domains, args)
}

fn cookie_path(origin: &mut OriginSettings, args: &mut Arguments<'_>) -> SetterResult {
    cookie_rules(&mut origin.own_mut::<HttpSettings>().cookie_paths, args)
}

fn cookie_flags(origin: &mut OriginSettings, args: &mut Arguments<'_>) -> SetterResult {
    const FLAGS: [&str; 8] = [
        "secure",
        "nosecure",
        "httponly",
        "nohttponly",
        "samesite=strict",
        "samesite=lax",
        "samesite=none",
        "nosamesite",
    ];
    let rules = &mut origin.own_mut::<HttpSettings>().cookie_flags;
    args.start(rules);
    if args.len() == 1 {
        args.choice(0, &[("off", ())])?;
        rules.clear();
        return Ok(());
    }
    let mut flags = Vec::new();
    for index in 1..args.len() {
        let flag = args.text(index)?;
        let known = FLAGS.iter().any(|known| flag.bytes().eq_ignore_ascii_case(known.as_bytes()));
        if !known && !flag.has_variables() {
            return Err(args.invalid(index, FLAGS.join(", ")));
        }
        flags.push(flag);
    }
    rules.push(CookieFlags { cookie: args.text(0)?, flags });
    Ok(())
}
