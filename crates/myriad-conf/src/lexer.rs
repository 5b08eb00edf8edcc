//! Lexer: splits bytes into words, `;`, `{` and `}` by the rules of nginx's parser.

use std::ops::Range;

use crate::{
    diagnostic::Diagnostic,
    parsed::Word,
    pasted_text,
    settings::TLS_DATA,
    span::{FileId, Span},
};

/// Token of the configuration language.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Token {
    Word(Word),
    /// Word in typographic quotes, which is reported as an error. It is parsed as if the quotes were straight.
    Curly(Word),
    /// `;`, which terminates a directive.
    End(Span),
    /// `{`, which opens a block.
    Open(Span),
    /// `}`, which closes a block.
    Close(Span),
    /// Error in place of a token, after which the lexer continues.
    Bad(Diagnostic),
    Eof(Span),
}

/// Lexer of one configuration file.
pub(crate) struct Lexer<'s> {
    bytes: &'s [u8],
    file: FileId,
    at: usize,
    /// True after a quoted word, which must be followed by white space, `;`, `{` or `)`.
    after_quote: bool,
    /// True if the end of the file has been handled, so that enclosing blocks are not reported as unclosed as well.
    is_finished: bool,
    /// Spans of the opening quote of the last quoted word, and of a typographic quote that was probably meant to close
    /// it; `None` if there is no such quote.
    suspect: Option<(Span, Span)>,
    /// Ranges of bytes after `data:` in words and comments, which diagnostics do not show.
    masked: Vec<Range<u32>>,
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

impl<'s> Lexer<'s> {
    pub(crate) fn new(bytes: &'s [u8], file: FileId) -> Self {
        let at = if bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        Self { bytes, file, at, after_quote: false, is_finished: false, suspect: None, masked: Vec::new() }
    }

    fn span(&self, start: usize, end: usize) -> Span {
        Span::new(self.file, start as u32, end as u32)
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    pub(crate) fn is_finished(&self) -> bool {
        self.is_finished
    }

    pub(crate) fn finish(&mut self) {
        self.is_finished = true;
    }

    /// Returns the ranges of bytes after `data:` in the words and comments that were read.
    pub(crate) fn into_masked(self) -> Vec<Range<u32>> {
        self.masked
    }

    /// Masks the bytes after `data:` up to `end` if the text at `start` begins with `data:`.
    fn mask(&mut self, start: usize, end: usize) {
        if self.bytes[start..].starts_with(TLS_DATA) {
            self.masked.push((start + TLS_DATA.len()) as u32..end as u32);
        }
    }

    /// Returns the next token; at the end of the file, every call returns [`Token::Eof`].
    pub(crate) fn next(&mut self) -> Token {
        if std::mem::take(&mut self.after_quote)
            && let Some(byte) = self.peek()
            && !is_space(byte)
            && !matches!(byte, b';' | b'{' | b')')
        {
            return Token::Bad(self.glued_to_quote(byte));
        }
        self.skip_space_and_comments();
        let start = self.at;
        let Some(byte) = self.peek() else {
            return Token::Eof(self.span(start, start));
        };
        match byte {
            b';' | b'{' => {
                self.at += 1;
                let span = self.span(start, self.at);
                if byte == b';' { Token::End(span) } else { Token::Open(span) }
            }
            b'}' => {
                self.at += 1;
                Token::Close(self.span(start, self.at))
            }
            b'"' | b'\'' => self.quoted_word(byte),
            _ => match pasted_text::quoted(&self.bytes[start..]) {
                Some((length, opening, closing)) => {
                    self.at += length;
                    self.mask(start + opening, self.at - closing);
                    let text = unescape(&self.bytes[start + opening..self.at - closing]);
                    Token::Curly(Word { text, quoted: true, span: self.span(start, self.at) })
                }
                None => self.bare_word(),
            },
        }
    }

    fn glued_to_quote(&self, byte: u8) -> Diagnostic {
        if let Some((opening, closing)) = self.suspect {
            return pasted_text::unclosed(opening, closing);
        }
        let span = self.span(self.at, self.at + 1);
        Diagnostic::error(span, format!("unexpected \"{}\" after a quoted word", byte.escape_ascii()))
            .help("a space or `;` must follow the closing quote; write `\\` before a quote inside the text")
    }

    fn skip_space_and_comments(&mut self) {
        while let Some(byte) = self.peek() {
            if byte == b'#' {
                let start = self.at;
                let rest = &self.bytes[start..];
                self.at += rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len());
                self.mask_comment(start, self.at);
            } else if is_space(byte) {
                self.at += 1;
            } else {
                return;
            }
        }
    }

