//! Shared fetches: fetches of a page that is stored for all visitors, and the request fields sent to the origin for
//! them.
//!
//! An application may generate a page from any request field, while the key of the page contains few of them. A shared
//! fetch therefore sends only fields whose values do not mix pages: the built-in list (`shared_fetch.list` in this
//! folder), fields that the configuration lists or the key contains, and fields by which the stored page is known to
//! vary, because their values select a variant (RFC 9111 §4.1). Of the cookies, only those in the key are sent.

use myriad_http::{Fields, Known};

use crate::vary::BY_DEVICE;
use crate::{DeviceClass, VaryRule, languages};

/// Built-in list of the request fields that are sent to the origin for pages shared by clients, one field per line.
const BUILTIN: &str = include_str!("shared_fetch.list");

/// Rules of a location for the request fields of shared fetches: requests to the origin for pages that are served to
/// several clients.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SharedFetch {
    /// `shared_fetch_headers`: true if a fetch for several clients only sends the listed fields; otherwise all fields
    /// are sent.
    pub on: bool,
    /// Names of fields that are sent in addition to the built-in list, in lower case: arguments of
    /// `shared_fetch_headers`, and fields whose unmodified value is in the cache key.
    pub fields: Vec<Box<[u8]>>,
    /// Names of cookies that are sent because their unmodified value is in the cache key.
    pub cookies: Vec<Box<[u8]>>,
    /// True if the cache key depends on the visitor's browser, so that the origin receives the browser's device class.
    pub device: bool,
    /// Fields and cookies whose normalized value is in the cache key. The origin receives this value.
    pub keyed: Vec<KeyedInput>,
}

/// Request fields of a fetch for several clients, sent to the origin instead of the client's.
#[derive(Debug)]
pub struct SharedFetchFields {
    /// Request fields to send.
    pub fields: Fields,
    /// Fields that are only sent because the stored page varies by them. The response varies by them too, even if it
    /// has no `Vary`.
    pub varies: VaryRule,
}

/// Request field or cookie whose normalized value is part of the cache key (`cache_key_field`, `cache_key_cookie`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyedInput {
    /// True for a cookie, false for a field.
    pub cookie: bool,
    /// Name of the field or cookie.
    pub name: Box<[u8]>,
    /// Accepted values, compared case-insensitively; a request with another value is treated as one without it. If
    /// empty, every value of at most [`KEYED_MAX`] bytes is accepted.
    pub values: Vec<Box<[u8]>>,
}

/// Maximum length, in bytes, of a normalized value in the cache key if the configuration lists no values.
const KEYED_MAX: usize = 128;

impl SharedFetch {
    /// Returns whether these rules change nothing: the client's fields are sent to the origin unmodified.
    /// `device_class` is true under `cache_device_class`.
    pub fn sends_request_unmodified(&self, device_class: bool) -> bool {
        !self.on && !device_class && self.keyed.is_empty()
    }

    /// Returns whether the origin receives fewer cookies than the client has sent, as a rule: the request has cookies,
    /// and a fetch for several clients only sends those in the cache key. True even if all cookies are in the key;
    /// false if the listed fields include `Cookie`.
    pub fn hides_cookies(&self, request: &Fields) -> bool {
        self.on && request.has(Known::Cookie) && !self.lists(b"cookie")
    }

