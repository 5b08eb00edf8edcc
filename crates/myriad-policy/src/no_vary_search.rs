//! `No-Vary-Search`: query arguments that do not select another page (draft-ietf-httpbis-no-vary-search).
//!
//! The field is a dictionary of RFC 9651: `key-order`, `params` (all arguments, or a list of names), `except` (names
//! that are significant although `params` means all). If the field is invalid, every URL is a separate page.

use std::borrow::Cow;

use myriad_http::structured::{StructuredValue, dictionary, strings};

/// Maximum length in bytes of a `No-Vary-Search` value that is parsed. Longer values are ignored, because a rule is
/// stored per path.
const LONGEST: usize = 2048;

/// Rule by which query arguments select a page, parsed from a `No-Vary-Search` response field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoVarySearch {
    /// True if the order of query arguments with different names is not significant. The order of equal names always
    /// is.
    key_order: bool,
    names: ArgumentNames,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum ArgumentNames {
    /// Arguments with these names are not significant; all others are.
    Ignored(Vec<Vec<u8>>),
    /// Only arguments with these names are significant.
    AllBut(Vec<Vec<u8>>),
}

impl NoVarySearch {
    /// Parses the value of `No-Vary-Search` (several lines joined by commas). Returns `None` if the value has no
    /// effect, is invalid or longer than 2048 bytes.
    pub fn parse(value: &[u8]) -> Option<Self> {
        if value.len() > LONGEST {
            return None;
        }
        let (mut key_order, mut params, mut except) = (false, ArgumentNames::Ignored(Vec::new()), None);
        for (key, value) in dictionary(value)? {
            match (key, value) {
                (b"key-order", StructuredValue::True) => key_order = true,
                (b"params", StructuredValue::True) => params = ArgumentNames::AllBut(Vec::new()),
                (b"params", StructuredValue::List(names)) => params = ArgumentNames::Ignored(strings(names)?),
                (b"except", StructuredValue::List(names)) => except = Some(strings(names)?),
                (b"key-order" | b"params", StructuredValue::False) => {}
                (b"key-order" | b"params" | b"except", _) => return None,
                _ => {}
            }
        }
        let names = match (params, except) {
            (ArgumentNames::AllBut(_), Some(names)) => ArgumentNames::AllBut(names),
            // `except` requires `params` without a list.
            (ArgumentNames::Ignored(_), Some(_)) => return None,
            (params, None) => params,
        };
        let has_no_effect = !key_order && names == ArgumentNames::Ignored(Vec::new());
        (!has_no_effect).then_some(Self { key_order, names })
    }

    /// Returns the query without empty arguments and those that do not select another page, sorted by name if the order
    /// of arguments is not significant.
    ///
    /// ```
    /// use myriad_policy::NoVarySearch;
    ///
    /// let rule = NoVarySearch::parse(b"key-order, params=(\"utm_source\")").unwrap();
    /// assert_eq!(rule.canonical(b"b=2&utm_source=x&a=1"), b"a=1&b=2");
    /// ```
    pub fn canonical(&self, query: &[u8]) -> Vec<u8> {
        let arguments = query.split(|byte| *byte == b'&').filter(|argument| !argument.is_empty());
        let named = arguments.map(|argument| (name_of(argument), argument));
        let mut selected: Vec<_> = named.filter(|(name, _)| self.is_significant(name)).collect();
        if self.key_order {
            selected.sort_by(|(one, _), (other, _)| one.cmp(other));
        }
        let arguments: Vec<&[u8]> = selected.into_iter().map(|(_, argument)| argument).collect();
        arguments.join(&b'&')
    }

    fn is_significant(&self, name: &[u8]) -> bool {
        let has = |names: &[Vec<u8>]| names.iter().any(|known| known == name);
        match &self.names {
            ArgumentNames::Ignored(names) => !has(names),
            ArgumentNames::AllBut(names) => has(names),
        }
    }
}

/// Returns the decoded name of a query argument: `+` becomes a space, and valid percent-escapes are decoded.
fn name_of(argument: &[u8]) -> Cow<'_, [u8]> {
    let name = argument.split(|byte| *byte == b'=').next().unwrap_or_default();
    if !name.contains(&b'%') && !name.contains(&b'+') {
        return Cow::Borrowed(name);
    }
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let escaped = |rest: &[u8]| {
        let [high, low] = rest.first_chunk::<2>()?;
        u8::try_from(digit(*high)? * 16 + digit(*low)?).ok()
    };
    let mut out = Vec::with_capacity(name.len());
    let mut left = name;
    while let Some((byte, rest)) = left.split_first() {
        match (byte, escaped(rest)) {
            (b'%', Some(value)) => {
                out.push(value);
                left = &rest[2..];
            }
            (byte, _) => {
                out.push(if *byte == b'+' { b' ' } else { *byte });
                left = rest;
            }
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canonical(field: &str, query: &str) -> Option<String> {
        let rule = NoVarySearch::parse(field.as_bytes())?;
        Some(String::from_utf8(rule.canonical(query.as_bytes())).expect("text"))
    }

    #[test]
    fn arguments_that_do_not_count_are_left_out() {
        for (field, query, expected) in [
            ("params=(\"a\" \"b c\")", "a=1&x=2&b+c=3&b%20c&A=4", "x=2&A=4"),
            ("params", "a=1&b=2", ""),
            ("params=?1, except=(\"id\")", "a=1&id=2&b&id=3", "id=2&id=3"),
            ("key-order", "b=2&a=1&b=1", "a=1&b=2&b=1"),
            ("key-order=?1,params=(\"q\")", "b&q&a", "a&b"),
            ("params=(\"%61\")", "a=1&%61=2", "a=1&%61=2"),
            ("params=(\"a\")", "%61=2&&&x", "x"),
            ("params=( \"a\"  \"b\" )", "a&b&%zz=1", "%zz=1"),
            ("params=(\"a\\\"\\\\\")", "a%22%5C=1&b", "b"),
            ("params=(\"a\"), unknown=?1", "a&b", "b"),
            ("params;x, unknown=1.5", "a&b", ""),
            ("params, params=(\"a\")", "a&b", "b"),
        ] {
            assert_eq!(canonical(field, query).as_deref(), Some(expected), "{field}: {query}");
        }
    }

    #[test]
    fn malformed_no_vary_search_is_ignored() {
        for field in [
            "",
            "key-order=?0",
            "params=?0",
            "params=()",
            "params=(a)",
            "params=\"a\"",
            "params=(\"a\"",
            "params=(\"a\"\"b\")",
            "except=(\"a\")",
            "params=?0, except=(\"a\")",
            "params=?2",
            "key-order=(\"a\")",
            "except",
            "Params",
            "params,",
            "params=(\"\u{e9}\")",
            "params=(\"\\a\")",
            ",params",
            "params params",
        ] {
            assert_eq!(NoVarySearch::parse(field.as_bytes()), None, "{field}");
        }
        let long = format!("params=(\"{}\")", "a".repeat(LONGEST));
        assert_eq!(NoVarySearch::parse(long.as_bytes()), None);
    }
}
