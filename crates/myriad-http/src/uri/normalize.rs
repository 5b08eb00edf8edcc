//! Normalization of paths: decodes escapes, resolves dot segments and merges slashes.

use super::UriError;
use super::escape::hex_digit;

/// Appends the normalized path, with which locations are compared, to `out`: `%XX` is decoded, `.` and `..` are
/// resolved, and with `merge_slashes`, adjacent slashes are merged. The path ends before a `?` or `#`.
///
/// As in nginx, these are errors: a path that leaves the root, a `%` without two hexadecimal digits, a NUL byte, and a
/// path that does not start with `/`. An escaped `/` or `.` has the same effect as a plain one. After an error, `out`
/// is unchanged.
pub fn normalize_path(path: &[u8], merge_slashes: bool, out: &mut Vec<u8>) -> Result<(), UriError> {
    if path.first() != Some(&b'/') {
        return Err(UriError::InvalidTarget);
    }
    let plain = plain_length(path);
    if plain == path.len() {
        out.extend_from_slice(path);
        return Ok(());
    }
    let base = out.len();
    let result = Normalizer { out: &mut *out, base, segment: base, merge_slashes }.run(path);
    if result.is_err() {
        out.truncate(base);
    }
    result
}

/// Returns the number of leading bytes of the path that are certainly normalized: those before the first `%`, `?`, `#`,
/// NUL, second of two slashes, or dot after a slash.
#[inline]
fn plain_length(path: &[u8]) -> usize {
    let mut after_slash = false;
    for (at, &byte) in path.iter().enumerate() {
        match byte {
            b'%' | b'?' | b'#' | 0 => return at,
            b'/' | b'.' if after_slash => return at,
            _ => after_slash = byte == b'/',
        }
    }
    path.len()
}

struct Normalizer<'a> {
    out: &'a mut Vec<u8>,
    /// Position in `out` at which the path starts.
    base: usize,
    /// Position in `out` of the current segment, after its slash.
    segment: usize,
    merge_slashes: bool,
}

