//! Texts that are stored with a page, joined into one allocation.

use crate::page::PageMarks;

/// Texts of a page's metadata, in the order in which they are joined into one byte string.
#[derive(Clone, Copy, Debug)]
pub struct TextParts<'a> {
    /// Header field lines to send, except length, encoding, validators and fields that a location adds.
    pub lines: &'a [u8],
    /// [`PageMarks`](crate::page::PageMarks) by which purges find the page.
    pub marks: PageMarks<&'a [u8]>,
    /// Media type without parameters, in lower case.
    pub media_type: &'a [u8],
    /// `Last-Modified` as the origin sent it; empty if absent or not a date.
    pub last_modified: &'a [u8],
    /// Reason phrase; empty if it is the standard phrase of the status.
    pub reason: &'a str,
    /// Field lines of the origin that are not sent, but read by `$upstream_http_*`; usually empty.
    pub unsent: &'a [u8],
    /// Data about the ESI markup that was cut out of the page, or the reason why it has none
    /// (`myriad_script::esi::PageHoles`); usually empty.
    pub cut: &'a [u8],
    /// Results of earlier renderings ([`PageHistory`](myriad_policy::PageHistory)); empty without `*_cache_adaptive`.
    pub history: &'a [u8],
}

/// Flag in the last offset of [`TextEnds`]: the texts contain `unsent`, `cut` or `history`. The lengths of the reason
/// phrase and of the history (16 bits each) and of the unsent lines (32 bits) then precede the reason phrase. Pages
/// without them need no byte for this.
const HAS_MORE: u32 = 1 << 31;

impl TextParts<'_> {
    fn first_four(&self) -> [&[u8]; 4] {
        [self.lines, self.marks.as_bytes(), self.media_type, self.last_modified]
    }

    /// Joins the texts into one byte string. A reason phrase of more than 65,535 bytes is truncated; a longer history
    /// is omitted.
    pub fn join(&self) -> Box<[u8]> {
        let mut joined = self.first_four().concat();
        // A longer reason phrase is truncated, because its length has 16 bits.
        let reason = &self.reason.as_bytes()[..self.reason.len().min(usize::from(u16::MAX))];
        let history = if self.history.len() > usize::from(u16::MAX) { b"" } else { self.history };
        if self.has_more() {
            joined.extend_from_slice(&(reason.len() as u16).to_le_bytes());
            joined.extend_from_slice(&(history.len() as u16).to_le_bytes());
            joined.extend_from_slice(&(self.unsent.len() as u32).to_le_bytes());
        }
        for part in [reason, history, self.unsent, self.cut] {
            joined.extend_from_slice(part);
        }
        joined.into()
    }

    fn has_more(&self) -> bool {
        !self.cut.is_empty() || !self.unsent.is_empty() || !self.history.is_empty()
    }
}

/// End offsets of the first four texts in the result of [`TextParts::join`]. 31 bits suffice, because the texts come
/// from the heads of one request and one response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextEnds([u32; 4]);

impl TextEnds {
    /// Returns the end offsets for these texts.
    pub fn of(parts: &TextParts<'_>) -> Self {
        let (texts, mut end) = (parts.first_four(), 0);
        let mut ends = std::array::from_fn(|part| {
            end += texts[part].len();
            end as u32
        });
        if parts.has_more() {
            ends[3] |= HAS_MORE;
        }
        Self(ends)
    }
}

/// Joined texts of a page's metadata, with access to each of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Texts<'a> {
    bytes: &'a [u8],
    ends: TextEnds,
}

impl<'a> Texts<'a> {
    /// Creates a view of texts joined by [`TextParts::join`]. `ends` must belong to them.
    pub fn new(bytes: &'a [u8], ends: TextEnds) -> Self {
        Self { bytes, ends }
    }