    /// Masks a comment after the first `data:` that follows white space, `#` or a quote.
    fn mask_comment(&mut self, start: usize, end: usize) {
        let begins_word = |at: usize| {
            let before = &self.bytes[start..at];
            self.bytes[at..end].starts_with(TLS_DATA)
                && (before.last().is_some_and(|&byte| is_space(byte) || matches!(byte, b'#' | b'"' | b'\''))
                    || pasted_text::ends_with_quote(before))
        };
        if let Some(at) = (start..end).find(|&at| begins_word(at)) {
            self.mask(at, end);
        }
    }

    fn quoted_word(&mut self, quote: u8) -> Token {
        let start = self.at;
        self.suspect = pasted_text::closing(&self.bytes[start..])
            .map(|(at, length)| (self.span(start, start + 1), self.span(start + at, start + at + length)));
        self.at += 1;
        while let Some(byte) = self.peek() {
            self.at += 1;
            if byte == b'\\' {
                self.at = (self.at + 1).min(self.bytes.len());
            } else if byte == quote {
                self.after_quote = true;
                self.mask(start + 1, self.at - 1);
                return self.word(start, start + 1, self.at - 1, true);
            }
        }
        self.is_finished = true;
        self.mask(start + 1, self.at);
        if let Some((opening, closing)) = self.suspect {
            return Token::Bad(pasted_text::unclosed(opening, closing));
        }
        let message = format!("missing terminating `{}` character", char::from(quote));
        Token::Bad(
            Diagnostic::error(self.span(start, start + 1), message)
                .help("the file ends inside this quoted word; write `\\` before a quote inside the text"),
        )
    }

    fn bare_word(&mut self) -> Token {
        let start = self.at;
        // As in nginx, `{` right after `$` belongs to the word: `${name}`.
        let mut variable = false;
        while let Some(byte) = self.peek() {
            if byte == b'{' && variable {
                self.at += 1;
                continue;
            }
            variable = byte == b'$';
            if byte == b'\\' {
                self.at = (self.at + 2).min(self.bytes.len());
                continue;
            }
            if is_space(byte) || matches!(byte, b';' | b'{') {
                break;
            }
            self.at += 1;
        }
        self.mask_bare_word(start);
        self.word(start, start, self.at, false)
    }

    /// Masks the bytes after `data:` of the unquoted word between `start` and the current position. If the word starts with
    /// a typographic quote that no quote of its line closes, the value may continue in the next words, so that the rest of
    /// the directive is masked.
    fn mask_bare_word(&mut self, start: usize) {
        match pasted_text::opening_length(&self.bytes[start..]) {
            Some(length) => {
                let rest = &self.bytes[self.at..];
                let end = self.at + rest.iter().position(|&byte| byte == b';').unwrap_or(rest.len());
                self.mask(start + length, end);
            }
            None => self.mask(start, self.at),
        }
    }

    fn word(&self, start: usize, from: usize, to: usize, quoted: bool) -> Token {
        let span = self.span(start, self.at);
        Token::Word(Word { text: unescape(&self.bytes[from..to]), quoted, span })
    }
}

/// Decodes the escapes `\"`, `\'`, `\\`, `\t`, `\r` and `\n` in a word. Other backslashes are copied, so that a regex
/// needs no doubled backslashes.
fn unescape(raw: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(raw.len());
    let mut bytes = raw.iter().copied();
    while let Some(byte) = bytes.next() {
        if byte != b'\\' {
            text.push(byte);
            continue;
        }
        match bytes.next() {
            Some(kept @ (b'"' | b'\'' | b'\\')) => text.push(kept),
            Some(b't') => text.push(b'\t'),
            Some(b'r') => text.push(b'\r'),
            Some(b'n') => text.push(b'\n'),
            Some(other) => text.extend([b'\\', other]),
            None => text.push(b'\\'),
        }
    }
    text
}
