//! HTTP requests by which plugins and users purge pages.

use myriad_http::{Fields, Known};

use super::{PurgeCommand, PurgeTarget, Tags};

/// Parses a `PURGE` (or `BAN`) request for `target` on `host`.
///
/// | request | covers |
/// |---|---|
/// | no `X-Purge-Method` | the URL; with a trailing `*`: all URLs with this prefix; with a trailing `.*`, or a `\` or `^`: the regex; `/purgeall`: the host |
/// | `X-Purge-Method: default` | the URL; with a trailing `*`: all URLs with this prefix; `/purgeall`: the host |
/// | `X-Purge-Method: exact` | the URL |
/// | `X-Purge-Regex: PATTERN` | the host's URLs that match |
/// | `X-Purge-Method: regex` without it | the host's URLs that start with a match of the target as a regex |
/// | `X-Purge-Method: tags` with `X-Cache-Tags-Pattern`, a regex | pages with such a tag; without this field, as in the last row |
/// | `Surrogate-Key`, `Cache-Tag`, `xkey`, `xkey-purge`, `xkey-softpurge`, `X-Cache-Tags`, `X-LiteSpeed-Tag` | pages with one of the tags |
///
/// A row with `X-Purge-Method` (except `default`) applies first, then `X-Purge-Regex`, tags, and the URL.
///
/// `X-VC-Purge-Method` is another plugin's name for `X-Purge-Method`. The purge is soft under the conditions of
/// [`is_soft`].
///
/// # Errors
/// Returns the reason why the request is not a valid purge.
pub fn parse_purge(target: &[u8], host: &[u8], fields: &Fields) -> Result<PurgeCommand, &'static str> {
    Ok(PurgeCommand { what: what(target, host, fields)?, soft: is_soft(fields) })
}

fn what(target: &[u8], host: &[u8], fields: &Fields) -> Result<PurgeTarget, &'static str> {
    let url = || PurgeTarget::Url { host: host.into(), target: target.into() };
    let method = fields.known(Known::XPurgeMethod).or_else(|| fields.get(b"x-vc-purge-method"));
    let method = method.map(<[u8]>::trim_ascii).filter(|method| !method.is_empty());
    match method.map(<[u8]>::to_ascii_lowercase).as_deref() {
        Some(b"tags") => return by_pattern(fields),
        Some(b"regex") => return by_regex(target, host, fields),
        Some(b"exact") => return Ok(url()),
        Some(b"default") | None => {}
        Some(_) => return Err("unknown X-Purge-Method"),
    }
    if single(fields, b"x-purge-regex")?.is_some() {
        return by_regex(target, host, fields);
    }
    let tags = tags_of(fields);
    if !tags.is_empty() {
        return tags_target(tags);
    }
    if target == b"/purgeall" {
        return Ok(PurgeTarget::Host(host.into()));
    }
    if method.is_none() && (target.ends_with(b".*") || looks_like_regex(target)) {
        return by_regex(target, host, fields);
    }
    if target.ends_with(b"*") { PurgeTarget::wildcard(target, host) } else { Ok(url()) }
}

/// Returns whether a target contains `\` or `^`, which are not valid in a URL (RFC 3986 §2) but common in a regex. W3
/// Total Cache sends a regex to purge all sitemaps.
fn looks_like_regex(target: &[u8]) -> bool {
    memchr::memchr2(b'\\', b'^', target).is_some()
}

/// Returns the purge of pages of `host` by the regex in `X-Purge-Regex`, or else by the target as a regex, anchored at
/// the start of the URL. The error is a message for the client.
fn by_regex(target: &[u8], host: &[u8], fields: &Fields) -> Result<PurgeTarget, &'static str> {
    match single(fields, b"x-purge-regex")? {
        Some(pattern) => PurgeTarget::regex(Some(host), pattern),
        None => PurgeTarget::regex(Some(host), &[b"^(?:", target, b")"].concat()),
    }
}

