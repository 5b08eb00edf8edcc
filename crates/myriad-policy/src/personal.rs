//! Cookies that make a page personal. The built-in lists are `*.list` in this folder.

use std::sync::Arc;

mod pattern;

use pattern::CookiePattern;

use crate::percent::percent_decoded;

/// Built-in list of personal cookies (login, cart, comment author), one name pattern per line.
const BUILTIN: &str = include_str!("personal.list");

/// Built-in list of cookies with a choice of the visitor (currency, country), which is part of
/// [`PersonalCookies::builtin`].
const CHOICES: &str = include_str!("choice_cookies.list");

/// Built-in list of login and session cookies, one name pattern per line.
const SESSIONS: &str = include_str!("session_cookies.list");

/// Built-in list of session cookies of common frameworks, which is part of [`PersonalCookies::builtin`] and of
/// [`PersonalCookies::builtin_sessions`].
const FRAMEWORKS: &str = include_str!("framework_sessions.list");

/// Set of cookie name patterns; cheap to clone. Requests with a cookie of `personal_cookies` do not use shared pages.
///
/// Names are compared as PHP parses them: it skips white space before a name, converts `.`, space and `[` to `_`, and
/// decoded percent-encoding in names before 7.2.34. `wordpress.logged_in_…` therefore also logs a visitor in.
#[derive(Clone, Debug)]
pub struct PersonalCookies(Arc<Patterns>);

#[derive(Debug)]
struct Patterns {
    list: Vec<CookiePattern>,
    /// For each byte, the patterns that a name with this first byte may match: their second byte (0 for any), and their
    /// positions in `list`. Most cookies are rejected by one lookup.
    by_first: [Box<[(u8, u16)]>; 256],
}

impl PersonalCookies {
    /// Returns an empty set (`personal_cookies off`).
    pub fn none() -> PersonalCookies {
        PersonalCookies::from_patterns(Vec::new())
    }

    /// Returns the built-in list of personal cookies.
    pub fn builtin() -> PersonalCookies {
        PersonalCookies::parse(&[BUILTIN, FRAMEWORKS, CHOICES].concat())
    }

    /// Returns the built-in list without choices such as a currency, whose values may be part of the cache key.
    pub fn builtin_without_choices() -> PersonalCookies {
        PersonalCookies::parse(&[BUILTIN, FRAMEWORKS].concat())
    }

    /// Returns the built-in list of login and session cookies, whose values are secrets of a visitor.
    pub fn builtin_sessions() -> PersonalCookies {
        PersonalCookies::parse(&[SESSIONS, FRAMEWORKS].concat())
    }

    /// Parses patterns in the format of the built-in lists: one per line, `#` starts a comment. One `*`, inside a
    /// name or as its last character, matches any text; a trailing `[a-f0-9]+` matches hexadecimal digits. A pattern may
    /// be followed by a space and `!NAME`, which excludes a name.
    pub fn parse(list: &str) -> PersonalCookies {
        let lines = list.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
        PersonalCookies::from_patterns(lines.filter_map(CookiePattern::parse_line).collect())
    }

    /// Creates the set of a `personal_cookies` directive: `names`, preceded by the built-in list if `builtin` is set.
    pub fn new<'a>(builtin: bool, names: impl IntoIterator<Item = &'a str>) -> PersonalCookies {
        let list = if builtin { PersonalCookies::builtin() } else { PersonalCookies::none() };
        list.with(names)
    }

    /// Returns this set with additional name patterns.
    #[must_use]
    pub fn with<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> PersonalCookies {
        let mut list = self.0.list.clone();
        list.extend(names.into_iter().filter_map(CookiePattern::parse));
        PersonalCookies::from_patterns(list)
    }

    /// Returns this set without `pattern`. Used for a cookie whose value is part of the cache key, so that pages are
    /// not mixed.
    #[must_use]
    pub fn without(&self, pattern: &str) -> PersonalCookies {
        let Some(unwanted) = CookiePattern::parse(pattern) else { return self.clone() };
        let rest = self.0.list.iter().filter(|pattern| !pattern.is_same_pattern(&unwanted));
        PersonalCookies::from_patterns(rest.cloned().collect())
    }

    /// Returns whether the set has no patterns.
    pub fn is_empty(&self) -> bool {
        self.0.list.is_empty()
    }

    /// Returns the name, as sent, of the first personal cookie in the value of a `Cookie` field (RFC 6265 §4.2); `None`
    /// if it has none.
    pub fn matches_cookie_header<'a>(&self, value: &'a [u8]) -> Option<&'a [u8]> {
        let mut rest = value;
        loop {
            rest = skip_space(rest);
            let first = *rest.first()?;
            let end = memchr::memchr(b';', rest).unwrap_or(rest.len());
            if self.may_begin_with(first)
                && let Some(name) = self.matching_name(&rest[..end])
            {
                return Some(name);
            }
            rest = rest.get(end + 1..)?;
        }
    }

    /// Returns the cookie name of a `Set-Cookie` value (RFC 6265 §4.1) if it is personal, else `None`. A field that
    /// deletes a cookie counts as well, because the page was generated for a visitor with that cookie.
    pub fn matches_set_cookie<'a>(&self, value: &'a [u8]) -> Option<&'a [u8]> {
        let pair = skip_space(value.split(|byte| *byte == b';').next().unwrap_or_default());
        self.may_begin_with(*pair.first()?).then(|| self.matching_name(pair)).flatten()
    }

    /// Returns the name of a `name=value` pair (or of a pair without `=`) if a pattern matches it, otherwise `None`.
    fn matching_name<'a>(&self, pair: &'a [u8]) -> Option<&'a [u8]> {
        let name = &pair[..memchr::memchr(b'=', pair).unwrap_or(pair.len())];
        if !name.contains(&b'%') {
            return self.is_listed(name).then_some(name);
        }
        let decoded = percent_decoded(name);
        (self.is_listed(skip_space(&decoded)) || self.is_listed(name)).then_some(name)
    }

    /// Returns whether a name that begins with this byte may match. A name that begins with `%` is decoded first.
    fn may_begin_with(&self, first: u8) -> bool {
        !self.0.by_first[usize::from(first)].is_empty() || (first == b'%' && !self.0.list.is_empty())
    }

    /// Returns whether a pattern matches a decoded name.
    fn is_listed(&self, name: &[u8]) -> bool {
        let Some(first) = name.first() else {
            return self.0.list.iter().any(|pattern| pattern.matches(name));
        };
        let candidates = &self.0.by_first[usize::from(*first)];
        let second = name.get(1).map_or(0, |byte| pattern::as_php(*byte));
        for (wanted, at) in candidates {
            if (*wanted == 0 || *wanted == second) && self.0.list[usize::from(*at)].matches(name) {
                return true;
            }
        }
        false
    }

    fn from_patterns(list: Vec<CookiePattern>) -> PersonalCookies {
        let by_first = std::array::from_fn(|byte| {
            let may_match = |at: &u16| list[usize::from(*at)].may_begin_with(byte as u8);
            let candidate = |at: u16| (list[usize::from(at)].second().unwrap_or(0), at);
            (0..list.len() as u16).filter(may_match).map(candidate).collect()
        });
        PersonalCookies(Arc::new(Patterns { list, by_first }))
    }
}

/// Returns `value` without leading white space as defined by C's `isspace`, which PHP uses.
fn skip_space(mut value: &[u8]) -> &[u8] {
    while let [b'\t'..=b'\r' | b' ', rest @ ..] = value {
        value = rest;
    }
    value
}

#[cfg(test)]
mod tests;
