//! Tokenizer for HTML (WHATWG, section 13.2.5), whose tokens are ranges of the input.
//!
//! It builds no tree. Where the meaning of bytes depends on the tree, the page is refused: raw text elements within
//! `svg`, `math` and `select` whose text contains `<`, CDATA sections, and pages with frames.

use std::ops::Range;

use memchr::{memchr, memmem};
use myriad_base::digits::{decimal, hexadecimal};

use crate::OptimizeLimits;

/// Reason why a page is not tokenized.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HtmlRefusal {
    /// The page is longer than [`OptimizeLimits::page_bytes`].
    TooLong,
    /// The page has more tokens than [`OptimizeLimits::page_tokens`].
    TooManyTokens,
    /// The meaning of the bytes at this offset depends on the tree.
    Ambiguous(usize),
}

impl std::fmt::Display for HtmlRefusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::TooLong => f.write_str("the page is too long"),
            Self::TooManyTokens => f.write_str("the page has too many elements"),
            Self::Ambiguous(at) => write!(f, "the markup at byte {at} is ambiguous"),
        }
    }
}

/// Token of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HtmlToken<'a> {
    /// Range of the bytes of the token in the page.
    pub range: Range<usize>,
    /// Kind of the token.
    pub kind: HtmlKind<'a>,
}

/// Kind of a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HtmlKind<'a> {
    /// Text outside of raw text elements.
    Text,
    /// Text of `script`, `style`, `textarea`, `title` and similar elements, or all that follows `plaintext`.
    RawText,
    /// Start tag.
    Start(HtmlTag<'a>),
    /// End tag with its name in lower case.
    End(String),
    /// Comment, markup that browsers treat as a comment, or document type.
    Comment,
    /// Start of a tag whose `>` is missing at the end of the page.
    Incomplete,
}

/// Start tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HtmlTag<'a> {
    /// Name of the element in lower case.
    pub name: String,
    /// Attributes in the order of the page, also duplicates.
    pub attributes: Vec<HtmlAttribute<'a>>,
    /// True if the tag ends with `/>`.
    pub is_self_closing: bool,
}

/// Attribute of a tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HtmlAttribute<'a> {
    /// Name of the attribute as written.
    pub name: &'a str,
    /// Value of the attribute as written, without quotes; empty if there is none.
    pub value: &'a str,
    /// Whole attribute as written, with quotes.
    pub text: &'a str,
    /// True if the value has no quotes and is not empty.
    pub is_unquoted: bool,
}

impl<'a> HtmlTag<'a> {
    /// Returns the value of an attribute as written; of duplicates the first, as in browsers. Returns `None` if it is
    /// missing.
    pub fn raw(&self, name: &str) -> Option<&'a str> {
        self.attributes
            .iter()
            .find(|attribute| attribute.name.eq_ignore_ascii_case(name))
            .map(|found| found.value)
    }

    /// Returns the value of an attribute with character references decoded; `None` if the attribute is missing, or may
    /// contain a reference other than `&amp;`, `&lt;`, `&gt;`, `&quot;`, `&apos;` and numeric ones of printable ASCII
    /// characters.
    pub fn value(&self, name: &str) -> Option<String> {
        decoded(self.raw(name)?)
    }

    /// Returns whether the tag has an attribute called `name`.
    pub fn has(&self, name: &str) -> bool {
        self.raw(name).is_some()
    }

    /// Returns whether a list of words in an attribute contains a word, without regard to case.
    pub fn has_word(&self, name: &str, word: &str) -> bool {
        self.raw(name)
            .is_some_and(|value| value.split_ascii_whitespace().any(|found| found.eq_ignore_ascii_case(word)))
    }
}

/// Decodes numeric references of printable ASCII characters, and `&amp;`, `&lt;`, `&gt;`, `&quot;` and `&apos;`.
/// Returns `None` if the value may contain another reference.
fn decoded(value: &str) -> Option<String> {
    let (first, rest) = value.split_once('&').map_or((value, None), |(first, rest)| (first, Some(rest)));
    let mut text = first.to_owned();
    for part in rest.into_iter().flat_map(|rest| rest.split('&')) {
        let length = part.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'#').count();
        let (name, after) = part.split_at(length);
        match after.strip_prefix(';') {
            Some(after) => {
                text.push(reference(name)?);
                text.push_str(after);
            }
            None if name.is_empty() || !name.contains('#') && after.starts_with('=') => {
                text.push('&');
                text.push_str(part);
            }
            None => return None,
        }
    }
    Some(text)
}

