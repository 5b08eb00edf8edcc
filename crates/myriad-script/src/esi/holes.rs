//! Holes of a shared page (positions of ESI includes), and their binary form in the store.

/// ESI include: the fragment that fills a hole of a shared page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EsiInclude {
    /// Path and query of the fragment.
    pub src: Box<[u8]>,
    /// Path and query to request if `src` fails; `None` without a valid `alt`.
    pub alt: Option<Box<[u8]>>,
    /// `onerror="continue"`: if the fragment cannot be fetched, the hole is filled with nothing.
    pub on_error_nothing: bool,
}

/// Hole in a shared page: the position of an ESI include, at which a fragment is inserted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hole {
    /// Position in the text of the page, in bytes.
    pub at: u64,
    /// Length of the fallback text, which follows this position in the page, in bytes.
    pub inline: u32,
    /// Fragment that fills the hole.
    pub include: EsiInclude,
}

/// ESI properties of a shared page, stored with it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageHoles {
    /// True if known visitors may get the page; then the holes are filled for them only. Otherwise they are filled for
    /// all clients.
    pub for_known_visitors: bool,
    /// Word of `compared=`: a known visitor may get the page only after the origin has compared it with the page of a
    /// visitor of the same class; a changed word revokes earlier permissions. `None` if no comparison is required.
    pub compared: Option<Box<[u8]>>,
    /// Name of the query argument by which several fragments are requested together; `None` to request each separately.
    pub joint: Option<Box<[u8]>>,
    /// Holes, in the order of the page.
    pub holes: Vec<Hole>,
    /// Reason why known visitors may not get the page, or why the page must be compared: the one that the origin states
    /// ([`crate::esi::reason`]), or a rejected include. `None` if there is none.
    pub why: Option<Box<[u8]>>,
}

const KNOWN: u8 = 1;
const JOINT: u8 = 2;
const WHY: u8 = 4;
const COMPARED: u8 = 8;
const NOTHING: u8 = 1;
const ALT: u8 = 2;

impl PageHoles {
    /// Binary form of a page that is still being received, is filled for all clients, and whose holes are not known
    /// yet.
    pub const TO_COME: &'static [u8] = &[0];

    /// Returns whether the holes are filled for all clients.
    pub fn fills_for_all_visitors(&self) -> bool {
        !self.for_known_visitors && !self.holes.is_empty()
    }

    /// Returns the binary form: numbers in little-endian, byte strings after their length. It is empty if the page has
    /// no holes, is not for known visitors, and has no reason (`why`).
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        if !self.for_known_visitors && self.holes.is_empty() && self.why.is_none() {
            return out;
        }
        let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
        out.push(
            flag(self.for_known_visitors, KNOWN)
                | flag(self.joint.is_some(), JOINT)
                | flag(self.why.is_some(), WHY)
                | flag(self.compared.is_some(), COMPARED),
        );
        self.joint.iter().chain(&self.why).chain(&self.compared).for_each(|text| put_text(&mut out, text));
        for Hole { at, inline, include } in &self.holes {
            out.extend_from_slice(&at.to_le_bytes());
            out.extend_from_slice(&inline.to_le_bytes());
            let nothing = if include.on_error_nothing { NOTHING } else { 0 };
            out.push(nothing | if include.alt.is_some() { ALT } else { 0 });
            put_text(&mut out, &include.src);
            include.alt.iter().for_each(|alt| put_text(&mut out, alt));
        }
        out
    }

    /// Parses the output of [`Self::encode`]. Returns `None` if it is empty or damaged, or if the holes overlap, are
    /// not in order, or do not fit into a page of `length` bytes.
    pub fn decode(bytes: &[u8], length: u64) -> Option<Self> {
        let mut reader = HolesReader(bytes);
        let mut cut = reader.head()?;
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
            let include = EsiInclude { src, alt, on_error_nothing: flags & NOTHING > 0 };
            cut.holes.push(Hole { at, inline, include });
        }
        Some(cut)
    }

    /// Returns whether the binary form `bytes` allows known visitors to get the page.
    pub fn is_known(bytes: &[u8]) -> bool {
        bytes.first().is_some_and(|flags| flags & KNOWN > 0)
    }

    /// Returns whether the page with the binary form `bytes` is filled for all clients: it has holes and is not for
    /// known visitors, or `bytes` is [`Self::TO_COME`].
    pub fn is_filled(bytes: &[u8]) -> bool {
        let Some(flags) = bytes.first() else { return false };
        if flags & KNOWN > 0 {
            return false;
        }
        let mut reader = HolesReader(bytes);
        flags & WHY == 0 || reader.head().is_some_and(|_| !reader.0.is_empty())
    }

    /// Returns [`Self::why`] of the page with the binary form `bytes`; `None` if there is no reason, or if `bytes` is
    /// empty or damaged.
    pub fn why_of(bytes: &[u8]) -> Option<Box<[u8]>> {
        HolesReader(bytes).head()?.why
    }
}

