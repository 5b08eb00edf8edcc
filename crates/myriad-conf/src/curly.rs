//! What pasting from a web page breaks: typographic quotes and spaces that are none.

use crate::{diagnostic::Diagnostic, parsed::Word};

const QUOTES: [&[u8]; 6] = [
    "\u{201c}".as_bytes(),
    "\u{201d}".as_bytes(),
    "\u{201e}".as_bytes(),
    "\u{2018}".as_bytes(),
    "\u{2019}".as_bytes(),
    "\u{2033}".as_bytes(),
];
const HARD_SPACE: &[u8] = "\u{a0}".as_bytes();

/// Finds typographic quotes at the ends of a bare word, and no-break spaces in it; inside quotes they are text.
pub(crate) fn check(word: &Word) -> Option<Diagnostic> {
    if word.quoted || word.text.is_ascii() {
        return None;
    }
    let inner = word.text.strip_prefix(b"(").unwrap_or(&word.text);
    let tail = inner.strip_suffix(b")").unwrap_or(inner);
    if QUOTES.iter().any(|quote| inner.starts_with(quote) || tail.ends_with(quote)) {
        let message = "a curly quotation mark does not quote";
        let help = "pasting from a web page turned `\"` or `'` into a typographic quote; type straight quotes instead";
        return Some(Diagnostic::error(word.span, message).help(help));
    }
    word.text.windows(HARD_SPACE.len()).any(|bytes| bytes == HARD_SPACE).then(|| {
        Diagnostic::error(word.span, "a no-break space stands in this word")
            .help("pasting from a web page turned a space into a no-break space (U+00A0); type it again")
    })
}
