//! `Cache-Control` (RFC 9111 §5.2, RFC 5861, RFC 8246).

use smallvec::SmallVec;

use crate::list;
use crate::structured::{self, StructuredValue};

/// Directives of the `Cache-Control` fields of a message, or of a targeted field. Times are in seconds; `None` if the
/// directive is missing. Booleans are true if the directive is present.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CacheControl {
    /// `max-age`: time for which a response is fresh, or the maximum age that a request accepts.
    pub max_age: Option<u64>,
    /// `s-maxage`: time for which a response is fresh in shared caches.
    pub s_maxage: Option<u64>,
    /// `stale-while-revalidate` (RFC 5861 §3): time after expiry for which a stale response may be served during a
    /// refresh.
    pub stale_while_revalidate: Option<u64>,
    /// `stale-if-error` (RFC 5861 §4): time after expiry for which a stale response may be served if the refresh fails.
    pub stale_if_error: Option<u64>,
    /// `min-fresh` of a request: minimum remaining freshness that the client accepts.
    pub min_fresh: Option<u64>,
    /// `max-stale` of a request: maximum staleness that the client accepts; `u64::MAX` without an argument.
    pub max_stale: Option<u64>,
    /// True if `no-cache` is present without field names or with an empty list of them.
    pub no_cache: bool,
    /// Field names of `no-cache="…"`, in lower case.
    pub no_cache_fields: SmallVec<[Box<[u8]>; 1]>,
    /// True if `no-store` is present.
    pub no_store: bool,
    /// True if `private` is present without field names or with an empty list of them.
    pub private: bool,
    /// Field names of `private="…"`, in lower case.
    pub private_fields: SmallVec<[Box<[u8]>; 1]>,
    /// True if `public` is present.
    pub public: bool,
    /// True if `must-revalidate` is present.
    pub must_revalidate: bool,
    /// True if `proxy-revalidate` is present.
    pub proxy_revalidate: bool,
    /// True if `must-understand` is present.
    pub must_understand: bool,
    /// True if `only-if-cached` is present.
    pub only_if_cached: bool,
    /// True if `no-transform` is present.
    pub no_transform: bool,
    /// True if `immutable` (RFC 8246) is present.
    pub immutable: bool,
}

