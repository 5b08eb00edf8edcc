//! Streaming replacement of texts. The result does not depend on how the body is split into pieces.

use std::ops::Range;

use myriad_http::body::BodyError;

use crate::transform::{Transform, WINDOW};

/// Pattern with its replacement, as evaluated for a request.
#[derive(Debug)]
pub(crate) struct SubstitutionPair {
    /// Text to replace; letter case is ignored.
    pub pattern: Vec<u8>,
    /// Text that replaces the pattern.
    pub replacement: Vec<u8>,
}

/// Streaming replacement of texts. If several patterns match at a position, the first applies. Fewer bytes than the
/// longest pattern are held back.
pub(crate) struct TextSubstitution {
    pairs: Vec<SubstitutionPair>,
    /// True for each pair that is still searched (`sub_filter_once`).
    open: Vec<bool>,
    once: bool,
    /// Bytes with which a pattern that is still searched may start, in both letter cases.
    begins: Box<[bool; 256]>,
    /// Bytes that may start a match, which the next piece decides; fewer than the longest pattern.
    undecided: Vec<u8>,
}

enum PatternMatch {
    /// No pattern matches at this position.
    No,
    /// The pattern of the pair with this index matches.
    Match(usize),
    /// A pattern may match; more bytes are needed.
    Perhaps,
}

impl TextSubstitution {
    /// Creates a substitution of the non-empty patterns; `None` if all patterns are empty. If `once` is true, only the
    /// first occurrence of each pattern is replaced.
    pub(crate) fn new(mut pairs: Vec<SubstitutionPair>, once: bool) -> Option<Self> {
        pairs.retain(|pair| !pair.pattern.is_empty());
        if pairs.is_empty() {
            return None;
        }
        for pair in &mut pairs {
            pair.pattern.make_ascii_lowercase();
        }
        let open = vec![true; pairs.len()];
        let mut made = Self { pairs, open, once, begins: Box::new([false; 256]), undecided: Vec::new() };
        made.update_first_bytes();
        Some(made)
    }

    fn update_first_bytes(&mut self) {
        self.begins.fill(false);
        for (pair, _) in self.pairs.iter().zip(&self.open).filter(|(_, open)| **open) {
            let first = pair.pattern[0];
            self.begins[usize::from(first)] = true;
            self.begins[usize::from(first.to_ascii_uppercase())] = true;
        }
    }

    /// Searches for a pattern at the start of `text`. `is_end` is set if no bytes follow it.
    fn match_at(&self, text: &[u8], is_end: bool) -> PatternMatch {
        for (index, pair) in self.pairs.iter().enumerate() {
            if !self.open[index] {
                continue;
            }
            let common = text.len().min(pair.pattern.len());
            if !text[..common].eq_ignore_ascii_case(&pair.pattern[..common]) {
                continue;
            }
            if common == pair.pattern.len() {
                return PatternMatch::Match(index);
            }
            if !is_end {
                return PatternMatch::Perhaps;
            }
        }
        PatternMatch::No
    }

    fn replace(&mut self, index: usize, out: &mut Vec<u8>) -> usize {
        out.extend_from_slice(&self.pairs[index].replacement);
        if self.once {
            self.open[index] = false;
            self.update_first_bytes();
        }
        self.pairs[index].pattern.len()
    }

    /// Processes `text` up to its end, an undecided position, or a full `out`. `is_end` is true if no bytes follow
    /// `text`. Returns the number of processed bytes.
    fn scan(&mut self, text: &[u8], is_end: bool, out: &mut Vec<u8>) -> usize {
        let mut at = 0;
        while out.len() < WINDOW {
            let plain = at..self.next_beginning(text, at).unwrap_or(text.len());
            out.extend_from_slice(&text[Range::clone(&plain)]);
            at = plain.end;
            if at == text.len() {
                break;
            }
            match self.match_at(&text[at..], is_end) {
                PatternMatch::Match(index) => at += self.replace(index, out),
                PatternMatch::Perhaps => break,
                PatternMatch::No => {
                    out.push(text[at]);
                    at += 1;
                }
            }
        }
        at
    }

    /// Processes the bytes held back, together with the start of the input. Returns false if the input is too short for
    /// a decision; it is then consumed.
    fn decide_held_back(&mut self, input: &mut &[u8], out: &mut Vec<u8>) -> bool {
        let mut text = std::mem::take(&mut self.undecided);
        let known = text.len();
        text.extend_from_slice(&input[..input.len().min(self.longest())]);
        let mut at = 0;
        while at < known {
            match self.match_at(&text[at..], false) {
                PatternMatch::Match(index) => at += self.replace(index, out),
                PatternMatch::No => {
                    out.push(text[at]);
                    at += 1;
                }
                PatternMatch::Perhaps => {
                    text.drain(..at);
                    self.undecided = text;
                    *input = &[];
                    return false;
                }
            }
        }
        *input = &input[at - known..];
        true
    }

    fn next_beginning(&self, text: &[u8], from: usize) -> Option<usize> {
        let found = text[from..].iter().position(|byte| self.begins[usize::from(*byte)])?;
        Some(from + found)
    }

    fn longest(&self) -> usize {
        self.pairs.iter().map(|pair| pair.pattern.len()).max().unwrap_or(0)
    }
}

