//! Clients that accept only codings that Myriad does not generate, but an origin may.
//!
//! Clients that accept gzip, br or zstd, or list no coding, share a single stored body per page, whatever the spelling
//! of `Accept-Encoding`; this includes all browsers. A client that only accepts, for example, `deflate` may receive it
//! from the origin. If the origin's `Vary` includes `Accept-Encoding`, such a client therefore has a separate page, as
//! in nginx.

use myriad_http::{Fields, Known};
use smallvec::SmallVec;

/// Maximum number of codings in `Accept-Encoding` that are distinguished. Real lists are shorter; clients with longer
/// lists receive the common page.
const NAMES_MAX: usize = 4;
/// Maximum length of the joined names of codings, in bytes; longer lists are treated like lists of too many codings.
const BYTES_MAX: usize = 48;

/// Returns the codings that a request accepts if Myriad generates none of them: in lower case, sorted and joined by
/// commas. Returns `None` if the request has no `Accept-Encoding`, accepts a coding that Myriad generates, `*` or only
/// identity, or if the list is invalid or too long.
pub fn other_codings(request: &Fields) -> Option<Box<[u8]>> {
    let first = request.known(Known::AcceptEncoding)?;
    // Fast path for the values of nearly all clients.
    if first.starts_with(b"gzip, ") || first == b"gzip" {
        return None;
    }
    let mut names: SmallVec<[&[u8]; NAMES_MAX]> = SmallVec::new();
    for member in request.known_all(Known::AcceptEncoding).flat_map(|value| value.split(|byte| *byte == b','))
    {
        let end = member.iter().position(|byte| *byte == b';').unwrap_or(member.len());
        let name = member[..end].trim_ascii();
        if name.is_empty() || name.eq_ignore_ascii_case(b"identity") || is_refused(&member[end..]) {
            continue;
        }
        let own = [&b"gzip"[..], b"x-gzip", b"br", b"zstd", b"*"];
        let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        if own.iter().any(|own| name.eq_ignore_ascii_case(own)) || !name.iter().all(is_name) {
            return None;
        }
        if names.len() == NAMES_MAX {
            return None;
        }
        names.push(name);
    }
    let mut names: SmallVec<[Vec<u8>; NAMES_MAX]> =
        names.iter().map(|name| name.to_ascii_lowercase()).collect();
    names.sort_unstable();
    names.dedup();
    let joined = names.join(&b","[..]);
    (1..=BYTES_MAX).contains(&joined.len()).then(|| joined.into())
}

/// Returns whether the parameters of a coding have a weight of 0 (RFC 9110 §12.4.2).
fn is_refused(parameters: &[u8]) -> bool {
    let Some(equals) = parameters.iter().position(|byte| *byte == b'=') else { return false };
    let weight = parameters[equals + 1..].trim_ascii();
    weight.first() == Some(&b'0') && weight[1..].iter().all(|byte| matches!(byte, b'.' | b'0'))
}

/// Returns whether the `Vary` values of a response include `Accept-Encoding`.
pub fn varies_by_coding<'a>(mut values: impl Iterator<Item = &'a [u8]>) -> bool {
    let is_it = |name: &[u8]| name.trim_ascii().eq_ignore_ascii_case(b"accept-encoding");
    values.any(|value| value.split(|byte| *byte == b',').any(is_it))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[&str]) -> Option<String> {
        let fields: Fields = values.iter().map(|value| ("Accept-Encoding", *value)).collect();
        other_codings(&fields).map(|codings| String::from_utf8(codings.into()).unwrap())
    }

    #[test]
    fn no_browser_and_no_tool_takes_other_codings_alone() {
        assert_eq!(of(&[]), None);
        for spelling in [
            "gzip, deflate, br, zstd",
            "gzip, deflate, br",
            "gzip, deflate",
            "gzip;q=1.0,deflate;q=0.6,identity;q=0.3",
            "deflate, gzip, br, zstd",
            "deflate, gzip",
            "br;q=1.0, gzip;q=0.8, *;q=0.1",
            "br",
            "x-gzip, deflate",
            "zstd",
            "ZSTD",
            "identity",
            "identity;q=1, *;q=0",
            "*",
            "deflate, *;q=0.5",
            "*;q=0",
            "gzip;q=0",
            "",
            " , ",
        ] {
            assert_eq!(of(&[spelling]), None, "{spelling}");
        }
    }

    #[test]
    fn other_codings_are_known_by_their_names_however_they_are_written() {
        for same in [
            "foo, bar",
            "foo,bar",
            "bar,foo",
            "foo,,  ,bar , ",
            "FOO;q=0.5, bar, foo, identity",
            "gzip;q=0,foo,bar",
        ] {
            assert_eq!(of(&[same]).as_deref(), Some("bar,foo"), "{same}");
        }
        assert_eq!(of(&["foo", "bar"]).as_deref(), Some("bar,foo"));
        assert_eq!(of(&["gzip;q=0.0", "foo"]).as_deref(), Some("foo"));
        assert_eq!(of(&["deflate"]).as_deref(), Some("deflate"));
        assert_eq!(of(&["foobar"]).as_deref(), Some("foobar"));
        assert_eq!(of(&["deflate;q=0", "foo;q=0.001"]).as_deref(), Some("foo"));
        assert_eq!(of(&["gzip", "foo"]), None);
    }

    #[test]
    fn what_is_no_list_of_codings_makes_no_page_of_its_own() {
        assert_eq!(of(&["a,b,c,d"]).as_deref(), Some("a,b,c,d"));
        assert_eq!(of(&["a,b,c,d,e"]), None);
        assert_eq!(of(&[&"x".repeat(BYTES_MAX)]).map(|codings| codings.len()), Some(BYTES_MAX));
        assert_eq!(of(&[&"x".repeat(BYTES_MAX + 1)]), None);
        for odd in ["a b", "a\"b\"", "a=b", "\u{e4}", "(a)"] {
            assert_eq!(of(&[odd]), None, "{odd}");
        }
    }

    #[test]
    fn vary_is_read_over_all_its_fields() {
        let varies = |values: &[&str]| varies_by_coding(values.iter().map(|value| value.as_bytes()));
        assert!(varies(&[",, Accept-encoding , ,"]));
        assert!(varies(&["Cookie", "ACCEPT-ENCODING"]));
        assert!(!varies(&[]));
        assert!(!varies(&["Accept", "X-Accept-Encoding, Accept-Encodings"]));
    }

    #[test]
    fn whatever_is_sent_the_names_come_out_in_one_spelling_that_names_itself() {
        let parts =
            ["gzip", "x", "Y", "deflate", ";q=0", ";q=0.1", ",", " ", "=", "*", "identity", "\u{1}", "-"];
        let mut different = 0;
        for seed in 0..20_000 {
            let mut random = fastrand::Rng::with_seed(seed);
            let value: String = (0..random.usize(0..9)).map(|_| parts[random.usize(..parts.len())]).collect();
            let Some(names) = of(&[&value]) else { continue };
            different += 1;
            assert!(names.len() <= BYTES_MAX && names == names.to_ascii_lowercase(), "{value:?}: {names:?}");
            assert_eq!(of(&[&names]).as_deref(), Some(&*names), "{value:?}");
        }
        assert!(different > 1000, "{different}");
    }
}
