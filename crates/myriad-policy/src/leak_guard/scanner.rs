//! Search for private values in a response, while it arrives.

use aho_corasick::{AhoCorasick, AhoCorasickKind, Input, Match, MatchKind, Span, packed};
use myriad_http::{Fields, Known};

use super::encodings::{EncodedForm, encoded_forms};
use super::markup::{MarkupSearch, SentCookies};
use super::private_values::{LeakKind, PrivateValue, new_cookie};
use crate::PersonalCookies;

/// Personal data in a response that would be shared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leak {
    /// Kind of the data.
    pub kind: LeakKind,
    /// Name of the cookie or argument; empty for other kinds.
    pub name: Box<[u8]>,
    /// Value without encoding, at most its first 64 bytes; must not be logged. Empty for signs in HTML.
    pub value: Box<[u8]>,
    /// Place: name of the response field, or `None` for the body.
    pub field: Option<Box<[u8]>>,
    /// Number of decoded body bytes before the data; 0 in a field. For a sign in HTML that began in an earlier piece,
    /// the number of bytes before the piece in which it was found.
    pub position: u64,
}

/// Search for private values in the response to one request.
#[derive(Debug)]
pub struct LeakScanner {
    values: Vec<PrivateValue>,
    /// Forms of all values; `None` without values.
    forms: Option<Forms>,
    /// False for a media type that is no text: only fields are searched.
    is_text: bool,
    /// Search for signs in HTML; `None` for other media types.
    markup: Option<MarkupSearch>,
    /// Last bytes of the body that was searched so far: a form may continue in the next piece.
    tail: Vec<u8>,
    /// Number of body bytes that were searched so far.
    position: u64,
}

/// Automaton that finds the forms of all values.
#[derive(Debug)]
struct Forms {
    automaton: PatternSearch,
    /// Forms, each with the index of its value.
    list: Vec<(usize, EncodedForm)>,
    /// Length in bytes of the longest pattern.
    longest: usize,
}

impl LeakScanner {
    /// Creates the search in a response with these fields, for the private values of its request and of the cookies
    /// that the response sets. `sessions` are the names of session cookies, and `cookies` those that the origin
    /// received. Returns `None` if there is nothing to search for.
    pub fn new(
        mut values: Vec<PrivateValue>,
        fields: &Fields,
        sessions: &PersonalCookies,
        mut cookies: SentCookies,
    ) -> Option<Self> {
        let media_type = fields.known(Known::ContentType).unwrap_or_default();
        for cookie in fields.known_all(Known::SetCookie) {
            cookies.session |= sessions.matches_set_cookie(cookie).is_some();
            let new = new_cookie(cookie);
            values.extend(new.filter(|new| values.iter().all(|known| known.value != new.value)));
        }
        let markup = if is_html(media_type) { MarkupSearch::new(cookies) } else { None };
        let forms = Forms::of(&values);
        (forms.is_some() || markup.is_some()).then(|| Self {
            values,
            forms,
            is_text: is_text(media_type),
            markup,
            tail: Vec::new(),
            position: 0,
        })
    }

    /// Returns whether the body is searched: the response is text.
    pub fn searches_body(&self) -> bool {
        self.is_text
    }

    /// Searches the fields of a response that are stored and sent to other visitors. Returns the first leak; `None` if
    /// there is none. A value for which `is_excused` returns true is no leak.
    pub fn find_in_fields(
        &self,
        fields: &Fields,
        is_excused: impl Fn(LeakKind, &[u8]) -> bool,
    ) -> Option<Leak> {
        let forms = self.forms.as_ref()?;
        fields.iter().filter(|(name, _)| !is_general(name)).find_map(|(name, value)| {
            let (index, _) = forms.find(value, |index, _| !self.is_excused(index, &is_excused))?;
            Some(self.leak(index, Some(name.into()), 0))
        })
    }