fn reference(name: &str) -> Option<char> {
    let code = match name {
        "amp" => return Some('&'),
        "lt" => return Some('<'),
        "gt" => return Some('>'),
        "quot" => return Some('"'),
        "apos" => return Some('\''),
        _ => name.strip_prefix('#')?,
    };
    let code = match code.strip_prefix(['x', 'X']) {
        Some(digits) => hexadecimal::<u8>(digits)?,
        None => decimal(code)?,
    };
    (b' '..0x7f).contains(&code).then_some(char::from(code))
}

/// Splits a page into tokens, which together are the whole page. Returns an error if the page is too long, has too
/// many tokens, or contains markup whose meaning depends on the tree.
pub fn tokenize<'a>(page: &'a str, limits: &OptimizeLimits) -> Result<Vec<HtmlToken<'a>>, HtmlRefusal> {
    if page.len() > limits.page_bytes {
        return Err(HtmlRefusal::TooLong);
    }
    let mut tokenizer =
        Tokenizer { page, at: 0, tokens: Vec::new(), limit: limits.page_tokens, foreign: 0, selects: 0 };
    while tokenizer.at < page.len() {
        tokenizer.step()?;
    }
    Ok(tokenizer.tokens)
}

struct Tokenizer<'a> {
    page: &'a str,
    at: usize,
    tokens: Vec<HtmlToken<'a>>,
    limit: usize,
    /// Number of `svg` and `math` elements that are open.
    foreign: usize,
    /// Number of `select` elements that are open.
    selects: usize,
}

impl<'a> Tokenizer<'a> {
    fn push(&mut self, end: usize, kind: HtmlKind<'a>) -> Result<(), HtmlRefusal> {
        if end > self.at {
            if self.tokens.len() >= self.limit {
                return Err(HtmlRefusal::TooManyTokens);
            }
            self.tokens.push(HtmlToken { range: self.at..end, kind });
            self.at = end;
        }
        Ok(())
    }

    /// Reads the next token, or the text before it.
    fn step(&mut self) -> Result<(), HtmlRefusal> {
        let bytes = self.page.as_bytes();
        let mut from = self.at;
        let start = loop {
            let Some(found) = memchr(b'<', &bytes[from..]) else {
                return self.push(bytes.len(), HtmlKind::Text);
            };
            let after = bytes.get(from + found + 1).copied().unwrap_or(b' ');
            if after.is_ascii_alphabetic()
                || matches!(after, b'!' | b'?')
                || after == b'/' && from + found + 2 < bytes.len()
            {
                break from + found;
            }
            from += found + 1;
        };
        self.push(start, HtmlKind::Text)?;
        let rest = &self.page[start..];
        match bytes[start + 1] {
            b'!' | b'?' => self.comment(rest),
            b'/' if !bytes[start + 2].is_ascii_alphabetic() => self.comment(rest),
            b'/' => self.end_tag(),
            _ => self.start_tag(),
        }
    }

    /// Reads a comment, a document type, or markup that browsers treat as a comment.
    fn comment(&mut self, rest: &str) -> Result<(), HtmlRefusal> {
        if rest.get(..9).is_some_and(|start| start.eq_ignore_ascii_case("<![CDATA[")) {
            return Err(HtmlRefusal::Ambiguous(self.at));
        }
        let length = match rest.strip_prefix("<!--") {
            Some(text) if text.starts_with('>') => Some(5),
            Some(text) if text.starts_with("->") => Some(6),
            Some(text) => {
                let usual = memmem::find(text.as_bytes(), b"-->").map(|at| (at, 3));
                let bang = memmem::find(text.as_bytes(), b"--!>").map(|at| (at, 4));
                usual.into_iter().chain(bang).min().map(|(at, mark)| 4 + at + mark)
            }
            None => rest.find('>').map(|at| at + 1),
        };
        self.push(self.at + length.unwrap_or(rest.len()), HtmlKind::Comment)
    }

