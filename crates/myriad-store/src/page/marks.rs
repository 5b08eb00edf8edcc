//! Marks of a page: its URL and tags, by which purges find it.

use std::iter;

use myriad_policy::{PurgeSubject, Tags};

/// URL for which a page was fetched, and the tags that its origin gave it, in one byte string that is written to files
/// unchanged.
///
/// Format (numbers are little-endian): a byte of flags, the length of the host (16 bits), the length of the target (32
/// bits), the port (16 bits, only if its flag is set), host, target, and each tag preceded by its length (16 bits).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageMarks<B = Box<[u8]>>(B);

/// Flag in a page's marks: the page was fetched for an https URL.
const HTTPS: u8 = 1;
/// Flag in a page's marks: the page had more tags than are stored.
const TAGS_TRUNCATED: u8 = 2;
/// Flag in a page's marks: the page belongs to one port, which is not the default port of its scheme.
const PORT: u8 = 4;
/// Length of the flags and of the lengths of host and target at the start of marks, in bytes.
const HEAD: usize = 7;

impl PageMarks {
    /// Creates the marks of a page that was fetched for `target`, the path and query as the client sent them.
    pub fn new(scheme: &str, host: &[u8], target: &[u8], tags: &Tags) -> PageMarks {
        let host = &host[..host.len().min(usize::from(u16::MAX))];
        let mut bytes = vec![
            if scheme == "https" { HTTPS } else { 0 } | if tags.is_truncated() { TAGS_TRUNCATED } else { 0 },
        ];
        bytes.extend_from_slice(&(host.len() as u16).to_le_bytes());
        bytes.extend_from_slice(&(target.len() as u32).to_le_bytes());
        bytes.extend_from_slice(host);
        bytes.extend_from_slice(target);
        for name in tags.names() {
            bytes.extend_from_slice(&(name.len() as u16).to_le_bytes());
            bytes.extend_from_slice(name);
        }
        PageMarks(bytes.into())
    }

    /// Returns a copy of these marks with `port`, the port that the client's request named.
    #[must_use]
    pub fn with_port(&self, port: u16) -> PageMarks {
        let (head, rest) = self.as_bytes().split_at(HEAD);
        let mut bytes = [head, &port.to_le_bytes(), self.without_port(rest)].concat();
        bytes[0] |= PORT;
        PageMarks(bytes.into())
    }

    /// Parses bytes that [`Self::as_bytes`] has returned; `None` if they are invalid.
    pub fn from_bytes(bytes: &[u8]) -> Option<PageMarks> {
        let (head, rest) = bytes.split_first_chunk::<HEAD>()?;
        let (host, target) = lengths(*head);
        let (_, rest) = rest.split_at_checked(port_length(head[0]))?;
        let (_, rest) = rest.split_at_checked(host)?;
        let (_, mut tags) = rest.split_at_checked(target)?;
        if head[0] > HTTPS + TAGS_TRUNCATED + PORT {
            return None;
        }
        while !tags.is_empty() {
            (_, tags) = split_tag(tags)?;
        }
        Some(PageMarks(bytes.into()))
    }
}

impl<'a> PageMarks<&'a [u8]> {
    /// Creates marks from valid bytes, which are borrowed.
    pub fn of_stored(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }
}

impl<B: AsRef<[u8]>> PageMarks<B> {
    /// Returns marks that borrow the bytes of these.
    pub fn borrowed(&self) -> PageMarks<&[u8]> {
        PageMarks(self.as_bytes())
    }

    /// Returns a copy with its own bytes.
    pub fn to_owned(&self) -> PageMarks {
        PageMarks(self.as_bytes().into())
    }

    /// Returns marks of the same URL with other tags.
    pub fn with_tags(&self, tags: &Tags) -> PageMarks {
        let subject = self.subject();
        let scheme = if subject.scheme == b"https" { "https" } else { "http" };
        let marks = PageMarks::new(scheme, subject.host, self.target(), tags);
        match self.port() {
            Some(port) => marks.with_port(port),
            None => marks,
        }
    }

