//! Detection of errors caused by copying a configuration from a web page: typographic quotes, no-break spaces, HTML
//! entities.

use crate::{diagnostic::Diagnostic, parsed::Word, settings::TLS_DATA, span::Span};

/// Typographic variants of `"`, as inserted by text processors.
const DOUBLE: [&str; 8] =
    ["\u{201c}", "\u{201d}", "\u{201e}", "\u{201f}", "\u{2033}", "\u{ab}", "\u{bb}", "\u{ff02}"];
/// Typographic variants of `'`, as inserted by text processors.
const SINGLE: [&str; 7] = ["\u{2018}", "\u{2019}", "\u{201a}", "\u{201b}", "\u{2032}", "\u{b4}", "\u{ff07}"];
const HARD_SPACE: &[u8] = "\u{a0}".as_bytes();
/// HTML entities (without `;`) at the end of a word, with their meaning. The `;` of an entity terminates the directive.
const ENTITIES: [(&str, &str); 12] = [
    ("&quot", "\""),
    ("&#34", "\""),
    ("&ldquo", "\""),
    ("&rdquo", "\""),
    ("&#8220", "\""),
    ("&#8221", "\""),
    ("&#39", "'"),
    ("&#039", "'"),
    ("&apos", "'"),
    ("&lt", "<"),
    ("&gt", ">"),
    ("&nbsp", " "),
];
/// Maximum length, in characters, of a word that an error repeats with straight quotes as advice.
const LONGEST_REMEDY: usize = 80;

/// Cause shared by all errors about typographic quotes.
const QUOTES: &str = "typographic quotes";

/// Returns the typographic quote at the start of `bytes`, and the family ([`DOUBLE`] or [`SINGLE`]) that contains it;
/// `None` if there is none.
fn mark(bytes: &[u8]) -> Option<(&'static str, &'static [&'static str])> {
    if bytes.first().is_none_or(u8::is_ascii) {
        return None;
    }
    let families: [&'static [&'static str]; 2] = [&DOUBLE, &SINGLE];
    families.into_iter().find_map(|family| {
        family.iter().find(|mark| bytes.starts_with(mark.as_bytes())).map(|mark| (*mark, family))
    })
}

/// Returns the length of a word in typographic quotes at the start of `bytes`, and the lengths of its opening and
/// closing quote, all in bytes. Both quotes must be of the same family and on the same line, and the closing quote must
/// end a word; otherwise returns `None`.
pub(crate) fn quoted(bytes: &[u8]) -> Option<(usize, usize, usize)> {
    let (opening, family) = mark(bytes)?;
    let mut at = opening.len();
    while at < bytes.len() && bytes[at] != b'\n' {
        let Some((closing, of)) = mark(&bytes[at..]) else {
            at += 1;
            continue;
        };
        at += closing.len();
        if of == family && ends_word(&bytes[at..]) {
            return Some((at, opening.len(), closing.len()));
        }
    }
    None
}

/// Returns the length in bytes of the typographic quote at the start of `bytes`; `None` if there is none.
pub(crate) fn opening_length(bytes: &[u8]) -> Option<usize> {
    mark(bytes).map(|(opening, _)| opening.len())
}

/// Returns whether `bytes` end with a typographic quote.
pub(crate) fn ends_with_quote(bytes: &[u8]) -> bool {
    DOUBLE.iter().chain(&SINGLE).any(|mark| bytes.ends_with(mark.as_bytes()))
}

/// Returns whether a quoted word of the configuration may end before these bytes.
fn ends_word(bytes: &[u8]) -> bool {
    matches!(bytes.first(), None | Some(b' ' | b'\t' | b'\r' | b'\n' | b';' | b'{' | b')'))
}

/// Returns the position and length of the typographic quote that was probably meant to close a word with a straight
/// opening quote: the first at the end of a word on the same line. `None` if there is none.
pub(crate) fn closing(bytes: &[u8]) -> Option<(usize, usize)> {
    let line = bytes.split(|byte| *byte == b'\n').next()?;
    let marks = (0..line.len()).filter_map(|at| Some((at, mark(&line[at..])?.0.len())));
    marks.into_iter().find(|(at, length)| ends_word(&line[at + length..]))
}

