//! `--match`: pattern by which pages are selected.

/// Pattern for a URL or a cache key. A pattern with `*` must match the whole text, and each `*` matches any sequence of
/// bytes; a pattern without `*` matches any part of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GlobPattern(Vec<u8>);

impl GlobPattern {
    /// Creates a pattern; every text is valid.
    pub fn new(text: &str) -> Self {
        if text.contains('*') {
            return Self(text.as_bytes().to_vec());
        }
        Self([b"*", text.as_bytes(), b"*"].concat())
    }

    /// Returns whether the pattern matches. The worst-case time is proportional to the product of both lengths.
    pub fn matches_text(&self, text: &[u8]) -> bool {
        let pattern = &self.0;
        let (mut at, mut in_text) = (0, 0);
        // Backtracking position: after the last `*` in the pattern, and the end of the text that this `*` matches so
        // far.
        let mut star: Option<(usize, usize)> = None;
        while in_text < text.len() {
            match pattern.get(at) {
                Some(b'*') => {
                    star = Some((at + 1, in_text));
                    at += 1;
                }
                Some(byte) if *byte == text[in_text] => (at, in_text) = (at + 1, in_text + 1),
                _ => match star {
                    // Extends the match of the last `*` by one byte.
                    Some((behind, end)) => {
                        star = Some((behind, end + 1));
                        (at, in_text) = (behind, end + 1);
                    }
                    None => return false,
                },
            }
        }
        pattern[at..].iter().all(|byte| *byte == b'*')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(pattern: &str, text: &str) -> bool {
        GlobPattern::new(pattern).matches_text(text.as_bytes())
    }

    #[test]
    fn a_star_is_any_run_and_the_rest_must_fit_whole() {
        assert!(fits("http://a/*", "http://a/"));
        assert!(fits("*/shop/*?page=*", "https://a/shop/x?page=2"));
        assert!(!fits("/shop*", "http://a/shop"));
        assert!(fits("*a*b*c", "aabbcc") && !fits("*a*b*c", "aabbccd"));
        assert!(fits("*", "") && fits("**", "x"));
    }

    #[test]
    fn without_a_star_a_part_is_enough() {
        assert!(fits("shop", "http://a/shop/x") && !fits("shop", "http://a/"));
        assert!(fits("", "anything"));
    }

    #[test]
    fn it_agrees_with_the_plain_definition() {
        fn plain(pattern: &[u8], text: &[u8]) -> bool {
            match pattern.split_first() {
                None => text.is_empty(),
                Some((b'*', rest)) => (0..=text.len()).any(|at| plain(rest, &text[at..])),
                Some((byte, rest)) => text.first() == Some(byte) && plain(rest, &text[1..]),
            }
        }
        let mut rng = fastrand::Rng::with_seed(3);
        for _ in 0..5000 {
            let mut word = |letters: &[u8]| -> String {
                (0..rng.usize(..8)).map(|_| char::from(letters[rng.usize(..letters.len())])).collect()
            };
            let (pattern, text) = (format!("*{}", word(b"ab*")), word(b"ab"));
            assert_eq!(fits(&pattern, &text), plain(pattern.as_bytes(), text.as_bytes()), "{pattern} {text}");
        }
    }
}