    /// Returns the fields that are sent to the origin instead of the client's; `None` if the client's are sent
    /// unmodified.
    ///
    /// `varies` is the variant rule of the stored page, or an empty rule if none is known. `device_class` is true under
    /// `cache_device_class`. `has_body` is true if the request has a body; the fields that describe a body are then
    /// sent too.
    pub fn fields_for_origin(
        &self,
        request: &Fields,
        has_body: bool,
        varies: &VaryRule,
        device_class: bool,
    ) -> Option<SharedFetchFields> {
        if self.sends_request_unmodified(device_class) {
            return None;
        }
        let stands_for_browser =
            (self.on || device_class) && !self.lists(b"user-agent") && !varies.has(b"user-agent");
        let mut sent = Fields::new();
        for (known, name, value) in request.iter_known() {
            let is_browser = known == Some(Known::UserAgent) || name.eq_ignore_ascii_case(DeviceClass::HINT);
            if self.is_keyed(name)
                || stands_for_browser && is_browser && !self.lists(name) && !varies.has(name)
            {
                continue;
            }
            if known == Some(Known::AcceptLanguage) && varies.has(b"accept-language") && self.on {
                if !sent.has(Known::AcceptLanguage) {
                    push_languages(request, &mut sent);
                }
            } else if !self.on || self.passes(name, has_body, varies) {
                sent.push(name, value);
            }
        }
        for keyed in self.keyed.iter().filter(|keyed| !keyed.cookie) {
            push_unless_empty(&keyed.name, &keyed.value(request), &mut sent);
        }
        if self.on && !self.lists(b"cookie") {
            self.push_cookies(request, &mut sent);
        }
        let by_class = stands_for_browser && self.push_browser(request, varies, &mut sent);
        let always =
            |name: &[u8]| !self.on || is_builtin(name, has_body) || self.lists(name) || self.is_keyed(name);
        let by_variant = varies.only(|name| match name {
            BY_DEVICE => by_class,
            name => sent.get(name).is_some() && !always(name),
        });
        Some(SharedFetchFields { fields: sent, varies: by_variant })
    }

    /// Returns whether a cookie (`name=value`, as sent) is part of the cache key with this value. Pages of visitors
    /// with such a cookie are separate, so that the cookie does not prevent sharing.
    pub fn has_in_key(&self, pair: &[u8]) -> bool {
        let Some(at) = memchr::memchr(b'=', pair) else { return false };
        let (name, value) = (&pair[..at], &pair[at + 1..]);
        self.keyed.iter().any(|keyed| keyed.cookie && *keyed.name == *name && keyed.accepted(value).is_some())
    }

    /// Returns the cookies of a request that are part of the cache key ([`Self::has_in_key`]) as `name=value`, in the
    /// order of their names. Of cookies with the same name, the first remains the first: origins read that one. Equal
    /// cookies that follow each other in this order are returned once.
    pub fn keyed_pairs<'a>(&self, request: &'a Fields) -> Vec<&'a [u8]> {
        let mut pairs: Vec<&[u8]> = request.cookie_pairs().filter(|pair| self.has_in_key(pair)).collect();
        pairs.sort_by_key(|pair| pair.split(|byte| *byte == b'=').next());
        pairs.dedup();
        pairs
    }

    fn lists(&self, name: &[u8]) -> bool {
        self.fields.iter().any(|listed| listed.eq_ignore_ascii_case(name))
    }

    fn passes(&self, name: &[u8], has_body: bool, varies: &VaryRule) -> bool {
        let varies = || varies.has(name) && !name.eq_ignore_ascii_case(b"cookie");
        is_builtin(name, has_body) || self.lists(name) || varies()
    }

    /// Returns whether the cache key contains the normalized value of a field, so that the field creates no variants.
    pub(crate) fn is_keyed(&self, name: &[u8]) -> bool {
        self.keyed.iter().any(|keyed| keyed.is_field(name))
    }

    /// Adds the `User-Agent` that represents the visitor's device class, or that of a desktop if neither the cache key
    /// nor the stored page depends on the class; and `Sec-CH-UA-Mobile` if it contradicts the class and the stored page
    /// varies by class. Returns true if the stored page varies by class, the cache key does not depend on it, and the
    /// visitor's class or `Sec-CH-UA-Mobile` differs from that of an ordinary desktop.
    fn push_browser(&self, request: &Fields, varies: &VaryRule, told: &mut Fields) -> bool {
        let by_class = varies.by_device();
        let class = if by_class || self.device { DeviceClass::of(request) } else { DeviceClass::Desktop };
        told.push_known(Known::UserAgent, class.user_agent());
        let hint = DeviceClass::contrary_hint(request).filter(|_| by_class);
        if let Some(hint) = hint {
            told.push(DeviceClass::HINT, hint);
        }
        by_class && !self.device && (class != DeviceClass::Desktop || hint.is_some())
    }

    fn push_cookies(&self, request: &Fields, told: &mut Fields) {
        let mut pairs: Vec<Vec<u8>> = Vec::new();
        for name in &self.cookies {
            if let Some(value) = cookie(request, name) {
                pairs.push([name, &b"="[..], value].concat());
            }
        }
        for keyed in self.keyed.iter().filter(|keyed| keyed.cookie) {
            let value = keyed.value(request);
            if !value.is_empty() {
                pairs.push([&keyed.name, &b"="[..], &value].concat());
            }
        }
        if !pairs.is_empty() {
            told.push_known(Known::Cookie, &pairs.join(&b"; "[..]));
        }
    }
}

