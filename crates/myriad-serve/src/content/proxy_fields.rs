//! An HTTP origin's redirects and cookies made this server's own (`proxy_redirect`, `proxy_cookie_*`).

use myriad_log::Level;
use myriad_script::{EvalError, Frame};

use super::{proxy_cookies, redirect};
use crate::exchange::{Exchange, Request};
use crate::output::{Answer, Source};
use crate::runtime::{HttpPlace, OriginPlace, Rewriting};

/// Rewrites the `Location`, `Refresh` and `Set-Cookie` lines of an answer.
pub(crate) fn rewrite(exchange: &mut Exchange, origin: &OriginPlace, answer: &mut Answer) {
    let Some(http) = &origin.http else { return };
    if http.redirects.is_empty() && http.cookies.is_none() {
        return;
    }
    let lines = std::mem::take(&mut answer.lines);
    let mut rewritten = Vec::with_capacity(lines.len());
    for line in lines.split_inclusive(|byte| *byte == b'\n') {
        match rewritten_line(exchange, http, line) {
            Ok(Some((name, value))) => {
                for part in [name, b": ", &value[..], b"\r\n"] {
                    rewritten.extend_from_slice(part);
                }
            }
            Ok(None) => rewritten.extend_from_slice(line),
            Err(error) => {
                exchange.request.log(Level::Error, format_args!("{error}"));
                rewritten.extend_from_slice(line);
            }
        }
    }
    answer.lines = rewritten;
}

/// As [`rewrite`], for a stored page: what it says is rewritten for each visitor, since rules may hold their variables.
pub(crate) fn rewrite_page(exchange: &mut Exchange, origin: &OriginPlace, answer: &mut Answer) {
    let Source::Page(page) = &answer.source else { return };
    let page = page.clone();
    let meta = page.meta();
    let own = std::mem::replace(&mut answer.lines, meta.lines().to_vec());
    if let Some((text, _)) = meta.last_modified() {
        answer.field(b"Last-Modified", text);
    }
    answer.source = Source::Plain;
    rewrite(exchange, origin, answer);
    answer.lines.extend_from_slice(&own);
}

type Line<'a> = Option<(&'a [u8], Vec<u8>)>;

fn rewritten_line<'a>(
    exchange: &mut Exchange,
    http: &HttpPlace,
    line: &'a [u8],
) -> Result<Line<'a>, EvalError> {
    let Some(colon) = line.iter().position(|byte| *byte == b':') else { return Ok(None) };
    let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
    let Exchange { request, frame } = exchange;
    let value = if name.eq_ignore_ascii_case(b"location") {
        location(request, frame, &http.redirects, value)?
    } else if name.eq_ignore_ascii_case(b"refresh") {
        refresh(request, frame, &http.redirects, value)?
    } else if let Some(cookies) = &http.cookies
        && name.eq_ignore_ascii_case(b"set-cookie")
    {
        proxy_cookies::rewrite(request, frame, cookies, value)?
    } else {
        None
    };
    Ok(value.map(|value| (name, one_line(value))))
}

/// A variable must not end the line.
fn one_line(mut value: Vec<u8>) -> Vec<u8> {
    value.retain(|byte| !matches!(byte, b'\r' | b'\n' | 0));
    value
}

/// A path that a rule made is told as an URL, where `absolute_redirect` says so; the origin's own paths stay.
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

/// What follows `url=`.
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

/// What the first rule that fits makes of a value.
pub(super) fn apply(
    request: &Request,
    frame: &mut Frame,
    rules: &[Rewriting],
    value: &[u8],
) -> Result<Option<Vec<u8>>, EvalError> {
    for rule in rules {
        let mut out = Vec::new();
        match rule {
            Rewriting::Prefix { from, to } => {
                from.eval(request, frame, &mut out)?;
                let Some(rest) = value.strip_prefix(&out[..]) else { continue };
                out.clear();
                to.eval(request, frame, &mut out)?;
                out.extend_from_slice(rest);
            }
            Rewriting::Domain { from, to } => {
                from.eval(request, frame, &mut out)?;
                let bare = value.strip_prefix(b".").unwrap_or(value);
                if !bare.eq_ignore_ascii_case(&out) {
                    continue;
                }
                out.clear();
                out.extend_from_slice(&value[..value.len() - bare.len()]);
                to.eval(request, frame, &mut out)?;
            }
            Rewriting::Regex { regex, to } => {
                if !regex.matches(value, frame)? {
                    continue;
                }
                to.eval(request, frame, &mut out)?;
            }
        }
        return Ok(Some(out));
    }
    Ok(None)
}
