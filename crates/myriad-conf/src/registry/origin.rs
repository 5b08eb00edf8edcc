//! The upstream family: `fastcgi_*`, `proxy_*`, `scgi_*` and `uwsgi_*`, each directive written once.

use std::net::{IpAddr, SocketAddr};

use myriad_policy::IgnoreHeaders;

use super::{
    Arguments, Contexts, Directive, Done, FLAG, FamilyRow, NOT_YET, ONE, Set, TWO, at_least, between,
    content::size_text, set,
};
use crate::{
    diagnostic::Diagnostic,
    settings::{
        AcceleratorHeaders, Buffers, CookieFlags, Handler, HttpVersion, NextUpstream, OriginSettings,
        Parameter, Protocol, Redirect, Settings,
    },
    text::Text,
};

const HSL: Contexts = Contexts::HSL;
const PASS: Contexts = Contexts::LOCATION.or(Contexts::LOCATION_IF);
const PROXY_PASS: Contexts = PASS.or(Contexts::LIMIT_EXCEPT);

const fn both(name: &'static str, arity: super::Arity, set: Set, doc: &'static str) -> Directive {
    Directive::new(name, HSL, arity, set, doc)
}

pub(super) static ROWS: &[FamilyRow] = &[
    FamilyRow::fastcgi(Directive::new(
        "pass",
        PASS,
        ONE,
        Set::Settings(pass),
        "The FastCGI server that makes the content.",
    )),
    FamilyRow::proxy(
        Directive::new(
            "pass",
            PROXY_PASS,
            ONE,
            Set::Settings(pass),
            "The HTTP server that makes the content.",
        )
        .differs("blanks and control bytes that a variable holds are sent escaped"),
    ),
    FamilyRow::of(
        &[Protocol::Scgi],
        Directive::new("pass", PASS, ONE, Set::Settings(pass), "The SCGI server that makes the content.").differs(
            "`SCGI 1` and the length of the body that is sent are always told, whatever `scgi_param` says",
        ),
    ),
    FamilyRow::of(
        &[Protocol::Uwsgi],
        Directive::new("pass", PASS, ONE, Set::Settings(pass), "The uwsgi server that makes the content."),
    ),
    FamilyRow::environment(
        both("param", between(2, 3), Set::Origin(param), "A parameter for the server.").repeats(),
    ),
    FamilyRow::fastcgi(both(
        "index",
        ONE,
        set!(Origin.text => Some index),
        "What is added to a script name that ends with a slash.",
    )),
    FamilyRow::fastcgi(both(
        "split_path_info",
        ONE,
        set!(Origin.text => Some split_path_info),
        "A regex that takes script name and path info apart.",
    )),
    FamilyRow::fastcgi(
        both(
            "catch_stderr",
            ONE,
            Set::Origin(catch_stderr),
            "Words on the error stream that spoil an answer.",
        )
        .repeats(),
    ),
    FamilyRow::fastcgi(
        both("keep_conn", FLAG, set!(Origin.flag => keep_conn), "Whether connections are kept open.")
            .default("off")
            .differs("one pool for the whole process, at most half of php-fpm's children, one second"),
    ),
    FamilyRow::proxy(
        both("set_header", TWO, Set::Origin(set_header), "A field for the origin.")
            .repeats()
            .computed("`Host $proxy_host`, `Connection \"\"`")
            .differs(
                "Content-Length and Transfer-Encoding follow from the body that is sent; line ends in values become \
                 blanks; fields that the client's Connection names are not passed on",
            ),
    ),
    FamilyRow::proxy(both(
        "set_body",
        ONE,
        set!(Origin.text => Some body),
        "What is sent instead of the request's body.",
    )),
    FamilyRow::proxy(both(
        "method",
        ONE,
        set!(Origin.text => Some method),
        "What is sent instead of the request's method.",
    )),
    FamilyRow::proxy(
        both("http_version", ONE, Set::Origin(http_version), "The version spoken with the origin.")
            .default("1.1"),
    ),
    FamilyRow::proxy(
        both("redirect", between(1, 2), Set::Origin(redirect), "Rewrites Location and Refresh.")
            .repeats()
            .default("default"),
    ),
    FamilyRow::all(
        both("hide_header", ONE, Set::Origin(hide_header), "A field of the origin that is not passed on.")
            .repeats(),
    ),
    FamilyRow::all(
        both("pass_header", ONE, Set::Origin(pass_header), "A field that is passed on after all.").repeats(),
    ),
    FamilyRow::all(
        both(
            "ignore_headers",
            at_least(1),
            Set::Origin(ignore_headers),
            "Fields of the origin that are not obeyed.",
        )
        .repeats()
        .differs(
            "private, and a Set-Cookie that names a personal cookie, still keep a page out of the cache",
        ),
    ),
    FamilyRow::all(
        both(
            "pass_request_headers",
            FLAG,
            set!(Origin.flag => pass_request_headers),
            "Whether the request's fields are sent.",
        )
        .default("on"),
    ),
    FamilyRow::all(
        both(
            "pass_request_body",
            FLAG,
            set!(Origin.flag => pass_request_body),
            "Whether the request's body is sent.",
        )
        .default("on"),
    ),
    FamilyRow::all(
        both("connect_timeout", ONE, set!(Origin.millis => connect_timeout), "How long connecting may take.")
            .default("60s"),
    ),
    FamilyRow::all(
        both(
            "send_timeout",
            ONE,
            set!(Origin.millis => send_timeout),
            "How long to wait between two writes.",
        )
        .default("60s"),
    ),
    FamilyRow::all(
        both("read_timeout", ONE, set!(Origin.millis => read_timeout), "How long to wait between two reads.")
            .default("60s"),
    ),
    FamilyRow::all(
        both(
            "buffering",
            FLAG,
            set!(Origin.flag => buffering),
            "Whether the answer is read ahead of the client.",
        )
        .default("on")
        .differs("what is read ahead goes to the client at once; what is cached never waits for a client"),
    ),
    FamilyRow::all(
        both(
            "request_buffering",
            FLAG,
            set!(Origin.flag => request_buffering),
            "Whether the request's body is read before it is sent.",
        )
        .default("on"),
    ),
    FamilyRow::all(
        both("buffer_size", ONE, Set::Origin(buffer_size), "Room for the answer's head.")
            .default("4k")
            .differs("at least 16k"),
    ),
    FamilyRow::all(
        both("buffers", TWO, Set::Origin(buffers), "Buffers for the answer.")
            .default("8 4k")
            .differs("how much is read ahead in memory; the buffers size themselves"),
    ),
    FamilyRow::all(
        both(
            "busy_buffers_size",
            ONE,
            set!(Origin.size => Some busy_buffers_size),
            "How much may wait for the client.",
        )
        .no_effect("buffers size themselves"),
    ),
    FamilyRow::all(
        both(
            "max_temp_file_size",
            ONE,
            set!(Origin.size => max_temp_file_size),
            "How much of an answer may go to a file.",
        )
        .default("1g"),
    ),
    FamilyRow::all(
        both(
            "temp_file_write_size",
            ONE,
            set!(Origin.size => Some temp_file_write_size),
            "How much is written to such a file at a time.",
        )
        .no_effect("buffers size themselves"),
    ),
    FamilyRow::all(
        both("limit_rate", ONE, Set::Origin(limit_rate), "Bytes per second read from the origin.")
            .default("0"),
    ),
    FamilyRow::all(
        both(
            "ignore_client_abort",
            FLAG,
            set!(Origin.flag => ignore_client_abort),
            "Whether the origin is read to the end without a client.",
        )
        .default("off")
        .differs(
            "with `off` a fetch that fills a cache ends with its last client too, unless its answer has begun; with `on` one \
             that still waits for a server ends",
        ),
    ),
    FamilyRow::all(
        both(
            "intercept_errors",
            FLAG,
            set!(Origin.flag => intercept_errors),
            "Whether error_page answers the origin's errors.",
        )
        .default("off"),
    ),
    FamilyRow::all(
        both("next_upstream", at_least(1), Set::Origin(next_upstream), "When the next server is asked.")
            .repeats()
            .default("error timeout")
            .differs("`denied` never happens: no directive denies an address"),
    ),
    FamilyRow::all(
        both(
            "next_upstream_tries",
            ONE,
            Set::Origin(next_upstream_tries),
            "How many servers are asked; 0 for all.",
        )
        .default("0"),
    ),
    FamilyRow::all(
        both(
            "next_upstream_timeout",
            ONE,
            set!(Origin.millis => next_upstream.timeout_ms),
            "How long asking the next may go on; 0 for ever.",
        )
        .default("0"),
    ),
    FamilyRow::all(
        both("socket_keepalive", FLAG, set!(Origin.flag => socket_keepalive), "SO_KEEPALIVE.")
            .default("off")
            .no_effect(
                "a dead origin is found by the time-outs, and an idle connection lives a second at most",
            ),
    ),
    FamilyRow::all(
        both(
            "force_ranges",
            FLAG,
            set!(Origin.flag => force_ranges),
            "Whether ranges are cut here whatever the origin says.",
        )
        .default("off"),
    ),
    FamilyRow::all(
        both("bind", between(1, 2), Set::Origin(bind), "The address that connections come from.")
            .default("off")
            .differs("a connection from such an address serves once; `transparent` is refused"),
    ),
    FamilyRow::all(
        both("store", ONE, Set::Nothing, "Keeps answers as files.").refused("use the cache instead"),
    ),
    FamilyRow::all(
        both("store_access", between(1, 3), Set::Nothing, "Who may read such files.")
            .refused("use the cache instead"),
    ),
    FamilyRow::proxy(
        both(
            "pass_trailers",
            FLAG,
            set!(Origin.flag => pass_trailers),
            "Whether fields behind the origin's body are passed on.",
        )
        .default("off")
        .differs("fields that only a head may hold stay here"),
    ),
    FamilyRow::proxy(
        both("cookie_domain", between(1, 2), Set::Origin(cookie_domain), "Rewrites a cookie's domain.")
            .repeats()
            .default("off"),
    ),
    FamilyRow::proxy(
        both("cookie_path", between(1, 2), Set::Origin(cookie_path), "Rewrites a cookie's path.")
            .repeats()
            .default("off"),
    ),
    FamilyRow::proxy(
        both("cookie_flags", between(1, 4), Set::Origin(cookie_flags), "Sets a cookie's flags.")
            .repeats()
            .default("off"),
    ),
];