    fn end_tag(&mut self) -> Result<(), HtmlRefusal> {
        let Some((tag, end)) = read_tag(self.page, self.at + 2) else {
            return self.push(self.page.len(), HtmlKind::Incomplete);
        };
        match tag.name.as_str() {
            "svg" | "math" => self.foreign = self.foreign.saturating_sub(1),
            "select" => self.selects = self.selects.saturating_sub(1),
            _ => {}
        }
        self.push(end, HtmlKind::End(tag.name))
    }

    fn start_tag(&mut self) -> Result<(), HtmlRefusal> {
        let Some((tag, end)) = read_tag(self.page, self.at + 1) else {
            return self.push(self.page.len(), HtmlKind::Incomplete);
        };
        match tag.name.as_str() {
            "svg" | "math" if !tag.is_self_closing => self.foreign += 1,
            "select" => self.selects += 1,
            // Within it, browsers parse the text of all raw text elements as markup.
            "frameset" => return Err(HtmlRefusal::Ambiguous(self.at)),
            _ => {}
        }
        let name = tag.name.clone();
        let is_closed = tag.is_self_closing;
        self.push(end, HtmlKind::Start(tag))?;
        if !is_raw(&name) {
            return Ok(());
        }
        let rest = &self.page[self.at..];
        let length = match name.as_str() {
            "plaintext" => rest.len(),
            "script" => script_length(rest),
            _ => raw_length(rest, &name),
        };
        if self.foreign > 0 && is_closed {
            return Ok(());
        }
        // In `svg`, `math` and `select`, browsers parse the text of some of these elements as markup. Both readings agree
        // if it contains none.
        if self.foreign > 0 || self.selects > 0 && name != "script" {
            let is_plain = !rest[..length].contains('<') && length < rest.len();
            if !is_plain || name == "plaintext" {
                return Err(HtmlRefusal::Ambiguous(self.at));
            }
        }
        self.push(self.at + length, HtmlKind::RawText)
    }
}

/// Returns whether the text of an element is not parsed as markup (with scripting, as for `noscript`).
fn is_raw(name: &str) -> bool {
    matches!(
        name,
        "script"
            | "style"
            | "textarea"
            | "title"
            | "xmp"
            | "iframe"
            | "noembed"
            | "noframes"
            | "noscript"
            | "plaintext"
    )
}

/// Returns the length of the text up to the end tag of an element.
fn raw_length(text: &str, name: &str) -> usize {
    let mut at = 0;
    while let Some(found) = memmem::find(&text.as_bytes()[at..], b"</") {
        at += found;
        if is_end_of(&text[at + 2..], name) {
            return at;
        }
        at += 2;
    }
    text.len()
}

/// Returns whether text after `<` or `</` is the name of a tag and a byte that ends the name.
fn is_end_of(text: &str, name: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name.as_bytes()))
        && bytes
            .get(name.len())
            .is_some_and(|byte| matches!(byte, b'\t' | b'\n' | b'\r' | 0x0c | b' ' | b'/' | b'>'))
}

/// Returns the length of a script up to its end tag. Within `<!--`, a `<script` hides the next end tag.
fn script_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let (mut at, mut is_escaped, mut is_hidden) = (0, false, false);
    while at < bytes.len() {
        let rest = &text.as_bytes()[at..];
        if is_escaped && rest.starts_with(b"-->") {
            (is_escaped, is_hidden) = (false, false);
            at += 3;
        } else if !is_escaped && rest.starts_with(b"<!--") {
            is_escaped = true;
            // `<!-->` and `<!--->` end at once: the dashes count for both marks.
            at += 2;
        } else if rest.starts_with(b"</") && is_end_of(&text[at + 2..], "script") {
            if !is_hidden {
                return at;
            }
            is_hidden = false;
            at += 2;
        } else if is_escaped && !is_hidden && rest[0] == b'<' && is_end_of(&text[at + 1..], "script") {
            is_hidden = true;
            at += 1;
        } else {
            // All marks are ASCII, so every skipped byte may be part of a character.
            at += 1;
            while !text.is_char_boundary(at) {
                at += 1;
            }
        }
    }
    text.len()
}

