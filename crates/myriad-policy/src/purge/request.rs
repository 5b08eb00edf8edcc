//! The ways in which plugins and people ask for a purge over HTTP.

use myriad_http::{Fields, Known};

use super::Tags;

/// What a `PURGE` request wants gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted<'a> {
    /// The URL that it was sent to.
    Url,
    /// All URLs of its host that begin so.
    Prefix(&'a [u8]),
    /// All URLs of its host whose path and query match the regex.
    Regex(&'a [u8]),
    /// All pages that bear one of the tags.
    Tags(Tags),
    /// All pages that bear a tag that matches the regex.
    TagRegex(&'a [u8]),
    /// All pages of its host.
    Host,
    /// An `X-Purge-Method` that nobody knows.
    Unknown,
}

/// Reads what a `PURGE` request for `target` wants.
///
/// `X-Purge-Method` is that of the WordPress plugins for Varnish (`default` and `exact`, `regex`, `tags` with
/// `X-Cache-Tags-Pattern`); without it `/.*` at the end is a regex, `*` at the end a beginning, and `/purgeall` is all, as
/// other plugins send them. `Surrogate-Key`, `Cache-Tag`, `xkey` and `X-Cache-Tags` in the request name tags.
pub fn wanted<'a>(target: &'a [u8], fields: &'a Fields) -> Wanted<'a> {
    let method =
        fields.known(Known::XPurgeMethod).map(<[u8]>::trim_ascii).filter(|method| !method.is_empty());
    match method.map(<[u8]>::to_ascii_lowercase).as_deref() {
        Some(b"tags") => return by_pattern(fields),
        Some(b"regex") => return Wanted::Regex(target),
        Some(b"exact") => return Wanted::Url,
        Some(b"default") | None => {}
        Some(_) => return Wanted::Unknown,
    }
    let tags = Tags::of(fields);
    if !tags.is_empty() {
        return Wanted::Tags(tags);
    }
    if target == b"/purgeall" {
        return Wanted::Host;
    }
    match target.strip_suffix(b"*") {
        Some(pattern) if method.is_none() && pattern.ends_with(b".") => Wanted::Regex(target),
        Some(prefix) => Wanted::Prefix(prefix),
        None => Wanted::Url,
    }
}

/// `X-Cache-Tags-Pattern`: mostly names with `|` between them, which an index finds at once.
fn by_pattern(fields: &Fields) -> Wanted<'_> {
    let Some(pattern) = fields.get(b"x-cache-tags-pattern").map(<[u8]>::trim_ascii) else {
        return Wanted::Tags(Tags::of(fields));
    };
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b':' | b'/' | b'|');
    if pattern.iter().all(plain) {
        let list: Vec<u8> = pattern.iter().map(|byte| if *byte == b'|' { b',' } else { *byte }).collect();
        return Wanted::Tags(Tags::parse(&list));
    }
    Wanted::TagRegex(pattern)
}

/// Whether the purge is to leave pages stale instead of taking them out: `Fastly-Soft-Purge: 1`, `X-Soft-Purge: 1`.
pub fn is_soft(fields: &Fields) -> bool {
    let asks = |name: &[u8]| fields.get(name).is_some_and(|value| value.trim_ascii() == b"1");
    asks(b"fastly-soft-purge") || asks(b"x-soft-purge")
}

/// Whether a request says that somebody passed it on (RFC 7239, RFC 9110 §7.6.3): then the socket's other end is not who
/// asks, and that it is near says nothing.
pub fn is_forwarded(fields: &Fields) -> bool {
    [Known::XForwardedFor, Known::Forwarded, Known::Via, Known::XRealIp]
        .into_iter()
        .any(|name| fields.has(name))
}