fn pass(settings: &mut Settings, args: &mut Arguments<'_>) -> Done {
    let protocol = args.protocol();
    let target = args.text(0)?;
    if target.is_empty() {
        return Err(args.error(0, format!("empty \"{}\"", args.directive.name)));
    }
    if !target.has_variables() {
        let text = target.lossy();
        let Some((scheme, rest)) = protocol.split(&text) else {
            return Err(args.error(0, "invalid URL prefix").help("it starts with http:// or https://"));
        };
        if scheme.is_some() && (rest.is_empty() || rest.starts_with(['/', ':', '?'])) {
            return Err(args.error(0, format!("no host in \"{}\"", args.directive.name)));
        }
    }
    // The location that the directive stands in fills the prefix in: it is not known here.
    settings.handler = Some(Handler::Origin { protocol, target, prefix: Text::default() });
    Ok(())
}

fn param(origin: &mut OriginSettings, args: &mut Arguments<'_>) -> Done {
    args.start(&mut origin.parameters);
    let if_not_empty = args.len() > 2;
    if if_not_empty {
        args.choice(2, &[("if_not_empty", ())])?;
    }
    origin.parameters.push(Parameter { name: args.text(0)?, value: args.text(1)?, if_not_empty });
    Ok(())
}

fn set_header(origin: &mut OriginSettings, args: &mut Arguments<'_>) -> Done {
    args.start(&mut origin.parameters);
    origin.parameters.push(Parameter { name: args.text(0)?, value: args.text(1)?, if_not_empty: false });
    Ok(())
}