/// Returns the error for a word in typographic quotes. The text after `data:` may be a key, so it is not repeated.
pub(crate) fn error(word: &Word) -> Diagnostic {
    let mut text = String::from_utf8_lossy(&word.text).into_owned();
    for (marks, straight) in [(&DOUBLE[..], "\""), (&SINGLE, "'")] {
        for mark in marks {
            text = text.replace(mark, straight);
        }
    }
    let quote = if text.contains('"') { '\'' } else { '"' };
    let is_short = text.chars().count() <= LONGEST_REMEDY && !text.contains('\n') && !text.contains(quote);
    let is_shown = is_short && !word.text.starts_with(TLS_DATA);
    let remedy = is_shown.then(|| format!("write straight quotes: {quote}{text}{quote}"));
    quotes(word.span, remedy)
}

fn quotes(span: Span, remedy: Option<String>) -> Diagnostic {
    let remedy = remedy.unwrap_or_else(|| "write straight quotes: `\"` or `'`".to_owned());
    Diagnostic::error(span, "typographic quotes (“ ” ‘ ’) are not valid quotes").help(remedy).cause(QUOTES)
}

/// Returns the error for a straight opening quote that is followed by a typographic closing quote.
pub(crate) fn unclosed(opening: Span, closing: Span) -> Diagnostic {
    quotes(closing, None).related(opening, "opening quote: the typographic quote does not close it")
}

/// Returns the error for an unquoted word that contains typographic quotes or no-break spaces or ends with an HTML
/// entity; `None` if it does not. In quoted words, these are plain text.
pub(crate) fn check(word: &Word) -> Option<Diagnostic> {
    if word.quoted {
        return None;
    }
    let text = &word.text;
    if let Some((entity, meant)) = ENTITIES.iter().find(|(entity, _)| text.ends_with(entity.as_bytes())) {
        let message = format!("\"{entity};\" is an HTML entity, which is not valid in a configuration");
        return Some(Diagnostic::error(word.span, message).help(format!("write `{meant}`")));
    }
    if text.is_ascii() {
        return None;
    }
    if has_quote(text) {
        return Some(quotes(word.span, None));
    }
    text.windows(HARD_SPACE.len()).any(|bytes| bytes == HARD_SPACE).then(|| {
        Diagnostic::error(word.span, "this word contains a no-break space").help(
            "a space became a no-break space (U+00A0), probably by copying from a web page; type it again",
        )
    })
}

/// Returns whether an unquoted word contains a variant of `"`, or a variant of `'` where a quoted text may start or
/// end. Elsewhere, a variant of `'` is an apostrophe.
fn has_quote(text: &[u8]) -> bool {
    let inner = text.strip_prefix(b"(").unwrap_or(text);
    let tail = inner.strip_suffix(b")").unwrap_or(inner);
    let single = |mark: &&str| {
        let mark = mark.as_bytes();
        let after_sign = |at: usize| matches!(text[at - 1], b'=' | b'(' | b'~' | b'/');
        inner.starts_with(mark)
            || tail.ends_with(mark)
            || (1..text.len()).any(|at| after_sign(at) && text[at..].starts_with(mark))
    };
    (0..text.len()).any(|at| mark(&text[at..]).is_some_and(|(mark, _)| DOUBLE.contains(&mark)))
        || SINGLE.iter().any(single)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_in_typographic_quotes_ends_at_a_mark_of_its_family_on_its_line() {
        let word = |text: &str| quoted(text.as_bytes()).map(|(length, ..)| text[..length].to_owned());
        assert_eq!(word("“a; b” c”;").as_deref(), Some("“a; b”"));
        assert_eq!(word("‘$a “$b” c’;").as_deref(), Some("‘$a “$b” c’"));
        assert_eq!(word("“”;").as_deref(), Some("“”"));
        assert_eq!(word("„a“{").as_deref(), Some("„a“"));
        assert_eq!(word("‘it’s’)").as_deref(), Some("‘it’s’"));
        for none in ["“a\nb”;", "“a‘ b", "a“b”", "é", ""] {
            assert_eq!(word(none), None, "{none}");
        }
    }

    #[test]
    fn any_bytes_are_survived() {
        let whole = "add_header X “a; ‘b’ &quot; \u{a0}” \"c”;\n".as_bytes();
        for seed in 0..5000_u64 {
            let mut random = fastrand::Rng::with_seed(seed);
            let mut bytes = whole.to_vec();
            for _ in 0..random.usize(1..6) {
                let at = random.usize(..bytes.len());
                bytes[at] = random.u8(..);
            }
            for at in 0..bytes.len() {
                let _ = (quoted(&bytes[at..]), closing(&bytes[at..]));
            }
            let _ = check(&Word { text: bytes, quoted: false, span: Span::default() });
        }
    }
}
