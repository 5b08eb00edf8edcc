//! Origin directives that are common to the protocols; each is defined once here.

use std::net::{IpAddr, SocketAddr};

use myriad_policy::IgnoreHeaders;

use super::{
    Arguments, Contexts, Directive, FLAG, FamilyRow, ONE, Set, SetterResult, TWO, at_least, between,
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
        row("hide_header", ONE, Set::Origin(hide_header), "Removes a response header of the upstream server.")
            .repeats(),
    ),
    FamilyRow::new(
        row("pass_header", ONE, Set::Origin(pass_header), "Sends a response header that is hidden by default.").repeats(),
    ),
    FamilyRow::new(
        row(
            "ignore_headers",
            at_least(1),
            Set::Origin(ignore_headers),
            "Ignores response headers of the upstream server, such as `Cache-Control`.",
        )
        .repeats()
        .differs(
            "`Cache-Control: private`, and a `Set-Cookie` with a personal cookie, still prevent caching",
        ),
    ),
    FamilyRow::new(
        row(
            "pass_request_headers",
            FLAG,
            set!(Origin.flag => request.pass_fields),
            "Sends the request headers to the upstream server.",
        )
        .default("on"),
    ),
    FamilyRow::new(
        row(
            "pass_request_body",
            FLAG,
            set!(Origin.flag => request.pass_body),
            "Sends the request body to the upstream server.",
        )
        .default("on"),
    ),
    FamilyRow::new(
        row("connect_timeout", ONE, set!(Origin.millis => connection.connect_timeout), "Timeout for connecting to the upstream server.")
            .default("60s"),
    ),
    FamilyRow::new(
        row(
            "send_timeout",
            ONE,
            set!(Origin.millis => connection.send_timeout),
            "Timeout between two writes to the upstream server.",
        )
        .default("60s"),
    ),
    FamilyRow::new(
        row("read_timeout", ONE, set!(Origin.millis => connection.read_timeout), "Timeout between two reads from the upstream server.")
            .default("60s"),
    ),
    FamilyRow::new(
        row(
            "buffering",
            FLAG,
            set!(Origin.flag => buffering.on),
            "Reads the response ahead of the client.",
        )
        .default("on")
        .differs("data that is read ahead is sent to the client immediately; a response that is being cached never waits for a client"),
    ),
    FamilyRow::new(
        row(
            "request_buffering",
            FLAG,
            set!(Origin.flag => request.buffering),
            "Reads the whole request body before it is sent to the upstream server.",
        )
        .default("on"),
    ),
    FamilyRow::new(
        row("buffer_size", ONE, Set::Origin(buffer_size), "Size of the buffer for the response header.")
            .default("4k")
            .differs("at least 16k"),
    ),
    FamilyRow::new(
        row("buffers", TWO, Set::Origin(buffers), "Number and size of the buffers for the response.")
            .default("8 4k")
            .differs("limits how much is read ahead in memory; buffers are sized automatically"),
    ),
    FamilyRow::new(
        row(
            "busy_buffers_size",
            ONE,
            set!(Origin.size => Some buffering.busy_size),
            "Maximum size of buffers that are waiting to be sent to the client.",
        )
        .no_effect("buffers are sized automatically"),
    ),
    FamilyRow::new(
        row(
            "max_temp_file_size",
            ONE,
            set!(Origin.size => buffering.max_file_size),
            "Maximum size of a response in a temporary file.",
        )
        .default("1g"),
    ),
    FamilyRow::new(
        row(
            "temp_file_write_size",
            ONE,
            set!(Origin.size => Some buffering.file_write_size),
            "Maximum size of one write to a temporary file.",
        )
        .no_effect("buffers are sized automatically"),
    ),
    FamilyRow::new(
        row("limit_rate", ONE, Set::Origin(limit_rate), "Maximum rate in bytes per second for reading a response ahead of the client or into the cache.")
            .default("0"),
    ),
    FamilyRow::new(
        row(
            "ignore_client_abort",
            FLAG,
            set!(Origin.flag => connection.to_the_end),
            "Continues to read from the upstream server after the client has disconnected.",
        )
        .default("off")
        .differs(
            "with `off`, a fetch for the cache is also cancelled when its last client disconnects, unless the response has \
                 started; with `on`, a fetch that is still waiting for a server is cancelled",
        ),
    ),
    FamilyRow::new(
        row(
            "intercept_errors",
            FLAG,
            set!(Origin.flag => answer.intercept_errors),
            "Replaces error responses of the upstream server with error_page.",
        )
        .default("off"),
    ),
    FamilyRow::new(
        row("next_upstream", at_least(1), Set::Origin(next_upstream), "Conditions under which the next server is tried.")
            .repeats()
            .default("error timeout")
            .differs("`denied` never occurs: no directive denies an upstream address"),
    ),
    FamilyRow::new(
        row(
            "next_upstream_tries",
            ONE,
            Set::Origin(next_upstream_tries),
            "Maximum number of servers to try; 0 for no limit.",
        )
        .default("0"),
    ),
    FamilyRow::new(
        row(
            "next_upstream_timeout",
            ONE,
            set!(Origin.millis => next_upstream.timeout_ms),
            "Maximum time for trying servers; 0 for no limit.",
        )
        .default("0"),
    ),
    FamilyRow::new(
        row("socket_keepalive", FLAG, set!(Origin.flag => connection.keepalive), "SO_KEEPALIVE.")
            .default("off")
            .no_effect("timeouts detect a dead upstream server"),
    ),
    FamilyRow::new(
        row(
            "force_ranges",
            FLAG,
            set!(Origin.flag => answer.force_ranges),
            "Enables ranges regardless of `Accept-Ranges` in the response.",
        )
        .default("off"),
    ),
    FamilyRow::new(
        row("bind", between(1, 2), Set::Origin(bind), "Local address for connections to the upstream server.")
            .default("off")
            .differs("a connection from such an address is used for one request; `transparent` is refused"),
    ),
];