impl Transform for TextSubstitution {
    fn push(&mut self, input: &mut &[u8], out: &mut Vec<u8>) -> Result<bool, BodyError> {
        if !self.undecided.is_empty() && !self.decide_held_back(input, out) {
            return Ok(true);
        }
        let text = *input;
        let end = self.scan(text, false, out);
        if end < text.len() && out.len() >= WINDOW {
            *input = &text[end..];
            return Ok(false);
        }
        self.undecided.extend_from_slice(&text[end..]);
        *input = &[];
        Ok(true)
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> Result<(), BodyError> {
        let text = std::mem::take(&mut self.undecided);
        let mut at = 0;
        while at < text.len() {
            let mut piece = Vec::new();
            at += self.scan(&text[at..], true, &mut piece);
            out.append(&mut piece);
        }
        Ok(())
    }

    fn is_idle(&self) -> bool {
        self.undecided.is_empty() && !self.open.contains(&true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transform::tests::run;

    fn pairs(list: &[(&str, &str)]) -> Vec<SubstitutionPair> {
        list.iter()
            .map(|(pattern, by)| SubstitutionPair { pattern: (*pattern).into(), replacement: (*by).into() })
            .collect()
    }

    /// Returns the result, and checks that it is the same for pieces of any size.
    fn substituted(list: &[(&str, &str)], once: bool, text: &str) -> String {
        let whole = run(TextSubstitution::new(pairs(list), once).unwrap(), text.as_bytes(), text.len());
        for size in 1..text.len().max(2) {
            let pieces = run(TextSubstitution::new(pairs(list), once).unwrap(), text.as_bytes(), size);
            assert_eq!(pieces, whole, "in pieces of {size}");
        }
        String::from_utf8(whole).unwrap()
    }

    #[test]
    fn text_is_replaced_in_any_case_across_the_borders_of_pieces() {
        assert_eq!(substituted(&[("Foo", "bar")], false, "foo FOO fo foOx"), "bar bar fo barx");
        assert_eq!(substituted(&[("aab", "X")], false, "aaab aaaab aab"), "aX aaX X");
        assert_eq!(substituted(&[("ab", "")], false, "abcabab"), "c");
    }

    #[test]
    fn first_pattern_of_those_that_match_at_a_place_counts() {
        assert_eq!(substituted(&[("ab", "1"), ("abc", "2"), ("bc", "3")], false, "abc bc"), "1c 3");
        assert_eq!(substituted(&[("abc", "2"), ("ab", "1")], false, "abx abc ab"), "1x 2 1");
    }

    #[test]
    fn each_pattern_is_replaced_once() {
        assert_eq!(substituted(&[("a", "1"), ("b", "2")], true, "aabbab"), "1a2bab");
    }

    /// Returns the expected result, computed from the complete body.
    fn plainly(list: &[(&str, &str)], once: bool, text: &str) -> String {
        let mut open = vec![true; list.len()];
        let (mut rest, mut out) = (text, String::new());
        while !rest.is_empty() {
            let found = list
                .iter()
                .enumerate()
                .find(|(index, (pattern, _))| open[*index] && rest.starts_with(pattern));
            if let Some((index, (pattern, by))) = found {
                out.push_str(by);
                open[index] = !once;
                rest = &rest[pattern.len()..];
            } else {
                out.push_str(&rest[..1]);
                rest = &rest[1..];
            }
        }
        out
    }

    #[test]
    fn every_short_text_comes_out_as_if_it_had_been_read_at_once() {
        let lists: [&[(&str, &str)]; 4] = [
            &[("aab", "1"), ("ab", "2"), ("b", "")],
            &[("abab", "x"), ("aba", "y"), ("bb", "a")],
            &[("aaa", "aa"), ("bab", "ab")],
            &[("abcabd", "!"), ("c", "?")],
        ];
        for list in lists {
            for number in 0..3u32.pow(7) {
                let text: String =
                    (0..7).map(|place| ['a', 'b', 'c'][(number / 3u32.pow(place) % 3) as usize]).collect();
                for once in [false, true] {
                    let expected = plainly(list, once, &text);
                    for size in [1, 2, 3, 7] {
                        let filter = TextSubstitution::new(pairs(list), once).unwrap();
                        let found = String::from_utf8(run(filter, text.as_bytes(), size)).unwrap();
                        assert_eq!(found, expected, "{text} in pieces of {size}, {list:?}, once: {once}");
                    }
                }
            }
        }
    }

    #[test]
    fn nothing_to_look_for_is_no_filter() {
        assert!(TextSubstitution::new(pairs(&[("", "x")]), false).is_none());
    }

    #[test]
    fn long_replacements_come_out_a_window_at_a_time() {
        let by = "y".repeat(10_000);
        let mut filter = TextSubstitution::new(pairs(&[("x", &by)]), false).unwrap();
        let text = vec![b'x'; 5_000];
        let (mut input, mut total) = (&text[..], 0);
        loop {
            let mut out = Vec::new();
            let drained = filter.push(&mut input, &mut out).unwrap();
            assert!(out.len() <= WINDOW + by.len());
            total += out.len();
            if drained {
                break;
            }
        }
        assert_eq!(total, 50_000_000);
    }

    #[test]
    fn no_more_than_the_longest_pattern_is_held() {
        let mut filter = TextSubstitution::new(pairs(&[("aaaaaaab", "x")]), false).unwrap();
        let mut out = Vec::new();
        for _ in 0..1000 {
            filter.push(&mut &b"aaaa"[..], &mut out).unwrap();
            assert!(filter.undecided.len() < 8);
        }
    }
}