impl KeyedInput {
    /// Returns the normalized value that is used in the cache key and sent to the origin; empty if it is absent or not
    /// accepted. Of `Accept-Language`, it is the accepted language that the visitor prefers most (RFC 9110 §12.5.4), or
    /// all languages ordered by weight if the configuration lists none.
    pub fn value(&self, request: &Fields) -> Vec<u8> {
        let is_language = !self.cookie && self.name.eq_ignore_ascii_case(b"accept-language");
        let sent = || request.known_all(Known::AcceptLanguage);
        let value = if is_language && !self.values.is_empty() {
            return languages::best(sent(), &self.values).unwrap_or_default().to_vec();
        } else if is_language {
            let mut spelled = Vec::new();
            languages::write(languages::ordered(sent()).unwrap_or_default(), &mut spelled);
            spelled
        } else if self.cookie {
            cookie(request, &self.name).unwrap_or_default().to_vec()
        } else {
            request.get_all(&self.name).collect::<Vec<_>>().join(&b", "[..])
        };
        self.accepted(&value).unwrap_or_default().to_vec()
    }

    /// Returns a value as the cache key contains it; `None` if it is treated as absent.
    fn accepted<'a>(&'a self, value: &'a [u8]) -> Option<&'a [u8]> {
        if self.values.is_empty() {
            return (value.len() <= KEYED_MAX).then_some(value);
        }
        self.values.iter().map(|listed| &**listed).find(|listed| listed.eq_ignore_ascii_case(value))
    }

    fn is_field(&self, name: &[u8]) -> bool {
        !self.cookie && self.name.eq_ignore_ascii_case(name)
    }
}

/// Returns whether a fetch for several clients sends a field because it is in the built-in list. The list marks some
/// fields as sent only if the request has a body (`has_body`).
fn is_builtin(name: &[u8], has_body: bool) -> bool {
    let lines = BUILTIN.lines().map(|line| line.split('#').next().unwrap_or_default());
    let mut words = lines.map(str::split_ascii_whitespace);
    words.any(|mut words| {
        let listed = words.next().is_some_and(|listed| listed.as_bytes().eq_ignore_ascii_case(name));
        listed && (has_body || words.next().is_none())
    })
}

fn push_unless_empty(name: &[u8], value: &[u8], told: &mut Fields) {
    if !value.is_empty() {
        told.push(name, value);
    }
}

/// Returns the value of the first cookie with this name (RFC 6265 §4.2), like the variable `$cookie_NAME`; `None` if
/// there is none.
fn cookie<'a>(request: &'a Fields, name: &[u8]) -> Option<&'a [u8]> {
    request.known_all(Known::Cookie).find_map(|field| myriad_http::uri::cookie(field, name))
}

/// Adds `Accept-Language` in the normalized form that identifies the variant, so that the response depends only on it.
fn push_languages(request: &Fields, told: &mut Fields) {
    match languages::ordered(request.known_all(Known::AcceptLanguage)) {
        Some(ordered) if !ordered.is_empty() => {
            let mut spelled = Vec::new();
            languages::write(ordered, &mut spelled);
            told.push_known(Known::AcceptLanguage, &spelled);
        }
        // With too many languages, variants are not distinguished and the response is not stored.
        _ => request.known_all(Known::AcceptLanguage).for_each(|value| told.push(b"Accept-Language", value)),
    }
}

#[cfg(test)]
mod tests;
