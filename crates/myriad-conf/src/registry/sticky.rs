//! Setter of `sticky` in `upstream`.

use super::{Arguments, SetterResult};
use crate::diagnostic::Diagnostic;
use crate::model::{Sticky, StickyCookie, StickyExpiry, StickyLearn, UpstreamConf};
use crate::text::Text;

/// Minimum size of the session zone of `sticky learn`, in bytes: 8 pages of 4 KB, as in nginx.
const SMALLEST_ZONE: u64 = 32 << 10;

/// Sets the method of `sticky`: `cookie`, `route` or `learn`.
pub(super) fn sticky(upstream: &mut UpstreamConf, args: &mut Arguments<'_>) -> SetterResult {
    upstream.sticky = Some(match args.bytes(0) {
        b"cookie" => Sticky::Cookie(Box::new(cookie(args)?)),
        b"route" => {
            let names = (1..args.len()).map(|index| {
                args.variable(index)?;
                args.text(index)
            });
            Sticky::Route(names.collect::<Result<_, _>>()?)
        }
        b"learn" => Sticky::Learn(Box::new(learn(args)?)),
        _ => return Err(args.invalid(0, "cookie, route or learn")),
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
        let value_after = |prefix: &[u8]| {
            let mut text = args.text(index)?;
            text.value.drain(..prefix.len());
            if text.value.is_empty() || !text.value.iter().copied().all(is_in_attribute) {
                return Err(args.invalid(index, "a value without `;` or control characters"));
            }
            Ok(text)
        };
        if word == b"expires=max" {
            cookie.expires = Some(StickyExpiry::Max);
        } else if word.starts_with(b"expires=") {
            cookie.expires = Some(StickyExpiry::Seconds(args.millis_after(index, 8)? / 1000));
        } else if word.starts_with(b"domain=") {
            cookie.domain = Some(value_after(b"domain=")?);
        } else if word.starts_with(b"path=") {
            cookie.path = Some(value_after(b"path=")?.lossy().into_owned());
        } else if word.starts_with(b"samesite=") {
            let text = value_after(b"samesite=")?;
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

fn learn(args: &Arguments<'_>) -> Result<StickyLearn, Diagnostic> {
    let (mut create, mut lookup) = (Vec::new(), Vec::new());
    let (mut zone, mut timeout, mut at_head) = (None, 600_000, false);
    for index in 1..args.len() {
        let word = args.bytes(index);
        if word.starts_with(b"create=") {
            create.push(variable(args, index, "create")?);
        } else if word.starts_with(b"lookup=") {
            lookup.push(variable(args, index, "lookup")?);
        } else if word.starts_with(b"zone=") {
            zone = Some(session_zone(args, index)?);
        } else if word.starts_with(b"timeout=") {
            timeout = args.millis_after(index, 8)?;
            if timeout == 0 {
                return Err(args.invalid(index, "more than 0"));
            }
        } else if word == b"header" {
            at_head = true;
        } else {
            return Err(args.invalid(index, "create=, lookup=, zone=, timeout= or header"));
        }
    }
    let lacks = |what: &str, example: &str| {
        let message = format!("\"{what}\" parameter of \"sticky learn\" is not specified");
        Err(args.error(0, message).help(format!("write {example}")))
    };
    if lookup.is_empty() {
        return lacks("lookup", "lookup=$cookie_NAME");
    }
    if create.is_empty() {
        return lacks("create", "create=$upstream_cookie_NAME");
    }
    let Some((zone, zone_size)) = zone else { return lacks("zone", "zone=NAME:1m") };
    Ok(StickyLearn { create, lookup, zone, zone_size, timeout, at_head })
}

/// Parses the variable after `create=` or `lookup=`; the text includes the `$`. Returns an error unless it is `$` and a
/// name without another `$`.
fn variable(args: &Arguments<'_>, index: usize, parameter: &str) -> Result<Text, Diagnostic> {
    let mut text = args.text(index)?;
    text.value.drain(..=parameter.len());
    let name = text.value.strip_prefix(b"$").unwrap_or_default();
    if name.is_empty() || name.contains(&b'$') {
        let message = format!("missing variable in the \"{parameter}\" parameter");
        return Err(args.error(index, message).help("it must be a single variable, which starts with `$`"));
    }
    Ok(text)
}

/// Parses the name and the size, in bytes, after `zone=`. Returns an error if the name is empty, or the size is invalid
/// or below [`SMALLEST_ZONE`].
fn session_zone(args: &Arguments<'_>, index: usize) -> Result<(String, u64), Diagnostic> {
    let word = String::from_utf8_lossy(args.bytes(index)).into_owned();
    let (name, _) = word["zone=".len()..].split_once(':').unwrap_or_default();
    if name.is_empty() {
        return Err(args.invalid(index, "zone=NAME:SIZE"));
    }
    let size = args.size_after(index, "zone=".len() + name.len() + 1)?;
    if size < SMALLEST_ZONE {
        return Err(args
            .error(index, format!("zone \"{name}\" is too small"))
            .help("the minimum is 32k; 1m stores 8000 sessions"));
    }
    Ok((name.to_owned(), size))
}

/// Returns whether a byte may occur in a token (RFC 9110 section 5.6.2).
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// Returns whether a byte may occur in the value of a cookie attribute (RFC 6265 section 4.1.1). Bytes above ASCII are
/// accepted too.
fn is_in_attribute(byte: u8) -> bool {
    byte >= b' ' && byte != 0x7f && byte != b';'
}