/// Reads a tag from its name on. Returns it with the end of the tag; `None` if it is not complete.
fn read_tag(page: &str, start: usize) -> Option<(HtmlTag<'_>, usize)> {
    let bytes = page.as_bytes();
    let ends_name = |byte: &u8| is_blank(*byte) || matches!(byte, b'/' | b'>');
    let mut at = start + bytes[start..].iter().position(ends_name)?;
    let name = page[start..at].to_ascii_lowercase();
    let (mut attributes, mut is_self_closing) = (Vec::new(), false);
    loop {
        while is_blank(*bytes.get(at)?) || bytes[at] == b'/' {
            is_self_closing = bytes[at] == b'/';
            at += 1;
        }
        if bytes[at] == b'>' {
            return Some((HtmlTag { name, attributes, is_self_closing }, at + 1));
        }
        is_self_closing = false;
        let (attribute, end) = read_attribute(page, at)?;
        attributes.push(attribute);
        at = end;
    }
}

fn read_attribute(page: &str, start: usize) -> Option<(HtmlAttribute<'_>, usize)> {
    let bytes = page.as_bytes();
    let skip_blanks = |mut at: usize| {
        while bytes.get(at).is_some_and(|byte| is_blank(*byte)) {
            at += 1;
        }
        at
    };
    let ends_name = |byte: &u8| is_blank(*byte) || matches!(byte, b'/' | b'>' | b'=');
    // A leading equals sign is part of the name.
    let name_end = start + 1 + bytes.get(start + 1..)?.iter().position(ends_name)?;
    let name = &page[start..name_end];
    let equals = skip_blanks(name_end);
    let value_start = skip_blanks(equals + 1);
    let without_value = HtmlAttribute { name, value: "", text: name, is_unquoted: false };
    if bytes.get(equals) != Some(&b'=') {
        return Some((without_value, name_end));
    }
    match *bytes.get(value_start)? {
        quote @ (b'"' | b'\'') => {
            let end = value_start + 1 + memchr(quote, &bytes[value_start + 1..])?;
            let (value, text) = (&page[value_start + 1..end], &page[start..=end]);
            Some((HtmlAttribute { name, value, text, is_unquoted: false }, end + 1))
        }
        b'>' => Some((HtmlAttribute { text: &page[start..value_start], ..without_value }, value_start)),
        _ => {
            let length = bytes[value_start..].iter().position(|byte| is_blank(*byte) || *byte == b'>')?;
            let end = value_start + length;
            let (value, text) = (&page[value_start..end], &page[start..end]);
            Some((HtmlAttribute { name, value, text, is_unquoted: true }, end))
        }
    }
}

