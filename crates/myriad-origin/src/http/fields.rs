//! Rewriting of fields of an origin's response (`proxy_redirect`, `proxy_cookie_*`).

use myriad_http::lines::{each_line, is_field_line};
use myriad_log::LogLevel;
use myriad_script::{EvalError, Frame};

use super::cookies;
use super::place::HttpPlace;
use super::rewriting::{Rewriting, apply};
use myriad_exchange::exchange::ContentResponse;
use myriad_exchange::exchange::{Exchange, Request};
use myriad_exchange::responses::redirect;

/// Rewrites the `Location`, `Refresh` and `Set-Cookie` fields of a response. A field whose rule fails is forwarded
/// unchanged, with an error log entry.
pub(super) fn rewrite(exchange: &mut Exchange, http: &HttpPlace, answer: &mut ContentResponse) {
    if http.redirects.is_empty() && http.cookies.is_none() {
        return;
    }
    if !each_line(&answer.lines).any(may_change) {
        return;
    }
    let lines = std::mem::take(&mut answer.lines);
    let mut rewritten = Vec::with_capacity(lines.len());
    for line in each_line(&lines) {
        match rewritten_line(exchange, http, line) {
            Ok(Some((name, value))) => {
                for part in [name, b": ", &value[..], b"\r\n"] {
                    rewritten.extend_from_slice(part);
                }
            }
            Ok(None) => rewritten.extend_from_slice(line),
            Err(error) => {
                exchange.request.log(LogLevel::Error, format_args!("{error}"));
                rewritten.extend_from_slice(line);
            }
        }
    }
    answer.lines = rewritten;
}

/// Returns whether a header line of the response is one that rules may rewrite: `Location`, `Refresh` or `Set-Cookie`.
fn may_change(line: &[u8]) -> bool {
    [&b"location"[..], b"refresh", b"set-cookie"].iter().any(|name| is_field_line(line, name))
}

type RewrittenLine<'a> = Option<(&'a [u8], Vec<u8>)>;

fn rewritten_line<'a>(
    exchange: &mut Exchange,
    http: &HttpPlace,
    line: &'a [u8],
) -> Result<RewrittenLine<'a>, EvalError> {
    let Some(colon) = line.iter().position(|byte| *byte == b':') else { return Ok(None) };
    let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
    let Exchange { request, frame } = exchange;
    let value = if name.eq_ignore_ascii_case(b"location") {
        location(request, frame, &http.redirects, value)?
    } else if name.eq_ignore_ascii_case(b"refresh") {
        refresh(request, frame, &http.redirects, value)?
    } else if let Some(rules) = &http.cookies
        && name.eq_ignore_ascii_case(b"set-cookie")
    {
        cookies::rewrite(request, frame, rules, value)?
    } else {
        None
    };
    Ok(value.map(|value| (name, one_line(value))))
}

/// Removes line breaks and NUL, which a variable may contain, from a header value.
fn one_line(mut value: Vec<u8>) -> Vec<u8> {
    value.retain(|byte| !matches!(byte, b'\r' | b'\n' | 0));
    value
}

/// Returns the rewritten `Location`; `None` if no rule matches. With `absolute_redirect`, a path that a rule returns
/// becomes a URL of this server; a path of the origin is unchanged if no rule matches.
fn location(
    request: &Request,
    frame: &mut Frame,
    rules: &[Rewriting],
    value: &[u8],
) -> Result<Option<Vec<u8>>, EvalError> {
    let rewritten = apply(request, frame, rules, value)?;
    Ok(rewritten.map(|value| {
        if !value.starts_with(b"/") || !request.place().redirects.absolute {
            return value;
        }
        let mut url = Vec::with_capacity(value.len() + 64);
        redirect::write_origin(request, &mut url);
        url.extend_from_slice(&value);
        url
    }))
}

/// Returns `Refresh` with its URL (after `url=`) rewritten; `None` if no rule matches.
fn refresh(
    request: &Request,
    frame: &mut Frame,
    rules: &[Rewriting],
    value: &[u8],
) -> Result<Option<Vec<u8>>, EvalError> {
    let Some(at) = value.windows(4).position(|part| part.eq_ignore_ascii_case(b"url=")) else {
        return Ok(None);
    };
    let (before, target) = value.split_at(at + 4);
    Ok(apply(request, frame, rules, target)?.map(|target| [before, &target].concat()))
}
