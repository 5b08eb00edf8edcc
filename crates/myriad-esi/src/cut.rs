//! The holes of a page, and the bytes that they are kept in.

/// What stands in the place of a hole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Include {
    /// Path and query that the part is asked for.
    pub src: Box<[u8]>,
    /// What is asked for where that fails.
    pub alt: Option<Box<[u8]>>,
    /// `onerror="continue"`: a part that cannot be had leaves nothing.
    pub on_error_nothing: bool,
}

/// A hole in a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hole {
    /// Where it begins in the page, bytes.
    pub at: u64,
    /// How many bytes of the page stand for it where it is not filled.
    pub inline: u32,
    /// What fills it.
    pub include: Include,
}

/// What was cut out of a page, kept beside it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cut {
    /// Whether known visitors may read the page. Then the holes are for them alone; else they are filled for everybody.
    pub known: bool,
    /// The argument by which parts are asked for together.
    pub joint: Option<Box<[u8]>>,
    /// The holes, in the order of the page.
    pub holes: Vec<Hole>,
}

const KNOWN: u8 = 1;
const JOINT: u8 = 2;
const NOTHING: u8 = 1;
const ALT: u8 = 2;

impl Cut {
    /// Whether everybody's page is to be filled.
    pub fn is_for_everybody(&self) -> bool {
        !self.known && !self.holes.is_empty()
    }

    /// As it is kept with the page: numbers little-endian, byte strings behind their length. Nothing where nothing was cut.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        if !self.known && self.holes.is_empty() {
            return out;
        }
        out.push(if self.known { KNOWN } else { 0 } | if self.joint.is_some() { JOINT } else { 0 });
        self.joint.iter().for_each(|joint| put(&mut out, joint));
        for Hole { at, inline, include } in &self.holes {
            out.extend_from_slice(&at.to_le_bytes());
            out.extend_from_slice(&inline.to_le_bytes());
            let nothing = if include.on_error_nothing { NOTHING } else { 0 };
            out.push(nothing | if include.alt.is_some() { ALT } else { 0 });
            put(&mut out, &include.src);
            include.alt.iter().for_each(|alt| put(&mut out, alt));
        }
        out
    }

    /// Reads what [`Self::encode`] gave; none where it is empty or damaged, or where the holes do not fit a page of `length` bytes.
    pub fn decode(bytes: &[u8], length: u64) -> Option<Self> {
        let mut reader = Reader(bytes);
        let flags = reader.array::<1>()?[0];
        let joint = if flags & JOINT > 0 { Some(reader.text()?) } else { None };
        let mut cut = Self { known: flags & KNOWN > 0, joint, holes: Vec::new() };
        let mut from = 0;
        while !reader.0.is_empty() {
            let at = u64::from_le_bytes(reader.array()?);
            let inline = u32::from_le_bytes(reader.array()?);
            let flags = reader.array::<1>()?[0];
            let src = reader.text()?;
            let alt = if flags & ALT > 0 { Some(reader.text()?) } else { None };
            let end = at.checked_add(u64::from(inline))?;
            if at < from || end > length {
                return None;
            }
            from = end;
            let include = Include { src, alt, on_error_nothing: flags & NOTHING > 0 };
            cut.holes.push(Hole { at, inline, include });
        }
        Some(cut)
    }

    /// Whether kept bytes say that known visitors may read the page.
    pub fn is_known(bytes: &[u8]) -> bool {
        bytes.first().is_some_and(|flags| flags & KNOWN > 0)
    }
}

fn put(out: &mut Vec<u8>, text: &[u8]) {
    out.extend_from_slice(&(text.len() as u16).to_le_bytes());
    out.extend_from_slice(text);
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*taken)
    }

    fn text(&mut self) -> Option<Box<[u8]>> {
        let length = usize::from(u16::from_le_bytes(self.array()?));
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hole(at: u64, inline: u32, alt: Option<&[u8]>) -> Hole {
        let include = Include { src: (*b"/a").into(), alt: alt.map(Into::into), on_error_nothing: at == 0 };
        Hole { at, inline, include }
    }

    #[test]
    fn what_was_kept_comes_back() {
        for known in [false, true] {
            for joint in [None, Some((*b"j").into())] {
                let holes = vec![hole(0, 5, None), hole(5, 0, Some(b"/b")), hole(9, 1, None)];
                let cut = Cut { known, joint, holes };
                assert_eq!(Cut::decode(&cut.encode(), 10).as_ref(), Some(&cut));
                assert_eq!(Cut::is_known(&cut.encode()), known);
            }
        }
        assert!(Cut::default().encode().is_empty() && Cut::decode(b"", 10).is_none());
        let whole = Cut { known: true, ..Cut::default() };
        assert_eq!(Cut::decode(&whole.encode(), 0), Some(whole));
    }

    #[test]
    fn holes_that_fit_no_page_are_refused() {
        let bytes = |holes| Cut { known: true, joint: None, holes }.encode();
        for holes in [
            vec![hole(8, 3, None)],
            vec![hole(5, 0, None), hole(4, 0, None)],
            vec![hole(2, 3, None), hole(4, 1, None)],
        ] {
            assert_eq!(Cut::decode(&bytes(holes), 10), None);
        }
        let whole = bytes(vec![hole(0, 0, Some(b"/b"))]);
        for length in 2..whole.len() {
            assert_eq!(Cut::decode(&whole[..length], 10), None, "{length} bytes");
        }
    }
}