fn put_text(out: &mut Vec<u8>, text: &[u8]) {
    out.extend_from_slice(&(text.len() as u16).to_le_bytes());
    out.extend_from_slice(text);
}

struct HolesReader<'a>(&'a [u8]);

impl HolesReader<'_> {
    /// Parses all parts before the holes; `None` if they are incomplete.
    fn head(&mut self) -> Option<PageHoles> {
        let flags = self.array::<1>()?[0];
        let joint = if flags & JOINT > 0 { Some(self.text()?) } else { None };
        let why = if flags & WHY > 0 { Some(self.text()?) } else { None };
        let compared = if flags & COMPARED > 0 { Some(self.text()?) } else { None };
        Some(PageHoles { for_known_visitors: flags & KNOWN > 0, compared, joint, holes: Vec::new(), why })
    }

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
        let include =
            EsiInclude { src: (*b"/a").into(), alt: alt.map(Into::into), on_error_nothing: at == 0 };
        Hole { at, inline, include }
    }

    #[test]
    fn cut_round_trips() {
        for known in [false, true] {
            for joint in [None, Some((*b"j").into())] {
                let holes = vec![hole(0, 5, None), hole(5, 0, Some(b"/b")), hole(9, 1, None)];
                let why = (!known).then(|| (*b"why").into());
                let compared = (known && joint.is_none()).then(|| (*b"7f").into());
                let cut = PageHoles { for_known_visitors: known, compared, joint, holes, why };
                assert_eq!(PageHoles::decode(&cut.encode(), 10).as_ref(), Some(&cut));
                assert_eq!(PageHoles::is_known(&cut.encode()), known);
            }
        }
        assert!(PageHoles::default().encode().is_empty() && PageHoles::decode(b"", 10).is_none());
        let whole = PageHoles { for_known_visitors: true, ..PageHoles::default() };
        assert_eq!(PageHoles::decode(&whole.encode(), 0), Some(whole));
    }

    #[test]
    fn page_is_filled_for_everybody_where_it_has_holes_and_no_promise() {
        let of = |known, why: bool, holes| {
            let why = why.then(|| (*b"a reason").into());
            let encoded =
                PageHoles { for_known_visitors: known, holes, why, ..PageHoles::default() }.encode();
            (PageHoles::is_filled(&encoded), PageHoles::why_of(&encoded).is_some())
        };
        assert_eq!(of(false, false, vec![hole(0, 5, None)]), (true, false));
        assert_eq!(of(false, true, vec![hole(0, 5, None)]), (true, true));
        assert_eq!(of(false, true, vec![]), (false, true));
        assert_eq!(of(true, false, vec![hole(0, 5, None)]), (false, false));
        assert!(PageHoles::is_filled(PageHoles::TO_COME) && !PageHoles::is_filled(b""));
    }

    #[test]
    fn holes_that_fit_no_page_are_refused() {
        let bytes = |holes| PageHoles { for_known_visitors: true, holes, ..PageHoles::default() }.encode();
        for holes in [
            vec![hole(8, 3, None)],
            vec![hole(5, 0, None), hole(4, 0, None)],
            vec![hole(2, 3, None), hole(4, 1, None)],
        ] {
            assert_eq!(PageHoles::decode(&bytes(holes), 10), None);
        }
        let whole = bytes(vec![hole(0, 0, Some(b"/b"))]);
        for length in 2..whole.len() {
            assert_eq!(PageHoles::decode(&whole[..length], 10), None, "{length} bytes");
        }
    }
}
