//! Texts kept with a page, joined into one piece of memory.

use crate::Marks;

/// Parts of [`Texts`], in this order.
#[derive(Clone, Copy, Debug)]
pub struct Parts<'a> {
    /// Field lines ready to send: all but length, encoding, validators and what a place adds.
    pub lines: &'a [u8],
    /// [`Marks`](crate::Marks) by which purges find the page.
    pub marks: Marks<&'a [u8]>,
    /// Media type without parameters, lower case, for `gzip_types`.
    pub media_type: &'a [u8],
    /// `Last-Modified` as sent; empty where there is none.
    pub last_modified: &'a [u8],
    /// Reason phrase, if it is not the usual one of the status.
    pub reason: &'a str,
    /// What was cut out of the page (`myriad_esi::Cut`); empty where nothing was.
    pub cut: &'a [u8],
}

/// Bit of the last end: the page was cut, so that the length of the reason phrase stands before it (16 bits), and behind it what was cut
/// out. Few pages are; all others pay a look at the bit, and no byte.
const IS_CUT: u32 = 1 << 31;

impl Parts<'_> {
    fn first_four(&self) -> [&[u8]; 4] {
        [self.lines, self.marks.as_bytes(), self.media_type, self.last_modified]
    }

    /// The parts joined, with the places where they end.
    pub fn join(&self) -> Box<[u8]> {
        let mut joined = self.first_four().concat();
        // A reason phrase fits into one line of a head, which is shorter than that.
        let reason = &self.reason.as_bytes()[..self.reason.len().min(usize::from(u16::MAX))];
        if !self.cut.is_empty() {
            joined.extend_from_slice(&(reason.len() as u16).to_le_bytes());
        }
        joined.extend_from_slice(reason);
        joined.extend_from_slice(self.cut);
        joined.into()
    }
}

/// End of each part but the last ones in what [`Parts::join`] gives. 31 bits are enough: the parts come from one response head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextEnds([u32; 4]);

impl TextEnds {
    /// Ends of these parts.
    pub fn of(parts: &Parts<'_>) -> Self {
        let (texts, mut end) = (parts.first_four(), 0);
        let mut ends = std::array::from_fn(|part| {
            end += texts[part].len();
            end as u32
        });
        if !parts.cut.is_empty() {
            ends[3] |= IS_CUT;
        }
        Self(ends)
    }
}

/// Joined texts, read part by part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Texts<'a> {
    bytes: &'a [u8],
    ends: TextEnds,
}

impl<'a> Texts<'a> {
    /// Reads texts that [`Parts::join`] has joined.
    pub fn new(bytes: &'a [u8], ends: TextEnds) -> Self {
        Self { bytes, ends }
    }

    fn part(self, start: u32, end: u32) -> &'a [u8] {
        &self.bytes[start as usize..end as usize]
    }

    /// See [`Parts::lines`].
    pub fn lines(self) -> &'a [u8] {
        self.part(0, self.ends.0[0])
    }

    /// See [`Parts::marks`].
    pub fn marks(self) -> Marks<&'a [u8]> {
        Marks::of_kept(self.part(self.ends.0[0], self.ends.0[1]))
    }

    /// See [`Parts::media_type`].
    pub fn media_type(self) -> &'a [u8] {
        self.part(self.ends.0[1], self.ends.0[2])
    }

    /// See [`Parts::last_modified`].
    pub fn last_modified(self) -> &'a [u8] {
        self.part(self.ends.0[2], self.ends.0[3] & !IS_CUT)
    }

    /// See [`Parts::reason`].
    pub fn reason(self) -> &'a str {
        std::str::from_utf8(self.reason_and_cut().0).unwrap_or_default()
    }

    /// See [`Parts::cut`].
    pub fn cut(self) -> &'a [u8] {
        self.reason_and_cut().1
    }

    fn reason_and_cut(self) -> (&'a [u8], &'a [u8]) {
        let tail = &self.bytes[(self.ends.0[3] & !IS_CUT) as usize..];
        if self.ends.0[3] & IS_CUT == 0 {
            return (tail, b"");
        }
        let split =
            tail.split_first_chunk().map(|(length, rest)| (usize::from(u16::from_le_bytes(*length)), rest));
        split.and_then(|(length, rest)| rest.split_at_checked(length)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use myriad_policy::Tags;

    #[test]
    fn each_part_comes_back_as_it_was_empty_or_not() {
        let marks = Marks::new("https", b"example.org", b"/a?b", &Tags::parse(b"one two"));
        for empty in 0..64_u8 {
            let keep = |bit: u8, text: &'static str| if empty & 1 << bit == 0 { text } else { "" };
            let (lines, media_type) = (keep(0, "X-A: b\r\n").as_bytes(), keep(1, "text/html").as_bytes());
            let (last_modified, reason) =
                (keep(2, "Sat, 21 Nov 2026 00:00:00 GMT").as_bytes(), keep(3, "Nowhere"));
            let cut = keep(5, "cut").as_bytes();
            let parts = Parts { lines, marks: marks.borrowed(), media_type, last_modified, reason, cut };
            let joined = parts.join();
            let texts = Texts::new(&joined, TextEnds::of(&parts));
            assert_eq!((texts.lines(), texts.media_type()), (lines, media_type));
            assert_eq!((texts.last_modified(), texts.reason(), texts.cut()), (last_modified, reason, cut));
            assert_eq!(texts.marks().as_bytes(), marks.as_bytes());
        }
    }
}