/// Returns the value of a field that may occur only once; `None` if it is missing. A request with several patterns is
/// rejected, because a purge by the first of them would leave stale pages.
fn single<'a>(fields: &'a Fields, name: &'a [u8]) -> Result<Option<&'a [u8]>, &'static str> {
    let mut values = fields.get_all(name);
    match (values.next(), values.next()) {
        (_, Some(_)) => Err("X-Purge-Regex or X-Cache-Tags-Pattern is repeated"),
        (value, None) => Ok(value),
    }
}

/// Returns the tags in all fields of the request that contain tags.
fn tags_of(fields: &Fields) -> Tags {
    let mut tags = Tags::of(fields);
    for name in [&b"xkey-purge"[..], b"xkey-softpurge"] {
        fields.get_all(name).for_each(|list| tags.add(list));
    }
    tags
}

/// Returns the purge by `X-Cache-Tags-Pattern`, or without it by the tags in other fields. A pattern that is a list of
/// names separated by `|`, the usual case, becomes a purge of these tags, which needs no search over all pages.
fn by_pattern(fields: &Fields) -> Result<PurgeTarget, &'static str> {
    let Some(pattern) = single(fields, b"x-cache-tags-pattern")?.map(<[u8]>::trim_ascii) else {
        let tags = tags_of(fields);
        return if tags.is_empty() { Err("no tags and no X-Cache-Tags-Pattern") } else { tags_target(tags) };
    };
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b':' | b'/' | b'|');
    if pattern.iter().all(plain) {
        let list: Vec<u8> = pattern.iter().map(|byte| if *byte == b'|' { b',' } else { *byte }).collect();
        return tags_target(Tags::parse(&list));
    }
    PurgeTarget::tag_regex(pattern)
}

/// Returns the purge of pages with these tags, or an error if there were more than [`Tags`] stores.
fn tags_target(tags: Tags) -> Result<PurgeTarget, &'static str> {
    if tags.is_truncated() {
        Err("more than 512 tags, or more than 16 KB of tags")
    } else {
        Ok(PurgeTarget::Tags(tags))
    }
}

/// Returns whether the request asks for a soft purge: `Fastly-Soft-Purge: 1`, `X-Soft-Purge: 1`, or a field
/// `xkey-softpurge`.
fn is_soft(fields: &Fields) -> bool {
    let is_one = |name: &[u8]| fields.get(name).is_some_and(|value| value.trim_ascii() == b"1");
    is_one(b"fastly-soft-purge") || is_one(b"x-soft-purge") || fields.get(b"xkey-softpurge").is_some()
}

/// Fields that mark a request as forwarded by a proxy, in addition to `X-Forwarded*` and the known fields of
/// [`is_forwarded`].
const PASSED_ON: [&[u8]; 10] = [
    b"cdn-loop",
    b"cf-connecting-ip",
    b"cf-ray",
    b"client-ip",
    b"fastly-client-ip",
    b"true-client-ip",
    b"x-client-ip",
    b"x-cluster-client-ip",
    b"x-original-forwarded-for",
    // Sent by WordPress when it fetches the page of a pingback for an unknown client.
    b"x-pingback-forwarded-for",
];

/// Returns whether fields of the request show that a proxy forwarded it (RFC 7239, RFC 9110 §7.6.3, and proprietary
/// fields). The address of the connection is then not that of the client, so a local address must not grant access.
pub fn is_forwarded(fields: &Fields) -> bool {
    let known = [Known::XForwardedFor, Known::Forwarded, Known::Via, Known::XRealIp];
    let named = |name: &[u8]| {
        let begins = name.get(..11).is_some_and(|start| start.eq_ignore_ascii_case(b"x-forwarded"));
        begins || PASSED_ON.iter().any(|other| name.eq_ignore_ascii_case(other))
    };
    known.into_iter().any(|name| fields.has(name)) || fields.iter_known().any(|(_, name, _)| named(name))
}