    /// Searches the next piece of the decoded body, including values that began in earlier pieces. Returns the first
    /// value that leaks, otherwise the first sign in HTML; `None` if there is none. A value for which `is_excused`
    /// returns true is no leak; for signs in HTML, it gets an empty value.
    pub fn push(&mut self, piece: &[u8], is_excused: impl Fn(LeakKind, &[u8]) -> bool) -> Option<Leak> {
        let start = self.position;
        self.position += piece.len() as u64;
        if !self.is_text {
            return None;
        }
        if let Some((index, position)) = self.find_value(start, piece, &is_excused) {
            return Some(self.leak(index, None, position));
        }
        let (kind, at) = self.markup.as_mut()?.push(piece, |kind| is_excused(kind, b""))?;
        Some(Leak {
            kind,
            name: Box::default(),
            value: Box::default(),
            field: None,
            position: start + at as u64,
        })
    }

    fn is_excused(&self, index: usize, is_excused: &impl Fn(LeakKind, &[u8]) -> bool) -> bool {
        is_excused(self.values[index].kind, &self.values[index].value)
    }

    /// Returns the index of a value in a piece that begins at `start`, and the position of the value in the body;
    /// `None` if the piece contains no value.
    fn find_value(
        &mut self,
        start: u64,
        piece: &[u8],
        is_excused: &impl Fn(LeakKind, &[u8]) -> bool,
    ) -> Option<(usize, u64)> {
        let forms = self.forms.as_ref()?;
        let seen = self.tail.len();
        // Only a value that begins earlier needs the joined text; the rest of the piece is not copied.
        self.tail.extend_from_slice(&piece[..piece.len().min(forms.longest)]);
        let values = &self.values;
        let is_leak = |index: usize| !is_excused(values[index].kind, &values[index].value);
        let joined =
            forms.find(&self.tail, |index, (start, end)| start < seen && end > seen && is_leak(index));
        let found = match joined {
            Some((index, at)) => Some((index, start - seen as u64 + at as u64)),
            None => {
                forms.find(piece, |index, _| is_leak(index)).map(|(index, at)| (index, start + at as u64))
            }
        };
        if piece.len() >= forms.longest {
            self.tail.clear();
            self.tail.extend_from_slice(&piece[piece.len() - forms.longest..]);
        } else {
            self.tail.drain(..self.tail.len().saturating_sub(forms.longest));
        }
        found
    }

    fn leak(&self, index: usize, field: Option<Box<[u8]>>, position: u64) -> Leak {
        let value = &self.values[index];
        Leak { kind: value.kind, name: value.name.clone(), value: value.value.clone(), field, position }
    }
}

impl Forms {
    fn of(values: &[PrivateValue]) -> Option<Self> {
        let forms: Vec<(usize, _)> = values
            .iter()
            .enumerate()
            .flat_map(|(index, value)| encoded_forms(&value.value).into_iter().map(move |form| (index, form)))
            .collect();
        let longest = forms.iter().map(|(_, form)| form.bytes.len()).max()?;
        let automaton =
            PatternSearch::of(&forms.iter().map(|(_, form)| &form.bytes[..]).collect::<Vec<_>>())?;
        Some(Self { automaton, list: forms, longest })
    }

    /// Returns the index of the first value in `text` that `accepts` permits at its range, and its position; `None` if
    /// there is none.
    fn find(&self, text: &[u8], accepts: impl Fn(usize, (usize, usize)) -> bool) -> Option<(usize, usize)> {
        let mut from = 0;
        while let Some(found) = self.automaton.find(text, from) {
            let start = found.start();
            // The automaton reports one of the forms that begin here.
            let form = self.list.iter().find(|(index, form)| {
                let range = (start, start + form.bytes.len());
                text[start..].starts_with(&form.bytes)
                    && (!form.is_whole_word || is_whole_word(text, range))
                    && accepts(*index, range)
            });
            if let Some((index, _)) = form {
                return Some((*index, start));
            }
            from = start + 1;
        }
        None
    }
}

/// Search for many patterns in one pass.
#[derive(Debug)]
enum PatternSearch {
    /// By vector instructions, for up to about a hundred patterns.
    Packed(packed::Searcher),
    /// By an automaton. It is used for one page only: to build a DFA would take longer than the search.
    Automaton(AhoCorasick),
}