impl CacheControl {
    /// Parses the values of all `Cache-Control` fields, in order.
    ///
    /// Names are case-insensitive; arguments are tokens or quoted strings (RFC 9111 §5.2). Of several values for a
    /// time, the first counts (RFC 9111 §4.2.1 permits this). A time that is not a number or has no value counts as 0,
    /// so that `max-age` makes the response stale (except for `max-stale` without a value, which permits any
    /// staleness); a time above 2³¹ counts as 2³¹ (RFC 9111 §1.2.2). Unknown directives are ignored.
    ///
    /// A `;` or white space between directives separates them like a comma, although the grammar does not allow it.
    /// nginx parses `max-age=60; public` in this way, and a `private` or `no-store` after such a separator must not be
    /// missed.
    pub fn parse<'a>(values: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut all = Self::default();
        for mut rest in values {
            while let Some((name, argument)) = next_directive(&mut rest) {
                all.add(name, argument);
            }
        }
        all
    }

    /// Parses the values of a targeted field such as `CDN-Cache-Control` (RFC 9213), a structured field. A negative
    /// time counts as 0; a directive with the value `?0` counts as missing.
    ///
    /// Returns `None` if the field is empty or has a syntax error, or if a known directive has a value of another wrong
    /// type. The caller must then ignore the whole field.
    pub fn parse_targeted<'a>(values: impl IntoIterator<Item = &'a [u8]>) -> Option<Self> {
        let text = values.into_iter().collect::<Vec<_>>().join(&b", "[..]);
        let members = structured::dictionary(&text).filter(|members| !members.is_empty())?;
        let mut all = Self::default();
        for (name, value) in members {
            match value {
                StructuredValue::False => {}
                StructuredValue::True if !is_time(name) => all.add(name, None),
                StructuredValue::Integer(seconds) if is_time(name) => {
                    let seconds = seconds.max(0).to_string();
                    all.add(name, Some(seconds.as_bytes()));
                }
                StructuredValue::String(names) if matches!(name, b"no-cache" | b"private") => {
                    all.add(name, Some(names));
                }
                _ if is_known(name) => return None,
                _ => {}
            }
        }
        Some(all)
    }

    fn add(&mut self, name: &[u8], argument: Option<&[u8]>) {
        let mut lower = [0; 24];
        let Some(lower) = lower.get_mut(..name.len()) else { return };
        lower.copy_from_slice(name);
        lower.make_ascii_lowercase();
        match &*lower {
            b"max-age" => set_first(&mut self.max_age, seconds(argument)),
            b"s-maxage" => set_first(&mut self.s_maxage, seconds(argument)),
            b"stale-while-revalidate" => set_first(&mut self.stale_while_revalidate, seconds(argument)),
            b"stale-if-error" => set_first(&mut self.stale_if_error, seconds(argument)),
            b"min-fresh" => set_first(&mut self.min_fresh, seconds(argument)),
            b"max-stale" => set_first(&mut self.max_stale, argument.map_or(u64::MAX, |_| seconds(argument))),
            b"no-cache" => add_field_names(argument, &mut self.no_cache, &mut self.no_cache_fields),
            b"private" => add_field_names(argument, &mut self.private, &mut self.private_fields),
            b"no-store" => self.no_store = true,
            b"public" => self.public = true,
            b"must-revalidate" => self.must_revalidate = true,
            b"proxy-revalidate" => self.proxy_revalidate = true,
            b"must-understand" => self.must_understand = true,
            b"only-if-cached" => self.only_if_cached = true,
            b"no-transform" => self.no_transform = true,
            b"immutable" => self.immutable = true,
            _ => {}
        }
    }
}

/// Removes the next directive from `rest`, and returns its name and its argument without quotes; `None` at the end.
fn next_directive<'a>(rest: &mut &'a [u8]) -> Option<(&'a [u8], Option<&'a [u8]>)> {
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let is_separator = |byte: &u8| matches!(byte, b',' | b';' | b' ' | b'\t');
    let start = rest.iter().position(|byte| !is_separator(byte))?;
    let text = &rest[start..];
    let end = text.iter().position(|byte| is_separator(byte) || *byte == b'=').unwrap_or(text.len());
    let (name, after) = text.split_at(end);
    let equals = after.iter().position(|byte| !is_blank(byte)).filter(|at| after[*at] == b'=');
    let Some(equals) = equals else {
        *rest = after;
        return Some((name, None));
    };
    let after = after[equals + 1..].trim_ascii_start();
    // An unterminated quoted string ends at the next separator, so that it cannot hide a directive.
    let end = quoted_length(after).or_else(|| after.iter().position(is_separator)).unwrap_or(after.len());
    let (argument, after) = after.split_at(end);
    *rest = after;
    Some((name, Some(unquote(argument))))
}

/// Returns the length of the quoted string at the start of `text`, including its quotes; `None` if `text` does not
/// start with a terminated quoted string.
fn quoted_length(text: &[u8]) -> Option<usize> {
    let quoted = text.strip_prefix(b"\"")?;
    let mut is_escaped = false;
    let closing = quoted.iter().position(|byte| {
        let closes = *byte == b'"' && !is_escaped;
        is_escaped = *byte == b'\\' && !is_escaped;
        closes
    })?;
    Some(closing + 2)
}

/// Returns whether `name` is a response directive with a number of seconds as its value, such as `max-age`.
fn is_time(name: &[u8]) -> bool {
    matches!(name, b"max-age" | b"s-maxage" | b"stale-while-revalidate" | b"stale-if-error")
}