fn hide_header(origin: &mut OriginSettings, args: &mut Arguments<'_>) -> SetterResult {
    args.start(&mut origin.answer.hide);
    origin.answer.hide.push(args.text(0)?);
    Ok(())
}

fn pass_header(origin: &mut OriginSettings, args: &mut Arguments<'_>) -> SetterResult {
    args.start(&mut origin.answer.pass);
    origin.answer.pass.push(args.text(0)?);
    Ok(())
}

fn ignore_headers(origin: &mut OriginSettings, args: &mut Arguments<'_>) -> SetterResult {
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

fn buffer_size(origin: &mut OriginSettings, args: &mut Arguments<'_>) -> SetterResult {
    origin.buffering.head_size = not_zero(args, 0)?;
    Ok(())
}

fn buffers(origin: &mut OriginSettings, args: &mut Arguments<'_>) -> SetterResult {
    let buffers = Buffers { count: args.count(0)?, size: not_zero(args, 1)? };
    if buffers.count < 2 {
        return Err(args.invalid(0, "at least 2"));
    }
    origin.buffering.buffers = buffers;
    Ok(())
}

fn limit_rate(origin: &mut OriginSettings, args: &mut Arguments<'_>) -> SetterResult {
    origin.buffering.limit_rate = size_text(args, 0)?;
    Ok(())
}

fn bind(origin: &mut OriginSettings, args: &mut Arguments<'_>) -> SetterResult {
    let address = args.text(0)?;
    if args.len() > 1 {
        args.choice(1, &[("transparent", ())])?;
        return Err(args.error(
            1,
            "\"transparent\" is not supported by Myriad: it requires privileges that workers drop",
        ));
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

fn next_upstream(origin: &mut OriginSettings, args: &mut Arguments<'_>) -> SetterResult {
    let before = origin.next_upstream;
    let none = NextUpstream { tries: before.tries, timeout_ms: before.timeout_ms, ..NextUpstream::OFF };
    let mut next = if args.first { none } else { before };
    // `off` overrides all other arguments, including those of later directives on the level.
    let mut off = !args.first && before == none;
    let http = !origin.protocol.has_environment();
    for index in 0..args.len() {
        let field = match args.bytes(index) {
            b"error" => &mut next.error,
            b"timeout" => &mut next.timeout,
            b"denied" => &mut next.denied,
            // `invalid_response` and `not_found` are arguments of `memcached_next_upstream`.
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
            _ => {
                return Err(args.invalid(
                    index,
                    "error, timeout, denied, invalid_header, http_500 or similar, non_idempotent, or off",
                ));
            }
        };
        *field = true;
    }
    origin.next_upstream = if off { none } else { next };
    Ok(())
}

fn next_upstream_tries(origin: &mut OriginSettings, args: &mut Arguments<'_>) -> SetterResult {
    origin.next_upstream.tries = u32::try_from(args.number(0)?).unwrap_or(u32::MAX);
    Ok(())
}