/// Returns whether a byte is white space in HTML.
pub(crate) fn is_blank(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\n' | b'\r' | 0x0c | b' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(page: &str) -> Vec<String> {
        let tokens = tokenize(page, &OptimizeLimits::default()).expect("unambiguous");
        assert_eq!(tokens.iter().map(|token| &page[token.range.clone()]).collect::<String>(), page);
        let short = |token: &HtmlToken<'_>| {
            let text = &page[token.range.clone()];
            match &token.kind {
                HtmlKind::Text => format!("text:{text}"),
                HtmlKind::RawText => format!("raw:{text}"),
                HtmlKind::Start(tag) => format!("<{}", tag.name),
                HtmlKind::End(name) => format!("/{name}"),
                HtmlKind::Comment => "comment".to_owned(),
                HtmlKind::Incomplete => "incomplete".to_owned(),
            }
        };
        tokens.iter().map(short).collect()
    }

    #[test]
    fn text_tags_and_comments_are_separated() {
        for (page, expected) in [
            ("a<B x>b</B >", &["text:a", "<b", "text:b", "/b"][..]),
            ("1 < 2 <3 <", &["text:1 < 2 <3 <"]),
            ("<!doctype html><p>", &["comment", "<p"]),
            ("<!-->a--><!--->b<!---->c", &["comment", "text:a-->", "comment", "text:b", "comment", "text:c"]),
            ("<!--a--!>b-->", &["comment", "text:b-->"]),
            ("<!--[if IE]><p><![endif]-->x", &["comment", "text:x"]),
            ("<!--[if !IE]><!--><p><!--<![endif]-->", &["comment", "<p", "comment"]),
            ("<?php a ?></ b></>x", &["comment", "comment", "comment", "text:x"]),
            ("<a b='>' c=\">\" d>", &["<a"]),
            ("<a b='", &["incomplete"]),
            ("x</a", &["text:x", "incomplete"]),
            ("</", &["text:</"]),
        ] {
            assert_eq!(kinds(page), expected, "{page}");
        }
    }

    #[test]
    fn raw_text_ends_at_its_own_end_tag() {
        for (page, expected) in [
            ("<script>'<p></p>'</script>x", &["<script", "raw:'<p></p>'", "/script", "text:x"][..]),
            ("<style></styles></STYLE >x", &["<style", "raw:</styles>", "/style", "text:x"]),
            ("<textarea><p></textarea\n>", &["<textarea", "raw:<p>", "/textarea"]),
            ("<title>a<b></title>", &["<title", "raw:a<b>", "/title"]),
            ("<noscript><p></noscript>", &["<noscript", "raw:<p>", "/noscript"]),
            ("<script/>a</script>", &["<script", "raw:a", "/script"]),
            ("<plaintext></plaintext>", &["<plaintext", "raw:</plaintext>"]),
            (
                "<script><!--<script></script>--></script>x",
                &["<script", "raw:<!--<script></script>-->", "/script", "text:x"],
            ),
            ("<script><!-- </script>x", &["<script", "raw:<!-- ", "/script", "text:x"]),
            ("<script><!--><script></script>x", &["<script", "raw:<!--><script>", "/script", "text:x"]),
            ("<script>\u{e9}</script >", &["<script", "raw:\u{e9}", "/script"]),
        ] {
            assert_eq!(kinds(page), expected, "{page}");
        }
    }

    #[test]
    fn markup_whose_meaning_depends_on_the_tree_is_refused() {
        for page in [
            "<svg><style><a></style></svg>",
            "<svg><![CDATA[x]]></svg>",
            "<math><title><b></title></math>",
            "<select><textarea><b></textarea></select>",
            "<svg><title>",
            "<frameset><textarea><!--</textarea>",
        ] {
            assert!(
                matches!(tokenize(page, &OptimizeLimits::default()), Err(HtmlRefusal::Ambiguous(_))),
                "{page}"
            );
        }
        assert_eq!(kinds("<svg><style>a{}</style></svg>")[1..3], ["<style", "raw:a{}"]);
        let limits = OptimizeLimits { page_tokens: 3, page_bytes: 20, ..OptimizeLimits::default() };
        assert_eq!(tokenize("<a><a><a><a>", &limits), Err(HtmlRefusal::TooManyTokens));
        assert_eq!(tokenize(&"x".repeat(21), &limits), Err(HtmlRefusal::TooLong));
    }

    #[test]
    fn attributes_are_read_as_by_browsers() {
        let page = "<a A=1 a=2 b = 'x y' c==d e/f =g h=\"&amp;&#038;&lt\" i=/u/ j='&#x26;' k=x&y=1/>";
        let tokens = tokenize(page, &OptimizeLimits::default()).expect("unambiguous");
        let HtmlKind::Start(tag) = &tokens[0].kind else { panic!("{tokens:?}") };
        let names: Vec<_> =
            tag.attributes.iter().map(|attribute| (attribute.name, attribute.value)).collect();
        assert_eq!(
            names,
            [
                ("A", "1"),
                ("a", "2"),
                ("b", "x y"),
                ("c", "=d"),
                ("e", ""),
                ("f", "g"),
                ("h", "&amp;&#038;&lt"),
                ("i", "/u/"),
                ("j", "&#x26;"),
                ("k", "x&y=1/"),
            ]
        );
        assert_eq!((tag.raw("a"), tag.value("h"), tag.value("j")), (Some("1"), None, Some("&".to_owned())));
        assert_eq!(tag.value("k").as_deref(), Some("x&y=1/"));
        assert!(!tag.is_self_closing && tag.has("E") && tag.has_word("b", "Y"));
    }
}