/// Returns whether `name` is a response directive that this module parses.
fn is_known(name: &[u8]) -> bool {
    is_time(name)
        || matches!(
            name,
            b"no-cache"
                | b"private"
                | b"no-store"
                | b"public"
                | b"must-revalidate"
                | b"proxy-revalidate"
                | b"must-understand"
                | b"no-transform"
                | b"immutable"
        )
}

fn set_first(slot: &mut Option<u64>, value: u64) {
    slot.get_or_insert(value);
}

/// Parses `argument` of `no-cache` or `private`, a list of field names, and adds them to `fields`. Without names, sets
/// `whole`, because the directive applies to the whole response.
fn add_field_names(argument: Option<&[u8]>, whole: &mut bool, fields: &mut SmallVec<[Box<[u8]>; 1]>) {
    let before = fields.len();
    let names = argument.into_iter().flat_map(list::members);
    fields.extend(names.map(|name| name.to_ascii_lowercase().into_boxed_slice()));
    *whole |= fields.len() == before;
}

/// Removes the quotes of a quoted string; the closing quote may be missing. Escapes are not decoded, because no
/// argument that is parsed contains a character that needs one.
fn unquote(argument: &[u8]) -> &[u8] {
    match argument {
        [b'"', rest @ ..] => rest.strip_suffix(b"\"").unwrap_or(rest),
        other => other,
    }
}