impl PatternSearch {
    fn of(patterns: &[&[u8]]) -> Option<Self> {
        if let Some(searcher) = packed::Searcher::new(patterns) {
            return Some(Self::Packed(searcher));
        }
        let kind = Some(AhoCorasickKind::ContiguousNFA);
        AhoCorasick::builder()
            .kind(kind)
            .match_kind(MatchKind::LeftmostFirst)
            .build(patterns)
            .ok()
            .map(Self::Automaton)
    }

    /// Returns the first match that begins at `from` or later; `None` if there is none.
    fn find(&self, text: &[u8], from: usize) -> Option<Match> {
        match self {
            Self::Packed(searcher) => searcher.find_in(text, Span::from(from..text.len())),
            Self::Automaton(automaton) => automaton.find(Input::new(text).range(from..)),
        }
    }
}

/// Returns whether a range of `text` is not part of a longer word: no letter or digit of the same word precedes or
/// follows it. The digits of an escape before the range, such as `%3D`, belong to no word.
fn is_whole_word(text: &[u8], (start, end): (usize, usize)) -> bool {
    let is_word = |at: usize| text.get(at).is_some_and(u8::is_ascii_alphanumeric);
    let begins_inside =
        start > 0 && is_word(start - 1) && is_word(start) && !ends_with_escape(&text[..start]);
    let ends_inside = is_word(end) && is_word(end - 1);
    !begins_inside && !ends_inside
}

/// Returns whether the last character of a text is percent-encoded or escaped as in JSON: `%3D`, `\u0026` or `\n`.
/// Its letters and digits are no part of the word that follows.
fn ends_with_escape(text: &[u8]) -> bool {
    let has_digits = |prefix: &[u8], count: usize| {
        let escape = text.len().checked_sub(prefix.len() + count).map_or(&b""[..], |at| &text[at..]);
        escape.strip_prefix(prefix).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    };
    has_digits(b"%", 2) || has_digits(b"\\u", 4) || matches!(text, [.., b'\\', b'n' | b'r' | b't'])
}

/// Returns whether a response field is not searched: it describes the response in general, so that a value in it is a
/// coincidence, or it is not stored.
pub(super) fn is_general(name: &[u8]) -> bool {
    const GENERAL: [&[u8]; 13] = [
        b"set-cookie",
        b"date",
        b"expires",
        b"last-modified",
        b"etag",
        b"content-type",
        b"content-length",
        b"content-encoding",
        b"cache-control",
        b"age",
        b"vary",
        b"server",
        b"connection",
    ];
    GENERAL.iter().any(|general| name.eq_ignore_ascii_case(general))
}

/// Returns whether a media type is text: `text/*`, JSON, XML, JavaScript or form data. A response without a type
/// counts as text.
pub fn is_text(media_type: &[u8]) -> bool {
    let media_type = media_type.to_ascii_lowercase();
    let has = |part: &[u8]| memchr::memmem::find(&media_type, part).is_some();
    media_type.is_empty()
        || media_type.starts_with(b"text/")
        || has(b"json")
        || has(b"xml")
        || has(b"javascript")
        || has(b"x-www-form")
}

