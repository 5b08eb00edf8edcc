//! Shared fetches: what a fetch of a page for all visitors tells its origin of the one who caused it.
//!
//! An application may build a page by any field of a request, while the page's key holds few of them. So a shared fetch
//! sends what is told apart, and nothing else: the fields of the built-in list (`shared_fetch.list` beside this file), those
//! that the configuration names or the key holds, and those by which the stored page is known to vary, whose values make a
//! variant of their own (RFC 9111 §4.1). No cookie goes but those in the key.

use myriad_http::{Fields, Known};

use crate::vary::BY_DEVICE;
use crate::{DeviceClass, VaryRule, languages};

/// The built-in list, one field a line.
const BUILTIN: &str = include_str!("shared_fetch.list");

/// The rules of a place on what its fetches tell their origin.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SharedFetch {
    /// `shared_fetch_headers`: whether a shared fetch sends listed fields only.
    pub on: bool,
    /// Names, in lower case, that the list gains: those of `shared_fetch_headers`, and those of fields whose value the key
    /// holds as it was sent.
    pub fields: Vec<Box<[u8]>>,
    /// Names of cookies whose value the key holds as it was sent.
    pub cookies: Vec<Box<[u8]>>,
    /// Whether the key follows from the visitor's browser, so that the origin is told of its class of devices.
    pub device: bool,
    /// Fields and cookies that the key holds in a normalised spelling.
    pub keyed: Vec<KeyedInput>,
}

/// The fields that the origin is told in the place of a request's own.
#[derive(Debug)]
pub struct Told {
    /// The fields.
    pub fields: Fields,
    /// Which of them it is told because the stored page varies by them: the answer varies by them too, whether it says so
    /// or not.
    pub varies: VaryRule,
}

/// A field or a cookie that the key holds besides what `*_cache_key` says (`cache_key_field`, `cache_key_cookie`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyedInput {
    /// Whether it is a cookie.
    pub cookie: bool,
    /// Its name.
    pub name: Box<[u8]>,
    /// The values that count, without regard to case; any other counts as none. Empty: every value of
    /// [`KEYED_MAX`] bytes at most.
    pub values: Vec<Box<[u8]>>,
}

/// The most bytes of a value that a key holds where none are listed.
const KEYED_MAX: usize = 128;

impl SharedFetch {
    /// Whether the origin is told the request as it came.
    pub fn is_everything_told(&self, device_class: bool) -> bool {
        !self.on && !device_class && self.keyed.is_empty()
    }

    /// Whether a shared fetch would keep cookies of the request from its origin.
    pub fn hides_cookies(&self, request: &Fields) -> bool {
        self.on && request.has(Known::Cookie) && !self.names(b"cookie")
    }

    /// The fields that the origin is told in the place of the request's own; none where it is told those.
    ///
    /// `varies` is the rule of the page that is stored, where it is known; `device_class` says that such pages vary by
    /// classes of devices.
    pub fn told(
        &self,
        request: &Fields,
        has_body: bool,
        varies: &VaryRule,
        device_class: bool,
    ) -> Option<Told> {
        if self.is_everything_told(device_class) {
            return None;
        }
        let stands_for_browser =
            (self.on || device_class) && !self.names(b"user-agent") && !varies.has(b"user-agent");
        let mut told = Fields::new();
        for (known, name, value) in request.iter_known() {
            let is_browser = known == Some(Known::UserAgent) || name.eq_ignore_ascii_case(DeviceClass::HINT);
            if self.is_keyed(name)
                || stands_for_browser && is_browser && !self.names(name) && !varies.has(name)
            {
                continue;
            }
            if known == Some(Known::AcceptLanguage) && varies.has(b"accept-language") && self.on {
                if !told.has(Known::AcceptLanguage) {
                    push_languages(request, &mut told);
                }
            } else if !self.on || self.passes(name, has_body, varies) {
                told.push(name, value);
            }
        }
        for keyed in self.keyed.iter().filter(|keyed| !keyed.cookie) {
            push_unless_empty(&keyed.name, &keyed.value(request), &mut told);
        }
        if self.on && !self.names(b"cookie") {
            self.push_cookies(request, &mut told);
        }
        let by_class = stands_for_browser && self.push_browser(request, varies, &mut told);
        let always =
            |name: &[u8]| !self.on || is_builtin(name, has_body) || self.names(name) || self.is_keyed(name);
        let by_variant = varies.only(|name| match name {
            BY_DEVICE => by_class,
            name => told.get(name).is_some() && !always(name),
        });
        Some(Told { fields: told, varies: by_variant })
    }

    fn names(&self, name: &[u8]) -> bool {
        self.fields.iter().any(|listed| listed.eq_ignore_ascii_case(name))
    }

    fn passes(&self, name: &[u8], has_body: bool, varies: &VaryRule) -> bool {
        let varies = || varies.has(name) && !name.eq_ignore_ascii_case(b"cookie");
        is_builtin(name, has_body) || self.names(name) || varies()
    }

    /// Whether the key holds a field in a spelling of its own, so that it makes no variants besides.
    pub(crate) fn is_keyed(&self, name: &[u8]) -> bool {
        self.keyed.iter().any(|keyed| keyed.is_field(name))
    }

    /// Adds the browser that stands for the visitor's; true where it is another than all others are told, since the stored
    /// page varies by it.
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
    /// The value in the one spelling that the key and the origin get; empty for none. Of languages, the one of the list that
    /// the visitor wants most (RFC 9110 §12.5.4), without a list all of them by their weights.
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
        if self.values.is_empty() {
            return if value.len() > KEYED_MAX { Vec::new() } else { value };
        }
        let listed = self.values.iter().find(|listed| listed.eq_ignore_ascii_case(&value));
        listed.map(|listed| listed.to_vec()).unwrap_or_default()
    }

    fn is_field(&self, name: &[u8]) -> bool {
        !self.cookie && self.name.eq_ignore_ascii_case(name)
    }
}

/// Whether the built-in list has a field.
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

/// The value of the first cookie of that name (RFC 6265 §4.2), as `$cookie_NAME` has it.
fn cookie<'a>(request: &'a Fields, name: &[u8]) -> Option<&'a [u8]> {
    request.known_all(Known::Cookie).find_map(|field| myriad_http::uri::cookie(field, name))
}

/// The languages in the one spelling that their variant is known by, so that no odd one reaches the origin.
fn push_languages(request: &Fields, told: &mut Fields) {
    match languages::ordered(request.known_all(Known::AcceptLanguage)) {
        Some(ordered) if !ordered.is_empty() => {
            let mut spelled = Vec::new();
            languages::write(ordered, &mut spelled);
            told.push_known(Known::AcceptLanguage, &spelled);
        }
        // Too many to be told apart: the answer is not stored.
        _ => request.known_all(Known::AcceptLanguage).for_each(|value| told.push(b"Accept-Language", value)),
    }
}

#[cfg(test)]
mod tests;
