//! `sticky` of `upstream`.

use super::{Arguments, Done, NOT_YET};
use crate::diagnostic::Diagnostic;
use crate::model::{Sticky, StickyCookie, StickyExpiry, UpstreamConf};

/// The setter of the row.
pub(super) fn sticky(upstream: &mut UpstreamConf, args: &mut Arguments<'_>) -> Done {
    upstream.sticky = Some(match args.bytes(0) {
        b"cookie" => Sticky::Cookie(Box::new(cookie(args)?)),
        b"route" => {
            let names = (1..args.len()).map(|index| {
                args.variable(index)?;
                args.text(index)
            });
            Sticky::Route(names.collect::<Result<_, _>>()?)
        }
        b"learn" => return Err(args.error(0, format!("\"learn\" of \"sticky\" is {NOT_YET}"))),
        _ => return Err(args.invalid(0, "cookie or route")),
    });
    Ok(())
}

fn cookie(args: &Arguments<'_>) -> Result<StickyCookie, Diagnostic> {
    let name = args.name(1)?;
    if !name.bytes().all(is_token) {
        return Err(args.invalid(1, "the name of a cookie: letters, digits and !#$%&'*+-.^_`|~"));
    }
    let mut cookie = StickyCookie {
        name,
        expires: None,
        domain: None,
        path: None,
        same_site: None,
        http_only: false,
        secure: false,
    };
    for index in 2..args.len() {
        let word = args.bytes(index);
        let behind = |prefix: &[u8]| {
            let mut text = args.text(index)?;
            text.value.drain(..prefix.len());
            if text.value.is_empty() || !text.value.iter().copied().all(is_in_attribute) {
                return Err(args.invalid(index, "a value without `;` and control characters"));
            }
            Ok(text)
        };
        if word == b"expires=max" {
            cookie.expires = Some(StickyExpiry::Max);
        } else if word.starts_with(b"expires=") {
            cookie.expires = Some(StickyExpiry::Seconds(args.millis_after(index, 8)? / 1000));
        } else if word.starts_with(b"domain=") {
            cookie.domain = Some(behind(b"domain=")?);
        } else if word.starts_with(b"path=") {
            cookie.path = Some(behind(b"path=")?.lossy().into_owned());
        } else if word.starts_with(b"samesite=") {
            let text = behind(b"samesite=")?;
            let known = [&b"strict"[..], b"lax", b"none"];
            if !text.has_variables() && !known.iter().any(|known| text.value.eq_ignore_ascii_case(known)) {
                return Err(args.invalid(index, "samesite=strict, lax, none or a variable"));
            }
            cookie.same_site = Some(text);
        } else if word == b"httponly" {
            cookie.http_only = true;
        } else if word == b"secure" {
            cookie.secure = true;
        } else {
            return Err(args.invalid(index, "expires=, domain=, path=, samesite=, httponly or secure"));
        }
    }
    Ok(cookie)
}

/// RFC 9110 section 5.6.2.
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// RFC 6265 section 4.1.1: what the value of an attribute may hold.
fn is_in_attribute(byte: u8) -> bool {
    byte >= b' ' && byte != 0x7f && byte != b';'
}