fn catch_stderr(origin: &mut OriginSettings, args: &mut Arguments<'_>) -> Done {
    args.start(&mut origin.catch_stderr);
    origin.catch_stderr.push(args.text(0)?);
    Ok(())
}

fn hide_header(origin: &mut OriginSettings, args: &mut Arguments<'_>) -> Done {
    args.start(&mut origin.hide_headers);
    origin.hide_headers.push(args.text(0)?);
    Ok(())
}

fn pass_header(origin: &mut OriginSettings, args: &mut Arguments<'_>) -> Done {
    args.start(&mut origin.pass_headers);
    origin.pass_headers.push(args.text(0)?);
    Ok(())
}

fn http_version(origin: &mut OriginSettings, args: &mut Arguments<'_>) -> Done {
    if args.bytes(0) == b"2" {
        return Err(args.error(0, format!("HTTP/2 to an origin is {NOT_YET}")));
    }
    origin.http_version = args.choice(0, &[("1.0", HttpVersion::Http10), ("1.1", HttpVersion::Http11)])?;
    Ok(())
}

fn redirect(origin: &mut OriginSettings, args: &mut Arguments<'_>) -> Done {
    args.start(&mut origin.redirects);
    if args.len() == 1 {
        let default = args.choice(0, &[("off", false), ("false", false), ("default", true)])?;
        if default {
            origin.redirects.push(Redirect::Default);
        } else {
            origin.redirects.clear();
        }
        return Ok(());
    }
    let rule = rewriting(args)?;
    origin.redirects.push(rule);
    Ok(())
}