    /// Returns the marks as bytes, as they are stored in memory and files.
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_ref()
    }

    /// Returns the URL for which the page was fetched, as purges compare it.
    pub fn subject(&self) -> PurgeSubject<'_> {
        let scheme: &[u8] = if self.flags() & HTTPS > 0 { b"https" } else { b"http" };
        PurgeSubject::new(scheme, self.host(), self.target())
    }

    /// Returns the path and query of the page's URL as the client sent them.
    pub fn target(&self) -> &[u8] {
        self.parts().1
    }

    /// Returns the port that the client's request named; `None` if it was the default port of the scheme, or if all
    /// ports share the page.
    pub fn port(&self) -> Option<u16> {
        let bytes = self.as_bytes().get(HEAD..HEAD + port_length(self.flags()))?;
        bytes.first_chunk().map(|port| u16::from_le_bytes(*port))
    }

    /// Returns the host of the page's URL.
    pub fn host(&self) -> &[u8] {
        self.parts().0
    }

    /// Returns the page's tags.
    pub fn tags(&self) -> impl Iterator<Item = &[u8]> {
        let mut rest = self.parts().2;
        iter::from_fn(move || {
            let (name, after) = split_tag(rest)?;
            rest = after;
            Some(name)
        })
    }

    /// Returns true if the page had more tags than are stored. Every purge by tags covers such a page.
    pub fn has_truncated_tags(&self) -> bool {
        self.flags() & TAGS_TRUNCATED > 0
    }

    /// Calls `each` with each label of the page (hashes by which purges find it): of its path, of its URL with query
    /// (if it has one) and of its stored tags, and a common label of pages with too many tags.
    pub fn labels(&self, each: &mut dyn FnMut(u64)) {
        let subject = self.subject();
        each(subject.path_label());
        subject.query_label().into_iter().for_each(&mut *each);
        self.tags().map(Tags::label).for_each(&mut *each);
        if self.has_truncated_tags() {
            each(Tags::OVERFLOWN);
        }
    }

    /// Returns the bytes from the host on, after the port if there is one. `rest` are the bytes after the first
    /// [`HEAD`].
    fn without_port<'a>(&self, rest: &'a [u8]) -> &'a [u8] {
        rest.get(port_length(self.flags())..).unwrap_or_default()
    }

    fn flags(&self) -> u8 {
        self.as_bytes().first().copied().unwrap_or(0)
    }

    fn parts(&self) -> (&[u8], &[u8], &[u8]) {
        let Some((head, rest)) = self.as_bytes().split_first_chunk::<HEAD>() else { return (b"", b"", b"") };
        let (host, target) = lengths(*head);
        let (host, rest) = self.without_port(rest).split_at(host);
        let (target, tags) = rest.split_at(target);
        (host, target, tags)
    }
}

/// Returns the number of bytes that the port occupies in marks with these flags.
fn port_length(flags: u8) -> usize {
    if flags & PORT > 0 { size_of::<u16>() } else { 0 }
}

/// Returns the lengths of host and target, in bytes.
fn lengths(head: [u8; HEAD]) -> (usize, usize) {
    let [_, host @ .., a, b, c, d] = head;
    (usize::from(u16::from_le_bytes(host)), u32::from_le_bytes([a, b, c, d]) as usize)
}

fn split_tag(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk()?;
    rest.split_at_checked(usize::from(u16::from_le_bytes(*length)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks(target: &str, tags: &[u8]) -> PageMarks {
        PageMarks::new("https", b"example.org", target.as_bytes(), &Tags::parse(tags))
    }

    #[test]
    fn marks_round_trip_through_bytes_and_damaged_bytes_are_rejected() {
        let marks = marks("/a?b", b"one two");
        assert_eq!(PageMarks::from_bytes(marks.as_bytes()), Some(marks.clone()));
        assert_eq!((marks.host(), marks.target()), (&b"example.org"[..], &b"/a?b"[..]));
        assert_eq!(marks.tags().collect::<Vec<_>>(), [b"one", b"two"]);
        assert_eq!(marks.subject().scheme, b"https");
        let whole = marks.as_bytes();
        // The bytes may end after a complete tag.
        let ends = [whole.len() - 10, whole.len() - 5];
        for length in (0..whole.len()).filter(|length| !ends.contains(length)) {
            assert!(PageMarks::from_bytes(&whole[..length]).is_none(), "{length} bytes");
        }
        assert!(PageMarks::from_bytes(&[whole, b"x"].concat()).is_none());
    }

    #[test]
    fn port_is_stored_and_does_not_affect_purge_matching() {
        let plain = marks("/a?b", b"one");
        let ported = plain.with_port(8080);
        assert_eq!((plain.port(), ported.port()), (None, Some(8080)));
        assert_eq!(PageMarks::from_bytes(ported.as_bytes()), Some(ported.clone()));
        assert_eq!((ported.host(), ported.target()), (plain.host(), plain.target()));
        assert_eq!(ported.subject(), plain.subject());
        assert_eq!(ported.tags().collect::<Vec<_>>(), [b"one"]);
        assert_eq!(ported.with_port(81), plain.with_port(81));
        let other = ported.with_tags(&Tags::parse(b"two"));
        assert_eq!((other.port(), other.tags().next()), (Some(8080), Some(&b"two"[..])));
        for length in 0..16 {
            assert!(PageMarks::from_bytes(&ported.as_bytes()[..length]).is_none(), "{length} bytes");
        }
    }

    #[test]
    fn labels_are_those_that_purges_look_for() {
        let labels = |marks: &PageMarks| {
            let mut labels = Vec::new();
            marks.labels(&mut |label| labels.push(label));
            labels
        };
        let page = marks("/a?b", b"one two");
        let subject = page.subject();
        let expected =
            [subject.path_label(), subject.label_to_purge(), Tags::label(b"one"), Tags::label(b"two")];
        assert_eq!(labels(&page), expected);
        assert_eq!(labels(&page.with_tags(&Tags::parse(b"three")))[2..], [Tags::label(b"three")]);
        assert_eq!(labels(&marks("/a", b"")).len(), 1);
        let many = "x".repeat(100_000);
        assert_eq!(labels(&marks("/a", many.as_bytes())), [subject.path_label(), Tags::OVERFLOWN]);
    }
}
