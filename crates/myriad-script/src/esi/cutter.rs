//! Removal of the ESI markup from a page that arrives in pieces.
//!
//! ```text
//!           <esi:include>                  <esi:remove>, <esi:inline>
//! Inside <-----------------> Outside <-----------------------> Dropping
//!           </esi:include>                 </esi:remove>, </esi:inline>
//! ```
//!
//! In the states Inside and Dropping, only the matching closing tag and the end of an ESI comment are markup. Bytes
//! that cannot be a tag are emitted as text immediately. Bytes that may become a tag are buffered, at most
//! [`LONGEST_TAG`] bytes.

use memchr::{memchr, memchr2};

use crate::esi::tag::{self, EsiTag, EsiTagName};
use crate::esi::target::{target, unescaped};
use crate::esi::{EsiDeclaration, EsiInclude, Hole};

/// Maximum length of an ESI tag, in bytes. A longer tag is treated as text.
const LONGEST_TAG: usize = 4096;
const COMMENT: &[u8] = b"<!--esi";
const COMMENT_END: &[u8] = b"-->";
const TAGS: [&[u8]; 2] = [b"<esi:", b"</esi:"];

/// Limits on the ESI includes of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EsiLimits {
    /// Maximum number of includes. The tags of further ones are removed; their content remains as text of the page.
    pub includes: usize,
    /// Host of the page's URL, with its port if the `Host` field has one, which the URLs of includes may contain; if
    /// empty, only paths are allowed.
    pub host: Box<[u8]>,
}

/// Counts of the markup of a page that was rejected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RejectedMarkup {
    /// Number of includes beyond the maximum.
    pub too_many: u32,
    /// Number of include targets (`src` or `alt`) that are invalid or not a path of the same host.
    pub foreign: u32,
    /// Number of elements whose closing tag is missing at the end of the page: 0 or 1.
    pub unclosed: u32,
}

impl RejectedMarkup {
    /// Returns whether any markup was rejected.
    pub fn is_something(self) -> bool {
        self != Self::default()
    }
}

/// Receiver of the text and the ESI includes of a page, in the order of the page.
pub trait EsiSink {
    /// Receives text. Between [`Self::open`] and [`Self::close`] it is the fallback of the include.
    fn text(&mut self, text: &[u8]);

    /// Begins an include.
    fn open(&mut self, include: EsiInclude);

    /// Ends the include. `sound` is false if its closing tag is missing: then the text since [`Self::open`] is text of
    /// the page and not a fallback.
    fn close(&mut self, sound: bool);
}

/// Position of the parser of a page relative to ESI elements that have a closing tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CutterMode {
    /// Outside of ESI elements that have a closing tag: the text is sent as text of the page.
    Outside,
    /// Inside an include: true if it was accepted, so that the text is its fallback. The text in a rejected include is
    /// sent as text of the page.
    Inside(bool),
    /// Inside `<esi:remove>` or `<esi:inline>` (the name of the element): the text is discarded.
    Dropping(EsiTagName),
}

/// ESI markup at a position of the page.
enum MarkupElement<'a> {
    /// No markup: the byte is text.
    Nothing,
    /// Undecided: more bytes are needed.
    More,
    /// `<!--esi`, the start of an ESI comment, whose content is processed like the rest of the page.
    CommentBegins,
    /// `-->`, the end of an ESI comment.
    CommentEnds,
    /// Opening, closing or empty ESI tag, with its length in bytes.
    Tag(EsiTag<'a>, usize),
}

/// Parser that separates the text of a page from its ESI includes, and passes them to an [`EsiSink`].
#[derive(Debug)]
pub struct Cutter {
    token: Option<Box<[u8]>>,
    limits: EsiLimits,
    mode: CutterMode,
    in_comment: bool,
    undecided: Vec<u8>,
    includes: usize,
    rejected: RejectedMarkup,
}

impl Cutter {
    /// Creates the parser of a page with the ESI properties that its origin declared.
    pub fn new(declaration: &EsiDeclaration, limits: EsiLimits) -> Self {
        Self {
            token: declaration.token.clone(),
            limits,
            mode: CutterMode::Outside,
            in_comment: false,
            undecided: Vec::new(),
            includes: 0,
            rejected: RejectedMarkup::default(),
        }
    }

