//! Tokens of a style sheet with their ranges, from the tokenizer of Firefox (`cssparser`).

use std::ops::Range;

use cssparser::{ParseError, Parser, Token};

use super::CssRefusal;
use crate::OptimizeLimits;

/// Token of a style sheet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CssToken {
    pub(crate) range: Range<usize>,
    pub(crate) kind: CssKind,
}

/// Kind of a token, as far as it matters for white space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CssKind {
    Blank,
    Comment,
    Ident,
    AtKeyword,
    Function,
    String,
    /// `url(…)` without quotes.
    Url,
    Colon,
    Semicolon,
    Comma,
    /// `{`, `(` or `[`; a function opens a bracket too.
    Open(u8),
    /// `}`, `)` or `]`.
    Close(u8),
    Delim(char),
    /// Numbers, hashes and all others.
    Other,
}

/// Style sheet as a list of tokens, which together are the whole text.
#[derive(Debug)]
pub(crate) struct CssTokens<'a> {
    pub(crate) text: &'a str,
    pub(crate) tokens: Vec<CssToken>,
    /// For each token that opens a bracket, the index of the token that closes it; for other tokens, their own index.
    closes: Vec<usize>,
}

impl<'a> CssTokens<'a> {
    /// Splits a style sheet into tokens. Sheets that are too long or nested too deeply, sheets with parse errors at
    /// the level of tokens, and sheets with an unclosed comment, string or bracket are refused.
    pub(crate) fn read(text: &'a str, limits: &OptimizeLimits) -> Result<Self, CssRefusal> {
        if text.len() > limits.sheet_bytes {
            return Err(CssRefusal::TooLong);
        }
        // After the line break, an open string is an error and an open `url(` has no `)`.
        let closed = format!("{text}\n");
        let mut reader =
            Reader { text: &closed, tokens: Vec::new(), depth: 0, limit: limits.sheet_depth, refusal: None };
        reader.read(&mut Parser::new(&closed));
        if let Some(refusal) = reader.refusal {
            return Err(refusal);
        }
        let mut tokens = reader.tokens;
        // The added line break is part of the last token, or a separate token.
        if let Some(last) = tokens.last_mut() {
            if last.kind != CssKind::Blank {
                return Err(CssRefusal::OpenEnd);
            }
            last.range.end -= 1;
            if last.range.is_empty() {
                tokens.pop();
            }
        }
        let is_whole =
            tokens.iter().try_fold(0, |end, token| (token.range.start == end).then_some(token.range.end));
        if is_whole != Some(text.len()) {
            return Err(CssRefusal::Malformed);
        }
        let closes = closes(&tokens).ok_or(CssRefusal::Malformed)?;
        Ok(Self { text, tokens, closes })
    }

    /// Returns the text of a token.
    pub(crate) fn text_of(&self, index: usize) -> &'a str {
        &self.text[self.tokens[index].range.clone()]
    }

    pub(crate) fn kind(&self, index: usize) -> CssKind {
        self.tokens[index].kind
    }

    /// Returns the index of the token that closes the bracket that the token opens; for other tokens, its own index.
    pub(crate) fn close_of(&self, index: usize) -> usize {
        self.closes[index]
    }

    /// Returns the kinds and texts of the tokens other than white space and comments.
    pub(crate) fn significant(&self) -> impl Iterator<Item = (CssKind, &'a str)> {
        let is_significant = |token: &&CssToken| !matches!(token.kind, CssKind::Blank | CssKind::Comment);
        self.tokens.iter().filter(is_significant).map(|token| (token.kind, &self.text[token.range.clone()]))
    }
}

/// Returns for each token that opens a bracket the index of the token that closes it, for others their own index;
/// `None` if a bracket is not closed or not opened.
fn closes(tokens: &[CssToken]) -> Option<Vec<usize>> {
    let mut closes: Vec<usize> = (0..tokens.len()).collect();
    let mut open = Vec::new();
    for (index, token) in tokens.iter().enumerate() {
        match token.kind {
            CssKind::Open(_) | CssKind::Function => open.push(index),
            CssKind::Close(_) => closes[open.pop()?] = index,
            _ => {}
        }
    }
    open.is_empty().then_some(closes)
}

struct Reader<'t> {
    text: &'t str,
    tokens: Vec<CssToken>,
    depth: usize,
    limit: usize,
    refusal: Option<CssRefusal>,
}

impl Reader<'_> {
    fn read(&mut self, parser: &mut Parser<'_>) {
        while self.refusal.is_none() {
            let start = parser.position().byte_index();
            let kind = match parser.next_including_whitespace_and_comments() {
                Ok(token) => kind_of(token),
                Err(_) => return,
            };
            let end = parser.position().byte_index();
            let Some(kind) = kind else {
                self.refusal = Some(CssRefusal::Malformed);
                return;
            };
            let is_open = match kind {
                CssKind::Comment => end - start < 4 || !self.text[..end].ends_with("*/"),
                CssKind::Url => !self.text[..end].ends_with(')'),
                _ => false,
            };
            if is_open {
                self.refusal = Some(CssRefusal::OpenEnd);
                return;
            }
            self.tokens.push(CssToken { range: start..end, kind });
            let closing = match kind {
                CssKind::Open(b'{') => b'}',
                CssKind::Open(b'[') => b']',
                CssKind::Open(_) | CssKind::Function => b')',
                _ => continue,
            };
            self.read_block(parser, closing);
        }
    }

    fn read_block(&mut self, parser: &mut Parser<'_>, closing: u8) {
        self.depth += 1;
        if self.depth > self.limit {
            self.refusal = Some(CssRefusal::TooDeep);
            return;
        }
        let mut inner_end = 0;
        let _ = parser.parse_nested_block(|inner| -> Result<(), ParseError<()>> {
            self.read(inner);
            inner_end = inner.position().byte_index();
            Ok(())
        });
        self.depth -= 1;
        if self.refusal.is_some() {
            return;
        }
        let end = parser.position().byte_index();
        if end == inner_end || self.text.as_bytes()[end - 1] != closing {
            self.refusal = Some(CssRefusal::OpenEnd);
            return;
        }
        self.tokens.push(CssToken { range: end - 1..end, kind: CssKind::Close(closing) });
    }
}

/// Returns the kind of a token; `None` for a parse error.
fn kind_of(token: &Token<'_>) -> Option<CssKind> {
    Some(match token {
        Token::WhiteSpace(_) => CssKind::Blank,
        Token::Comment(_) => CssKind::Comment,
        Token::Ident(_) => CssKind::Ident,
        Token::AtKeyword(_) => CssKind::AtKeyword,
        Token::Function(_) => CssKind::Function,
        Token::QuotedString(_) => CssKind::String,
        Token::UnquotedUrl(_) => CssKind::Url,
        Token::Colon => CssKind::Colon,
        Token::Semicolon => CssKind::Semicolon,
        Token::Comma => CssKind::Comma,
        Token::CurlyBracketBlock => CssKind::Open(b'{'),
        Token::ParenthesisBlock => CssKind::Open(b'('),
        Token::SquareBracketBlock => CssKind::Open(b'['),
        Token::Delim('\\')
        | Token::BadUrl(_)
        | Token::BadString(_)
        | Token::CloseParenthesis
        | Token::CloseSquareBracket
        | Token::CloseCurlyBracket => return None,
        Token::Delim(delim) => CssKind::Delim(*delim),
        _ => CssKind::Other,
    })
}