fn is_html(media_type: &[u8]) -> bool {
    media_type.is_empty() || media_type.to_ascii_lowercase().starts_with(b"text/html")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scanner(values: &[&str]) -> LeakScanner {
        let values = values.iter().map(|value| PrivateValue {
            kind: LeakKind::Cookie,
            name: (*b"name").into(),
            value: value.as_bytes().into(),
        });
        LeakScanner::new(values.collect(), &Fields::new(), &PersonalCookies::none(), SentCookies::default())
            .expect("a text")
    }

    fn position(scanner: &mut LeakScanner, pieces: &[&[u8]]) -> Option<u64> {
        pieces.iter().find_map(|piece| scanner.push(piece, |_, _| false)).map(|leak| leak.position)
    }

    #[test]
    fn value_is_found_wherever_the_body_is_divided() {
        let body =
            b"<p>Hello, Margarete!</p> and more text, so that the rest is longer than the value".as_slice();
        for first in 0..body.len() {
            for second in first..body.len().min(first + 12) {
                let pieces = [&body[..first], &body[first..second], &body[second..]];
                assert_eq!(
                    position(&mut scanner(&["Margarete", "somebody else"]), &pieces),
                    Some(10),
                    "{first} {second}"
                );
            }
        }
    }

    #[test]
    fn value_in_a_longer_word_is_a_coincidence() {
        let mut scanner = scanner(&["20260017"]);
        assert_eq!(position(&mut scanner, &[b"id=1202600179 id=2026001", b"8 x20260017x"]), None);
        assert_eq!(position(&mut scanner, &[b" 20260017;"]), Some(37));
    }

    #[test]
    fn word_begins_after_an_encoded_character() {
        for text in
            ["%2Fout%3Fsid%3D20260017", "%3d20260017", "{\"url\":\"/?a\\u002620260017", "line\\n20260017"]
        {
            assert!(position(&mut scanner(&["20260017"]), &[text.as_bytes()]).is_some(), "{text}");
        }
        for text in ["3D20260017", "n20260017", "u002620260017", "%3G20260017"] {
            assert_eq!(position(&mut scanner(&["20260017"]), &[text.as_bytes()]), None, "{text}");
        }
    }

    #[test]
    fn excused_values_do_not_hide_others() {
        let body = b"Hello, Margarete, your number is 20260017";
        let mut scanner = scanner(&["Margarete", "20260017"]);
        let leak = scanner.push(body, |_, value| value == b"Margarete").expect("a leak");
        assert_eq!((leak.position, &*leak.value), (33, &b"20260017"[..]));
    }

    #[test]
    fn encoded_values_are_found() {
        for text in ["ann%40example.org", "YW5uQGV4YW1wbGUub3Jn", "{\"a\":\"ann@example.org\"}"] {
            assert!(scanner(&["ann@example.org"]).push(text.as_bytes(), |_, _| false).is_some(), "{text}");
        }
    }

    #[test]
    fn fields_and_new_cookies_are_searched() {
        let fields: Fields = [
            ("Content-Type", "text/html"),
            ("Set-Cookie", "visit=abc%2F12345; Path=/"),
            ("Location", "/?v=abc%2F12345"),
        ]
        .into_iter()
        .collect();
        let mut scanner =
            LeakScanner::new(Vec::new(), &fields, &PersonalCookies::none(), SentCookies::default())
                .expect("HTML");
        let leak = scanner.find_in_fields(&fields, |_, _| false).expect("a leak");
        assert_eq!((leak.kind, leak.field.as_deref()), (LeakKind::NewCookie, Some(&b"Location"[..])));
        assert_eq!(
            scanner.push(b"<a href='?v=abc/12345'>", |_, _| false).map(|leak| leak.position),
            Some(12)
        );
    }

    #[test]
    fn only_fields_of_images_are_searched() {
        let fields: Fields = [("Content-Type", "image/png"), ("X-Name", "Margarete")].into_iter().collect();
        assert!(
            LeakScanner::new(Vec::new(), &fields, &PersonalCookies::none(), SentCookies::default()).is_none()
        );
        let values = scanner(&["Margarete"]).values;
        let mut scanner = LeakScanner::new(values, &fields, &PersonalCookies::none(), SentCookies::default())
            .expect("a value");
        assert_eq!(scanner.push(b"Margarete", |_, _| false), None);
        assert!(scanner.find_in_fields(&fields, |_, _| false).is_some());
    }

    #[test]
    fn values_that_begin_alike_do_not_hide_each_other() {
        let values = ["user1234", "user12345", "Margarete", "Margarete Meier"];
        assert_eq!(position(&mut scanner(&values), &[b"<b>user12345</b>"]), Some(3));
        let found = scanner(&values).push(b"Margarete Meier", |_, value| value == b"Margarete");
        assert_eq!(found.map(|leak| leak.value), Some((*b"Margarete Meier").into()));
    }
}