fn seconds(argument: Option<&[u8]>) -> u64 {
    const MOST: u64 = 1 << 31;
    let digits = argument.unwrap_or_default().trim_ascii();
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return 0;
    }
    digits.iter().fold(0, |seconds, digit| (seconds * 10 + u64::from(digit - b'0')).min(MOST))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(value: &str) -> CacheControl {
        CacheControl::parse([value.as_bytes()])
    }

    #[test]
    fn times_are_read_in_seconds() {
        let read =
            parse("max-age=60, s-maxage=120, stale-while-revalidate=5, stale-if-error=86400, min-fresh=1");
        assert_eq!(read.max_age, Some(60));
        assert_eq!(read.s_maxage, Some(120));
        assert_eq!(read.stale_while_revalidate, Some(5));
        assert_eq!(read.stale_if_error, Some(86400));
        assert_eq!(read.min_fresh, Some(1));
        assert_eq!((parse("max-stale").max_stale, parse("max-stale=7").max_stale), (Some(u64::MAX), Some(7)));
    }

    #[test]
    fn every_flag_sets_its_own_field_and_no_other() {
        type Flag = fn(&CacheControl) -> bool;
        let flags: [(&str, Flag); 10] = [
            ("no-cache", |read| read.no_cache),
            ("no-store", |read| read.no_store),
            ("private", |read| read.private),
            ("public", |read| read.public),
            ("must-revalidate", |read| read.must_revalidate),
            ("proxy-revalidate", |read| read.proxy_revalidate),
            ("must-understand", |read| read.must_understand),
            ("only-if-cached", |read| read.only_if_cached),
            ("no-transform", |read| read.no_transform),
            ("immutable", |read| read.immutable),
        ];
        for (name, _) in flags {
            let read = parse(&name.to_ascii_uppercase());
            let set: Vec<_> = flags.iter().filter(|(_, flag)| flag(&read)).map(|(name, _)| *name).collect();
            assert_eq!(set, [name]);
        }
    }

    #[test]
    fn field_names_qualify_no_cache_and_private() {
        let read = parse(r#"private="Set-Cookie, X-User", no-cache=Warning, max-age=1"#);
        assert!(!read.private && !read.no_cache);
        assert_eq!(
            read.private_fields.as_slice(),
            [Box::from(&b"set-cookie"[..]), Box::from(&b"x-user"[..])]
        );
        assert_eq!(read.no_cache_fields.as_slice(), [Box::from(&b"warning"[..])]);
        assert_eq!(read.max_age, Some(1));
        assert!(parse("private=\"\"").private);
        assert!(parse("private=\"a\", private").private);
    }

    #[test]
    fn several_fields_are_one_list_and_the_first_time_counts() {
        let read = CacheControl::parse([&b"max-age=10"[..], b"no-store, max-age=20"]);
        assert_eq!(read.max_age, Some(10));
        assert!(read.no_store);
    }

    #[test]
    fn odd_spelling_is_read() {
        assert_eq!(parse("Max-Age = \"30\"").max_age, Some(30));
        assert_eq!(parse("max-age=\"30").max_age, Some(30));
        assert_eq!(parse(",, ,max-age=5;foo").max_age, Some(5));
        assert_eq!(parse("x-max-age=5"), CacheControl::default());
        assert_eq!(
            parse("ext=\"no-store, private\", public"),
            CacheControl { public: true, ..CacheControl::default() }
        );
    }

    #[test]
    fn semicolons_and_blanks_separate_directives_and_hide_none() {
        for (text, max_age) in [
            ("max-age=60; public", Some(60)),
            ("max-age=60;public", Some(60)),
            ("public ; max-age = 60", Some(60)),
            ("public max-age=60", Some(60)),
            ("max-age=\"60\";public", Some(60)),
            ("public; max-age=6x", Some(0)),
            ("public; max-age=", Some(0)),
        ] {
            let read = parse(text);
            assert_eq!((read.public, read.max_age), (true, max_age), "{text}");
        }
        for text in [
            "public; private",
            "max-age=60 private",
            "private; max-age=60",
            "public\tprivate;",
            "a=\"b\"private",
        ] {
            assert!(parse(text).private, "{text}");
        }
        for text in ["max-age=60; no-store", "no-store; no-cache", "no-cache no-store, max-age=60"] {
            assert!(parse(text).no_store, "{text}");
        }
        assert!(parse("x=\"never closed, private").private);
        for text in ["x=\"; private\"", "x=\"a\\\"; private\", public", "x-private; private-x"] {
            assert!(!parse(text).private, "{text}");
        }
        assert_eq!(parse("private=\"set-cookie; x\"; max-age=5").private_fields.len(), 1);
    }

    #[test]
    fn times_that_are_no_numbers_are_stale_and_huge_ones_are_bounded() {
        for value in ["max-age", "max-age=", "max-age=-1", "max-age=1.5", "max-age=abc"] {
            assert_eq!(parse(value).max_age, Some(0), "{value}");
        }
        assert_eq!(parse("max-age=99999999999999999999999").max_age, Some(1 << 31));
    }

    #[test]
    fn targeted_field_is_read_strictly_or_not_at_all() {
        let read = |value: &str| CacheControl::parse_targeted([value.as_bytes()]);
        let plain = read("max-age=60, must-revalidate, x=1.5, private=\"a, b\"").unwrap();
        assert_eq!((plain.max_age, plain.must_revalidate, plain.private), (Some(60), true, false));
        assert_eq!(plain.private_fields.len(), 2);
        assert!(!read("no-store=?0, max-age=1").unwrap().no_store);
        assert_eq!(
            read("max-age=1, max-age=2").unwrap().max_age,
            Some(2),
            "the last, as in every dictionary"
        );
        for nothing in
            ["", "max-age=\"60\"", "max-age", "max-age=1.5", "no-store=1", "max-age=60, &&", "Max-Age=60"]
        {
            assert_eq!(read(nothing), None, "{nothing}");
        }
        let lines = CacheControl::parse_targeted([&b"max-age=5"[..], b"no-cache"]).unwrap();
        assert!(lines.no_cache && lines.max_age == Some(5));
    }

    #[test]
    fn random_values_never_panic() {
        let pieces = ["max-age", "=", "\"", ",", " ", "private", "99", "no-cache", "\\", "\u{e9}", ";"];
        let mut random = fastrand::Rng::with_seed(4);
        for _ in 0..20_000 {
            let value: String = (0..random.usize(..12)).map(|_| *random.choice(&pieces).unwrap()).collect();
            let read = parse(&value);
            assert!(read.max_age.is_none_or(|seconds| seconds <= 1 << 31), "{value}");
        }
    }
}