    /// Processes the next piece of the page.
    pub fn push(&mut self, piece: &[u8], sink: &mut impl EsiSink) {
        if self.undecided.is_empty() {
            let read = self.read(piece, false, sink);
            self.undecided.extend_from_slice(&piece[read..]);
        } else {
            let mut text = std::mem::take(&mut self.undecided);
            text.extend_from_slice(piece);
            let read = self.read(&text, false, sink);
            text.drain(..read);
            self.undecided = text;
        }
    }

    /// Finishes the page: an incomplete tag is text. Returns the counts of rejected markup.
    pub fn finish(&mut self, sink: &mut impl EsiSink) -> RejectedMarkup {
        let text = std::mem::take(&mut self.undecided);
        self.read(&text, true, sink);
        match std::mem::replace(&mut self.mode, CutterMode::Outside) {
            CutterMode::Outside => {}
            CutterMode::Inside(taken) => {
                self.rejected.unclosed += 1;
                if taken {
                    sink.close(false);
                }
            }
            CutterMode::Dropping(_) => self.rejected.unclosed += 1,
        }
        self.rejected
    }

    /// Processes `text` up to a position that needs more bytes. Returns the number of processed bytes.
    fn read(&mut self, text: &[u8], is_last: bool, sink: &mut impl EsiSink) -> usize {
        let (mut from, mut at) = (0, 0);
        loop {
            let rest = &text[at..];
            let found = if self.in_comment { memchr2(b'<', b'-', rest) } else { memchr(b'<', rest) };
            let Some(found) = found else {
                self.emit_text(&text[from..], sink);
                return text.len();
            };
            let here = at + found;
            let length = match self.element_at(&text[here..], is_last) {
                MarkupElement::Nothing => {
                    at = here + 1;
                    continue;
                }
                MarkupElement::More => {
                    self.emit_text(&text[from..here], sink);
                    return here;
                }
                MarkupElement::CommentBegins => {
                    self.emit_text(&text[from..here], sink);
                    self.in_comment = true;
                    COMMENT.len()
                }
                MarkupElement::CommentEnds => {
                    self.emit_text(&text[from..here], sink);
                    self.in_comment = false;
                    COMMENT_END.len()
                }
                MarkupElement::Tag(tag, length) => {
                    self.emit_text(&text[from..here], sink);
                    self.handle_tag(&tag, sink);
                    length
                }
            };
            at = here + length;
            from = at;
        }
    }

    fn emit_text(&self, text: &[u8], sink: &mut impl EsiSink) {
        if !text.is_empty() && !matches!(self.mode, CutterMode::Dropping(_)) {
            sink.text(text);
        }
    }

