//! The texts that are kept with a page, in one piece of memory: a million pages would pay for each piece of their own.

use super::Marks;

/// What [`Texts`] are made of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parts<'a> {
    /// Field lines ready to send: all but length, encoding, validators and what a place adds.
    pub lines: &'a [u8],
    /// What purges find the page by.
    pub marks: Marks<&'a [u8]>,
    /// Media type without parameters, lower case, for `gzip_types`.
    pub media_type: &'a [u8],
    /// `Last-Modified` as sent; empty where there is none.
    pub last_modified: &'a [u8],
    /// The reason phrase, where it is not the usual one.
    pub reason: &'a str,
}

/// See [`Parts`], whose order is that in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Texts {
    bytes: Box<[u8]>,
    /// Where each part but the last ends.
    ends: [u32; 4],
}

impl Texts {
    /// Copies the parts, which are a head's: far from 4 GB.
    pub(crate) fn new(parts: &Parts<'_>) -> Self {
        let Parts { lines, marks, media_type, last_modified, reason } = *parts;
        let parts = [lines, marks.as_bytes(), media_type, last_modified, reason.as_bytes()];
        let mut end = 0;
        let ends = std::array::from_fn(|part| {
            end += parts[part].len();
            end as u32
        });
        Self { bytes: parts.concat().into(), ends }
    }

    /// Bytes that they own.
    pub(crate) fn weight(&self) -> usize {
        self.bytes.len()
    }

    fn part(&self, start: u32, end: u32) -> &[u8] {
        &self.bytes[start as usize..end as usize]
    }

    /// See [`Parts::lines`].
    pub(crate) fn lines(&self) -> &[u8] {
        self.part(0, self.ends[0])
    }

    /// See [`Parts::marks`].
    pub(crate) fn marks(&self) -> Marks<&[u8]> {
        Marks::of_kept(self.part(self.ends[0], self.ends[1]))
    }

    /// See [`Parts::media_type`].
    pub(crate) fn media_type(&self) -> &[u8] {
        self.part(self.ends[1], self.ends[2])
    }

    /// See [`Parts::last_modified`].
    pub(crate) fn last_modified(&self) -> &[u8] {
        self.part(self.ends[2], self.ends[3])
    }

    /// See [`Parts::reason`].
    pub(crate) fn reason(&self) -> &str {
        std::str::from_utf8(&self.bytes[self.ends[3] as usize..]).unwrap_or_default()
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
            let texts =
                Texts::new(&Parts { lines, marks: marks.borrowed(), media_type, last_modified, reason });
            assert_eq!((texts.lines(), texts.media_type()), (lines, media_type));
            assert_eq!((texts.last_modified(), texts.reason()), (last_modified, reason));
            assert_eq!(texts.marks().as_bytes(), marks.as_bytes());
        }
    }
}