impl Normalizer<'_> {
    fn run(mut self, path: &[u8]) -> Result<(), UriError> {
        let mut at = 0;
        // A segment of dots is an ordinary name if it also contains an escaped `?`, `#` or `%`, even as its first byte.
        while let Some(&byte) = path.get(at) {
            at += 1;
            match byte {
                b'?' | b'#' => break,
                b'%' => {
                    let digits = path.get(at).copied().zip(path.get(at + 1).copied());
                    let value = digits.and_then(|(high, low)| Some(hex_digit(high)? << 4 | hex_digit(low)?));
                    self.push(value.ok_or(UriError::InvalidEscape)?)?;
                    at += 2;
                }
                _ => self.push(byte)?,
            }
        }
        self.end_segment()?;
        Ok(())
    }

    fn push(&mut self, byte: u8) -> Result<(), UriError> {
        match byte {
            0 => Err(UriError::Nul),
            b'/' => self.slash(),
            _ => {
                self.out.push(byte);
                Ok(())
            }
        }
    }

    fn slash(&mut self) -> Result<(), UriError> {
        if self.out.len() > self.base {
            let dots = self.end_segment()?;
            let empty = self.out.len() == self.segment;
            // After a dot segment was resolved, `out` already ends with a slash.
            if empty && (dots || self.merge_slashes) {
                return Ok(());
            }
        }
        self.out.push(b'/');
        self.segment = self.out.len();
        Ok(())
    }

    /// Resolves the last segment if it is `.` or `..`, so that `out` ends with a slash. Returns whether it was one of
    /// these. Fails if `..` leaves the root.
    fn end_segment(&mut self) -> Result<bool, UriError> {
        match &self.out[self.segment..] {
            b"." => {
                self.out.truncate(self.segment);
                Ok(true)
            }
            b".." => {
                // The last slash before the one that precedes the dots ends the parent of the parent.
                let parent = &self.out[self.base..self.segment - 1];
                let slash = memchr::memrchr(b'/', parent).ok_or(UriError::AboveRoot)?;
                self.segment = self.base + slash + 1;
                self.out.truncate(self.segment);
                Ok(true)
            }
            _ => Ok(false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normal(path: &str) -> Result<String, UriError> {
        let mut out = b"kept".to_vec();
        let result = normalize_path(path.as_bytes(), true, &mut out);
        let path = out.strip_prefix(b"kept").expect("what was there stays");
        assert!(result.is_ok() || path.is_empty(), "an error leaves nothing behind");
        result.map(|()| path.escape_ascii().to_string())
    }

    #[test]
    fn plain_paths_are_copied() {
        for path in
            ["/", "/a", "/a/b.c/", "/a.b/c..d/e.", "/wp-content/themes/x/style.min.css", "/a+b:c;d=e@f", "/~"]
        {
            assert_eq!(normal(path), Ok(path.to_owned()));
        }
    }

    #[test]
    fn dot_segments_are_resolved() {
        for (path, expected) in [
            ("/a/./b", "/a/b"),
            ("/a/.", "/a/"),
            ("/a/..", "/"),
            ("/a/../", "/"),
            ("/a/b/../c", "/a/c"),
            ("/a/b/../../c", "/c"),
            ("/a/b/..", "/a/"),
            ("/./", "/"),
            ("/.", "/"),
            ("/a/.../b", "/a/.../b"),
            ("/.well-known/x", "/.well-known/x"),
            ("/a/..b/c", "/a/..b/c"),
            ("/a/.b", "/a/.b"),
            ("/foo/bar/.?args", "/foo/bar/"),
            ("/foo/bar/..#frag", "/foo/"),
            ("/a/%2e%2E/b", "/b"),
            ("/a/%2e/b", "/a/b"),
            ("/a/b%2f..%2Fc", "/a/c"),
        ] {
            assert_eq!(normal(path), Ok(expected.to_owned()), "{path}");
        }
    }

    #[test]
    fn nothing_climbs_above_the_root() {
        for path in [
            "/..",
            "/../",
            "/../a",
            "/a/../..",
            "/a/../../b",
            "//..",
            "/./..",
            "/%2e%2e",
            "/%2E./a",
            "/a/..%2f..",
            "/..?x",
        ] {
            assert_eq!(normal(path), Err(UriError::AboveRoot), "{path}");
        }
    }

    #[test]
    fn slashes_are_merged_where_asked() {
        assert_eq!(normal("//a///b//"), Ok("/a/b/".to_owned()));
        assert_eq!(normal("/a/%2f/b"), Ok("/a/b".to_owned()));
        for (path, expected) in [
            ("//a//b", "//a//b"),
            ("/a//../b", "/a/b"),
            ("//..", "/"),
            ("/a//./b", "/a//b"),
            ("//../x", "/x"),
        ] {
            let mut out = Vec::new();
            normalize_path(path.as_bytes(), false, &mut out).unwrap();
            assert_eq!(String::from_utf8(out).unwrap(), expected, "{path}");
        }
        assert_eq!(normalize_path(b"/..", false, &mut Vec::new()), Err(UriError::AboveRoot));
    }

    #[test]
    fn escapes_are_decoded_once() {
        assert_eq!(normal("/%61%2B%25%32%66"), Ok("/a+%2f".to_owned()));
        assert_eq!(normal("/%252e%252e/"), Ok("/%2e%2e/".to_owned()));
        assert_eq!(normal("/a%3Fb%23c?d"), Ok("/a?b#c".to_owned()));
        assert_eq!(normal("/%C3%A9"), Ok("/\\xc3\\xa9".to_owned()));
        assert_eq!(normal("/%02"), Ok("/\\x02".to_owned()));
        assert_eq!(normal("/a%5c..%5cb"), Ok("/a\\\\..\\\\b".to_owned()));
    }

    #[test]
    fn broken_escapes_and_nul_are_refused() {
        for path in ["/%", "/%1", "/%zz", "/%4", "/a%2", "/%4g", "/%?a", "/%%41"] {
            assert_eq!(normal(path), Err(UriError::InvalidEscape), "{path}");
        }
        assert_eq!(normal("/a%00.php"), Err(UriError::Nul));
        assert_eq!(normal("/a\0b"), Err(UriError::Nul));
        assert_eq!(normal("a/b"), Err(UriError::InvalidTarget));
        assert_eq!(normal(""), Err(UriError::InvalidTarget));
    }

    #[test]
    fn random_paths_never_leave_the_root_and_are_stable() {
        let pieces = ["/", ".", "..", "%2e", "%2F", "a", "%61", "//", "?", "%00", "%", "\u{e9}"];
        for seed in 0..300 {
            let mut random = fastrand::Rng::with_seed(seed);
            for merge in [true, false] {
                let tail: String =
                    (0..random.usize(..14)).map(|_| *random.choice(&pieces).unwrap()).collect();
                let path = format!("/{tail}");
                let mut once = Vec::new();
                if normalize_path(path.as_bytes(), merge, &mut once).is_err() {
                    continue;
                }
                assert_eq!(once.first(), Some(&b'/'), "{path}");
                let dots = |segment: &[u8]| segment == b"." || segment == b"..";
                assert!(!once.split(|&byte| byte == b'/').any(dots), "{path}");
                assert!(!merge || !once.windows(2).any(|pair| pair == b"//"), "{path}");
                let mut twice = Vec::new();
                assert_eq!(normalize_path(&once, merge, &mut twice), Ok(()), "{path}");
                assert_eq!(once, twice, "{path}");
            }
        }
    }
}