/// What is looked for, a `~` before a regex, and what takes its place.
fn rewriting(args: &Arguments<'_>) -> Result<Redirect, Diagnostic> {
    let (from, to) = (args.text(0)?, args.text(1)?);
    let (pattern, caseless) = match from.value.as_slice() {
        [b'~', b'*', pattern @ ..] => (pattern, true),
        [b'~', pattern @ ..] => (pattern, false),
        _ => return Ok(Redirect::Prefix { from, to }),
    };
    Ok(Redirect::Regex { pattern: Text::new(pattern, from.span), caseless, to })
}

fn cookie_rules(rules: &mut Vec<Redirect>, args: &mut Arguments<'_>) -> Done {
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

fn cookie_domain(origin: &mut OriginSettings, args: &mut Arguments<'_>) -> Done {
    cookie_rules(&mut origin.cookie_domains, args)
}

fn cookie_path(origin: &mut OriginSettings, args: &mut Arguments<'_>) -> Done {
    cookie_rules(&mut origin.cookie_paths, args)
}

fn cookie_flags(origin: &mut OriginSettings, args: &mut Arguments<'_>) -> Done {
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
    args.start(&mut origin.cookie_flags);
    if args.len() == 1 {
        args.choice(0, &[("off", ())])?;
        origin.cookie_flags.clear();
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
    origin.cookie_flags.push(CookieFlags { cookie: args.text(0)?, flags });
    Ok(())
}

fn ignore_headers(origin: &mut OriginSettings, args: &mut Arguments<'_>) -> Done {
    if args.first {
        (origin.ignore_headers, origin.ignore_accel) =
            (IgnoreHeaders::default(), AcceleratorHeaders::default());
    }
    let (mut ignore, mut accel) = (origin.ignore_headers, origin.ignore_accel);
    for index in 0..args.len() {
        let names = [
            "X-Accel-Redirect",
            "X-Accel-Expires",
            "X-Accel-Limit-Rate",
            "X-Accel-Buffering",
            "X-Accel-Charset",
            "Expires",
            "Cache-Control",
            "Set-Cookie",
            "Vary",
        ];
        let numbered: Vec<(&str, usize)> = names.iter().enumerate().map(|(n, name)| (*name, n)).collect();
        let field = match args.choice(index, &numbered)? {
            0 => &mut accel.redirect,
            1 => &mut ignore.x_accel_expires,
            2 => &mut accel.limit_rate,
            3 => &mut accel.buffering,
            4 => &mut accel.charset,
            5 => &mut ignore.expires,
            6 => &mut ignore.cache_control,
            7 => &mut ignore.set_cookie,
            _ => &mut ignore.vary,
        };
        *field = true;
    }
    (origin.ignore_headers, origin.ignore_accel) = (ignore, accel);
    Ok(())
}

fn not_zero(args: &Arguments<'_>, index: usize) -> Result<u64, Diagnostic> {
    args.size(index)?.checked_sub(1).map(|less| less + 1).ok_or_else(|| args.invalid(index, "more than 0"))
}

fn buffer_size(origin: &mut OriginSettings, args: &mut Arguments<'_>) -> Done {
    origin.buffer_size = not_zero(args, 0)?;
    Ok(())
}

fn buffers(origin: &mut OriginSettings, args: &mut Arguments<'_>) -> Done {
    let buffers = Buffers { count: args.count(0)?, size: not_zero(args, 1)? };
    if buffers.count < 2 {
        return Err(args.invalid(0, "at least 2"));
    }
    origin.buffers = buffers;
    Ok(())
}

fn limit_rate(origin: &mut OriginSettings, args: &mut Arguments<'_>) -> Done {
    origin.limit_rate = size_text(args, 0)?;
    Ok(())
}

fn bind(origin: &mut OriginSettings, args: &mut Arguments<'_>) -> Done {
    let address = args.text(0)?;
    if args.len() > 1 {
        args.choice(1, &[("transparent", ())])?;
        return Err(args
            .error(1, "\"transparent\" is not supported by Myriad: it needs rights that a worker gives up"));
    }
    let is_address = |text: &str| text.parse::<IpAddr>().is_ok() || text.parse::<SocketAddr>().is_ok();
    let known =
        address.has_variables() || address.bytes() == b"off" || address.as_str().is_some_and(is_address);
    if !known {
        return Err(args.invalid(0, "an address, with or without a port, or off"));
    }
    origin.bind = (address.bytes() != b"off").then_some(address);
    Ok(())
}

fn next_upstream(origin: &mut OriginSettings, args: &mut Arguments<'_>) -> Done {
    let before = origin.next_upstream;
    let none = NextUpstream { tries: before.tries, timeout_ms: before.timeout_ms, ..NextUpstream::OFF };
    let mut next = if args.first { none } else { before };
    // `off` excludes all others, also those of directives behind it.
    let mut off = !args.first && before == none;
    let http = !args.protocol().has_environment();
    for index in 0..args.len() {
        let field =
            match args.bytes(index) {
                b"error" => &mut next.error,
                b"timeout" => &mut next.timeout,
                b"denied" => &mut next.denied,
                b"invalid_header" => &mut next.invalid_header,
                b"non_idempotent" => &mut next.non_idempotent,
                b"http_500" => &mut next.http_500,
                b"http_502" if http => &mut next.http_502,
                b"http_503" => &mut next.http_503,
                b"http_504" if http => &mut next.http_504,
                b"http_403" => &mut next.http_403,
                b"http_404" => &mut next.http_404,
                b"http_429" => &mut next.http_429,
                b"off" => &mut off,
                _ => return Err(args.invalid(
                    index,
                    "error, timeout, denied, invalid_header, http_500 and the like, non_idempotent, or off",
                )),
            };
        *field = true;
    }
    origin.next_upstream = if off { none } else { next };
    Ok(())
}

fn next_upstream_tries(origin: &mut OriginSettings, args: &mut Arguments<'_>) -> Done {
    origin.next_upstream.tries = u32::try_from(args.number(0)?).unwrap_or(u32::MAX);
    Ok(())
}