    /// Returns the texts as separate parts.
    pub fn parts(self) -> TextParts<'a> {
        let Tail { unsent, cut, history, .. } = self.tail();
        TextParts {
            lines: self.lines(),
            marks: self.marks(),
            media_type: self.media_type(),
            last_modified: self.last_modified(),
            reason: self.reason(),
            unsent,
            cut,
            history,
        }
    }

    fn part(self, start: u32, end: u32) -> &'a [u8] {
        &self.bytes[start as usize..end as usize]
    }

    /// Returns [`TextParts::lines`]: the header field lines to send.
    pub fn lines(self) -> &'a [u8] {
        self.part(0, self.ends.0[0])
    }

    /// Returns [`TextParts::marks`]: URL and tags by which purges find the page.
    pub fn marks(self) -> PageMarks<&'a [u8]> {
        PageMarks::of_stored(self.part(self.ends.0[0], self.ends.0[1]))
    }

    /// Returns [`TextParts::media_type`], without parameters and in lower case.
    pub fn media_type(self) -> &'a [u8] {
        self.part(self.ends.0[1], self.ends.0[2])
    }

    /// Returns [`TextParts::last_modified`], as the origin sent it; empty if absent.
    pub fn last_modified(self) -> &'a [u8] {
        self.part(self.ends.0[2], self.ends.0[3] & !HAS_MORE)
    }

    /// Returns [`TextParts::reason`]; empty for the standard reason phrase.
    pub fn reason(self) -> &'a str {
        std::str::from_utf8(self.tail().reason).unwrap_or_default()
    }

    /// Returns [`TextParts::unsent`]: field lines for `$upstream_http_*` that are not sent.
    pub fn unsent(self) -> &'a [u8] {
        self.tail().unsent
    }

    /// Returns [`TextParts::cut`]: data about the ESI markup that was cut out of the page.
    pub fn cut(self) -> &'a [u8] {
        self.tail().cut
    }

    /// Returns [`TextParts::history`]: the results of earlier renderings of the page.
    pub fn history(self) -> &'a [u8] {
        self.tail().history
    }

    /// Returns the texts that are last in the joined texts.
    fn tail(self) -> Tail<'a> {
        let tail = &self.bytes[(self.ends.0[3] & !HAS_MORE) as usize..];
        if self.ends.0[3] & HAS_MORE == 0 {
            return Tail { reason: tail, ..Tail::default() };
        }
        split_tail(tail).unwrap_or_default()
    }
}

/// Texts that few pages have, and the reason phrase.
#[derive(Clone, Copy, Default)]
struct Tail<'a> {
    reason: &'a [u8],
    history: &'a [u8],
    unsent: &'a [u8],
    cut: &'a [u8],
}

fn split_tail(tail: &[u8]) -> Option<Tail<'_>> {
    let (reason, tail) = tail.split_first_chunk()?;
    let (history, tail) = tail.split_first_chunk()?;
    let (unsent, tail) = tail.split_first_chunk()?;
    let (reason, tail) = tail.split_at_checked(usize::from(u16::from_le_bytes(*reason)))?;
    let (history, tail) = tail.split_at_checked(usize::from(u16::from_le_bytes(*history)))?;
    let (unsent, cut) = tail.split_at_checked(u32::from_le_bytes(*unsent) as usize)?;
    Some(Tail { reason, history, unsent, cut })
}

#[cfg(test)]
mod tests {
    use super::*;
    use myriad_policy::Tags;

    #[test]
    fn each_part_comes_back_as_it_was_empty_or_not() {
        let marks = PageMarks::new("https", b"example.org", b"/a?b", &Tags::parse(b"one two"));
        for empty in 0..=255_u8 {
            let keep = |bit: u8, text: &'static str| if empty & 1 << bit == 0 { text } else { "" };
            let (lines, media_type) = (keep(0, "X-A: b\r\n").as_bytes(), keep(1, "text/html").as_bytes());
            let (last_modified, reason) =
                (keep(2, "Sat, 21 Nov 2026 00:00:00 GMT").as_bytes(), keep(3, "Nowhere"));
            let (cut, unsent) = (keep(5, "cut").as_bytes(), keep(6, "X-B: c\r\n").as_bytes());
            let history = keep(7, "history").as_bytes();
            let stored_marks = marks.borrowed();
            let parts = TextParts {
                lines,
                marks: stored_marks,
                media_type,
                last_modified,
                reason,
                unsent,
                cut,
                history,
            };
            let joined = parts.join();
            let texts = Texts::new(&joined, TextEnds::of(&parts));
            assert_eq!((texts.lines(), texts.media_type()), (lines, media_type));
            assert_eq!((texts.last_modified(), texts.reason(), texts.cut()), (last_modified, reason, cut));
            assert_eq!((texts.unsent(), texts.history()), (unsent, history));
            assert_eq!(texts.marks().as_bytes(), marks.as_bytes());
        }
    }
}