    /// Returns the element at the start of `text`. If `is_last` is set, no more bytes follow.
    fn element_at<'a>(&self, text: &'a [u8], is_last: bool) -> MarkupElement<'a> {
        let more = if is_last { MarkupElement::Nothing } else { MarkupElement::More };
        if text[0] == b'-' {
            return match starts_with(text, COMMENT_END) {
                Some(true) => MarkupElement::CommentEnds,
                Some(false) => MarkupElement::Nothing,
                None => more,
            };
        }
        if !self.in_comment && self.token.is_none() && self.mode == CutterMode::Outside {
            match (starts_with(text, COMMENT), text.get(COMMENT.len())) {
                (Some(true), Some(next)) if next.is_ascii_whitespace() || *next == b'<' => {
                    return MarkupElement::CommentBegins;
                }
                (Some(true), None) | (None, _) => return more,
                _ => {}
            }
        }
        let begun = TAGS.map(|tag| starts_with(text, tag));
        if begun.contains(&None) {
            return more;
        }
        if !begun.contains(&Some(true)) {
            return MarkupElement::Nothing;
        }
        match tag::end(&text[..text.len().min(LONGEST_TAG)]) {
            Ok(Some(length)) => match EsiTag::parse(&text[..length]).filter(|tag| self.is_markup(tag)) {
                Some(tag) => MarkupElement::Tag(tag, length),
                None => MarkupElement::Nothing,
            },
            Ok(None) if text.len() < LONGEST_TAG => more,
            Ok(None) | Err(()) => MarkupElement::Nothing,
        }
    }

    /// Returns whether a well-formed tag is markup in the current state. It must contain the token of the page, if
    /// there is one; if that token is empty (an invalid declaration), no tag is markup.
    fn is_markup(&self, tag: &EsiTag<'_>) -> bool {
        let has_token =
            self.token.as_deref().is_none_or(|token| !token.is_empty() && tag.get(b"token") == Some(token));
        has_token
            && match self.mode {
                CutterMode::Inside(_) => tag.closes && tag.name == EsiTagName::Include,
                CutterMode::Dropping(name) => tag.closes && tag.name == name,
                CutterMode::Outside if tag.closes => false,
                CutterMode::Outside => match tag.name {
                    EsiTagName::Include => tag.get(b"src").is_some(),
                    EsiTagName::Remove | EsiTagName::Inline => true,
                    EsiTagName::Comment => tag.is_empty,
                },
            }
    }

    fn handle_tag(&mut self, tag: &EsiTag<'_>, sink: &mut impl EsiSink) {
        match (self.mode, tag.name) {
            (CutterMode::Inside(taken), _) => {
                self.mode = CutterMode::Outside;
                if taken {
                    sink.close(true);
                }
            }
            (CutterMode::Dropping(_), _) => self.mode = CutterMode::Outside,
            (CutterMode::Outside, EsiTagName::Comment) => {}
            (CutterMode::Outside, name @ (EsiTagName::Remove | EsiTagName::Inline)) => {
                if !tag.is_empty {
                    self.mode = CutterMode::Dropping(name);
                }
            }
            (CutterMode::Outside, EsiTagName::Include) => {
                let include = self.include(tag);
                let taken = include.is_some();
                if let Some(include) = include {
                    sink.open(include);
                }
                if !tag.is_empty {
                    self.mode = CutterMode::Inside(taken);
                } else if taken {
                    sink.close(true);
                }
            }
        }
    }

    /// Returns the include of a tag; `None` if it is rejected, which is counted. An invalid `alt` is also counted, but
    /// only the `alt` is dropped.
    fn include(&mut self, tag: &EsiTag<'_>) -> Option<EsiInclude> {
        let target = |name: &[u8]| tag.get(name).map(|uri| target(&unescaped(uri), &self.limits.host));
        let (src, alt) = (target(b"src").flatten(), target(b"alt"));
        self.rejected.foreign += u32::from(src.is_none()) + u32::from(alt == Some(None));
        let src = src?;
        if self.includes == self.limits.includes {
            self.rejected.too_many += 1;
            return None;
        }
        self.includes += 1;
        let on_error_nothing =
            tag.get(b"onerror").is_some_and(|value| value.eq_ignore_ascii_case(b"continue"));
        Some(EsiInclude { src, alt: alt.flatten(), on_error_nothing })
    }
}

/// Returns whether `text` starts with `word`; `None` if `text` is too short to decide.
fn starts_with(text: &[u8], word: &[u8]) -> Option<bool> {
    if text.len() < word.len() && word.starts_with(text) { None } else { Some(text.starts_with(word)) }
}

/// Sink that collects the text of the shared page, and its holes: the positions at which fragments are inserted.
#[derive(Debug, Default)]
pub struct HoleCollector {
    /// Text that the caller has not taken yet.
    pub text: Vec<u8>,
    /// Holes (positions of includes) found so far.
    pub holes: Vec<Hole>,
    /// Total length of the text so far, in bytes.
    at: u64,
}

impl EsiSink for HoleCollector {
    fn text(&mut self, text: &[u8]) {
        self.text.extend_from_slice(text);
        self.at += text.len() as u64;
    }

    fn open(&mut self, include: EsiInclude) {
        self.holes.push(Hole { at: self.at, inline: 0, include });
    }

    fn close(&mut self, sound: bool) {
        if let Some(hole) = self.holes.last_mut().filter(|_| sound) {
            hole.inline = u32::try_from(self.at - hole.at).unwrap_or(0);
        }
    }
}

#[cfg(test)]
mod tests;
