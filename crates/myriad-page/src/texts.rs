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
}

impl Parts<'_> {
    fn in_order(&self) -> [&[u8]; 5] {
        [self.lines, self.marks.as_bytes(), self.media_type, self.last_modified, self.reason.as_bytes()]
    }

    /// The parts joined, with the places where they end.
    pub fn join(&self) -> Box<[u8]> {
        self.in_order().concat().into()
    }
}

/// End of each part but the last in what [`Parts::join`] gives. 32 bits are enough: the parts come from one response head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextEnds([u32; 4]);

impl TextEnds {
    /// Ends of these parts.
    pub fn of(parts: &Parts<'_>) -> Self {
        let parts = parts.in_order();
        let mut end = 0;
        Self(std::array::from_fn(|part| {
            end += parts[part].len();
            end as u32
        }))
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
        self.part(self.ends.0[2], self.ends.0[3])
    }

    /// See [`Parts::reason`].
    pub fn reason(self) -> &'a str {
        std::str::from_utf8(&self.bytes[self.ends.0[3] as usize..]).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use myriad_policy::Tags;

    #[test]
    fn each_part_comes_back_as_it_was_empty_or_not() {
        let marks = Marks::new("https", b"example.org", b"/a?b", &Tags::parse(b"one two"));
        for empty in 0..32_u8 {
            let keep = |bit: u8, text: &'static str| if empty & 1 << bit == 0 { text } else { "" };
            let (lines, media_type) = (keep(0, "X-A: b\r\n").as_bytes(), keep(1, "text/html").as_bytes());
            let (last_modified, reason) =
                (keep(2, "Sat, 21 Nov 2026 00:00:00 GMT").as_bytes(), keep(3, "Nowhere"));
            let parts = Parts { lines, marks: marks.borrowed(), media_type, last_modified, reason };
            let joined = parts.join();
            let texts = Texts::new(&joined, TextEnds::of(&parts));
            assert_eq!((texts.lines(), texts.media_type()), (lines, media_type));
            assert_eq!((texts.last_modified(), texts.reason()), (last_modified, reason));
            assert_eq!(texts.marks().as_bytes(), marks.as_bytes());
        }
    }
}
