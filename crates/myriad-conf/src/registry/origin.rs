//! Origin directives that all protocols have, each defined once.

use std::net::{IpAddr, SocketAddr};

use myriad_policy::IgnoreHeaders;

use super::{
    Arguments, Contexts, Directive, Done, FLAG, FamilyRow, ONE, Set, TWO, at_least, between,
    content::size_text, set,
};
use crate::{
    diagnostic::Diagnostic,
    settings::{AcceleratorHeaders, Buffers, NextUpstream, OriginSettings},
};

const HSL: Contexts = Contexts::HSL;

const fn row(name: &'static str, arity: super::Arity, set: Set, doc: &'static str) -> Directive {
    Directive::new(name, HSL, arity, set, doc)
}

pub(super) static ROWS: &[FamilyRow] = &[
    FamilyRow::new(
        row("hide_header", ONE, Set::Origin(hide_header), "A field of the origin that is not passed on.")
            .repeats(),
    ),
    FamilyRow::new(
        row("pass_header", ONE, Set::Origin(pass_header), "A field that is passed on after all.").repeats(),
    ),
    FamilyRow::new(
        row(
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
    FamilyRow::new(
        row(
            "pass_request_headers",
            FLAG,
            set!(Origin.flag => request.pass_fields),
            "Whether the request's fields are sent.",
        )
        .default("on"),
    ),
    FamilyRow::new(
        row(
            "pass_request_body",
            FLAG,
            set!(Origin.flag => request.pass_body),
            "Whether the request's body is sent.",
        )
        .default("on"),
    ),
    FamilyRow::new(
        row("connect_timeout", ONE, set!(Origin.millis => connection.connect_timeout), "How long connecting may take.")
            .default("60s"),
    ),
    FamilyRow::new(
        row(
            "send_timeout",
            ONE,
            set!(Origin.millis => connection.send_timeout),
            "How long to wait between two writes.",
        )
        .default("60s"),
    ),
    FamilyRow::new(
        row("read_timeout", ONE, set!(Origin.millis => connection.read_timeout), "How long to wait between two reads.")
            .default("60s"),
    ),
    FamilyRow::new(
        row(
            "buffering",
            FLAG,
            set!(Origin.flag => buffering.on),
            "Whether the answer is read ahead of the client.",
        )
        .default("on")
        .differs("what is read ahead goes to the client at once; what is cached never waits for a client"),
    ),
    FamilyRow::new(
        row(
            "request_buffering",
            FLAG,
            set!(Origin.flag => request.buffering),
            "Whether the request's body is read before it is sent.",
        )
        .default("on"),
    ),
    FamilyRow::new(
        row("buffer_size", ONE, Set::Origin(buffer_size), "Room for the answer's head.")
            .default("4k")
            .differs("at least 16k"),
    ),
    FamilyRow::new(
        row("buffers", TWO, Set::Origin(buffers), "Buffers for the answer.")
            .default("8 4k")
            .differs("how much is read ahead in memory; the buffers size themselves"),
    ),
    FamilyRow::new(
        row(
            "busy_buffers_size",
            ONE,
            set!(Origin.size => Some buffering.busy_size),
            "How much may wait for the client.",
        )
        .no_effect("buffers size themselves"),
    ),
    FamilyRow::new(
        row(
            "max_temp_file_size",
            ONE,
            set!(Origin.size => buffering.max_file_size),
            "How much of an answer may go to a file.",
        )
        .default("1g"),
    ),
    FamilyRow::new(
        row(
            "temp_file_write_size",
            ONE,
            set!(Origin.size => Some buffering.file_write_size),
            "How much is written to such a file at a time.",
        )
        .no_effect("buffers size themselves"),
    ),
    FamilyRow::new(
        row("limit_rate", ONE, Set::Origin(limit_rate), "Bytes per second read from the origin.")
            .default("0"),
    ),
    FamilyRow::new(
        row(
            "ignore_client_abort",
            FLAG,
            set!(Origin.flag => connection.to_the_end),
            "Whether the origin is read to the end without a client.",
        )
        .default("off")
        .differs(
            "with `off` a fetch that fills a cache ends with its last client too, unless its answer has begun; with `on` one \
             that still waits for a server ends",
        ),
    ),
    FamilyRow::new(
        row(
            "intercept_errors",
            FLAG,
            set!(Origin.flag => answer.intercept_errors),
            "Whether error_page answers the origin's errors.",
        )
        .default("off"),
    ),
    FamilyRow::new(
        row("next_upstream", at_least(1), Set::Origin(next_upstream), "When the next server is asked.")
            .repeats()
            .default("error timeout")
            .differs("`denied` never happens: no directive denies an address"),
    ),
    FamilyRow::new(
        row(
            "next_upstream_tries",
            ONE,
            Set::Origin(next_upstream_tries),
            "How many servers are asked; 0 for all.",
        )
        .default("0"),
    ),
    FamilyRow::new(
        row(
            "next_upstream_timeout",
            ONE,
            set!(Origin.millis => next_upstream.timeout_ms),
            "How long asking the next may go on; 0 for ever.",
        )
        .default("0"),
    ),
    FamilyRow::new(
        row("socket_keepalive", FLAG, set!(Origin.flag => connection.keepalive), "SO_KEEPALIVE.")
            .default("off")
            .no_effect(
                "a dead origin is found by the time-outs, and an idle connection lives a second at most",
            ),
    ),
    FamilyRow::new(
        row(
            "force_ranges",
            FLAG,
            set!(Origin.flag => answer.force_ranges),
            "Whether ranges are cut here whatever the origin says.",
        )
        .default("off"),
    ),
    FamilyRow::new(
        row("bind", between(1, 2), Set::Origin(bind), "The address that connections come from.")
            .default("off")
            .differs("a connection from such an address serves once; `transparent` is refused"),
    ),
];

fn hide_header(origin: &mut OriginSettings, args: &mut Arguments<'_>) -> Done {
    args.start(&mut origin.answer.hide);
    origin.answer.hide.push(args.text(0)?);
    Ok(())
}

fn pass_header(origin: &mut OriginSettings, args: &mut Arguments<'_>) -> Done {
    args.start(&mut origin.answer.pass);
    origin.answer.pass.push(args.text(0)?);
    Ok(())
}

fn ignore_headers(origin: &mut OriginSettings, args: &mut Arguments<'_>) -> Done {
    if args.first {
        (origin.answer.ignore, origin.answer.ignore_accel) =
            (IgnoreHeaders::default(), AcceleratorHeaders::default());
    }
    let (mut ignore, mut accel) = (origin.answer.ignore, origin.answer.ignore_accel);
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
    (origin.answer.ignore, origin.answer.ignore_accel) = (ignore, accel);
    Ok(())
}

fn not_zero(args: &Arguments<'_>, index: usize) -> Result<u64, Diagnostic> {
    args.size(index)?.checked_sub(1).map(|less| less + 1).ok_or_else(|| args.invalid(index, "more than 0"))
}

fn buffer_size(origin: &mut OriginSettings, args: &mut Arguments<'_>) -> Done {
    origin.buffering.head_size = not_zero(args, 0)?;
    Ok(())
}

fn buffers(origin: &mut OriginSettings, args: &mut Arguments<'_>) -> Done {
    let buffers = Buffers { count: args.count(0)?, size: not_zero(args, 1)? };
    if buffers.count < 2 {
        return Err(args.invalid(0, "at least 2"));
    }
    origin.buffering.buffers = buffers;
    Ok(())
}

fn limit_rate(origin: &mut OriginSettings, args: &mut Arguments<'_>) -> Done {
    origin.buffering.limit_rate = size_text(args, 0)?;
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
    origin.connection.bind = (address.bytes() != b"off").then_some(address);
    Ok(())
}

fn next_upstream(origin: &mut OriginSettings, args: &mut Arguments<'_>) -> Done {
    let before = origin.next_upstream;
    let none = NextUpstream { tries: before.tries, timeout_ms: before.timeout_ms, ..NextUpstream::OFF };
    let mut next = if args.first { none } else { before };
    // `off` excludes all other words, including those of later directives.
    let mut off = !args.first && before == none;
    let http = !origin.protocol.has_environment();
    for index in 0..args.len() {
        let field =
            match args.bytes(index) {
                b"error" => &mut next.error,
                b"timeout" => &mut next.timeout,
                b"denied" => &mut next.denied,
                // `invalid_response` and `not_found` are words of `memcached_next_upstream`.
                b"invalid_header" | b"invalid_response" => &mut next.invalid_header,
                b"non_idempotent" => &mut next.non_idempotent,
                b"http_500" => &mut next.http_500,
                b"http_502" if http => &mut next.http_502,
                b"http_503" => &mut next.http_503,
                b"http_504" if http => &mut next.http_504,
                b"http_403" => &mut next.http_403,
                b"http_404" | b"not_found" => &mut next.http_404,
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
