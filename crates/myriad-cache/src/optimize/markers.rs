//! Markers in the text of a page for its ESI holes, so that their positions are known after the page was changed.
//!
//! A marker is a word that does not occur in the page. The optimizer leaves words as they are, in text, attributes and
//! scripts alike.

use myriad_optimize::PLACE_MARKER;
use myriad_script::esi::PageHoles;

/// Page with markers at its ESI holes.
pub(super) struct MarkedPage {
    /// Text of the page with a marker before and after the fallback text of each hole.
    pub text: Vec<u8>,
    holes: Option<PageHoles>,
    word: String,
}

impl MarkedPage {
    /// Inserts markers into a page. `cut` is the stored data about its holes. Returns `None` if this data is damaged.
    pub(super) fn new(text: &[u8], cut: &[u8]) -> Option<Self> {
        if cut.is_empty() {
            return Some(Self { text: text.to_vec(), holes: None, word: String::new() });
        }
        let holes = PageHoles::decode(cut, text.len() as u64)?;
        let word = (0_u32..).map(|number| format!("{PLACE_MARKER}{number}x"));
        let word = word.into_iter().find(|word| memchr::memmem::find(text, word.as_bytes()).is_none())?;
        let mut marked = Vec::with_capacity(text.len() + holes.holes.len() * 64);
        let mut from = 0;
        for (index, hole) in holes.holes.iter().enumerate() {
            let begin = usize::try_from(hole.at).ok()?;
            let end = begin + hole.inline as usize;
            marked.extend_from_slice(&text[from..begin]);
            marked.extend_from_slice(marker(&word, index, false).as_bytes());
            marked.extend_from_slice(&text[begin..end]);
            marked.extend_from_slice(marker(&word, index, true).as_bytes());
            from = end;
        }
        marked.extend_from_slice(&text[from..]);
        Some(Self { text: marked, holes: Some(holes), word })
    }

    /// Returns the word with which all markers begin; `None` for a page without holes.
    pub(super) fn word(&self) -> Option<&str> {
        self.holes.as_ref().map(|_| &*self.word)
    }

    /// Removes the markers from a changed page. Returns the page, and the data about its holes with their new positions;
    /// `None` if a marker is missing, repeated or in another order.
    pub(super) fn unmark(self, changed: &str, cut: &[u8]) -> Option<(String, Vec<u8>)> {
        let Some(mut holes) = self.holes else { return Some((changed.to_owned(), cut.to_vec())) };
        let (mut text, mut rest) = (String::with_capacity(changed.len()), changed);
        for (index, hole) in holes.holes.iter_mut().enumerate() {
            let (before, after) = rest.split_once(&marker(&self.word, index, false))?;
            let (inline, after) = after.split_once(&marker(&self.word, index, true))?;
            text.push_str(before);
            hole.at = text.len() as u64;
            hole.inline = u32::try_from(inline.len()).ok()?;
            text.push_str(inline);
            rest = after;
        }
        text.push_str(rest);
        (!text.contains(&self.word)).then(|| (text, holes.encode()))
    }
}

fn marker(word: &str, index: usize, is_end: bool) -> String {
    format!("{word}{index}{}", if is_end { "end" } else { "begin" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use myriad_script::esi::{EsiInclude, Hole};

    fn cut(places: &[(u64, u32)]) -> Vec<u8> {
        let include = EsiInclude { src: (*b"/part").into(), alt: None, on_error_nothing: false };
        let hole = |(at, inline): &(u64, u32)| Hole { at: *at, inline: *inline, include: include.clone() };
        let holes = places.iter().map(hole).collect();
        PageHoles { for_known_visitors: true, holes, ..PageHoles::default() }.encode()
    }

    #[test]
    fn holes_have_their_new_positions_after_a_change() {
        let (text, data) = ("<p>  Hello, you </p>  <i></i>", cut(&[(12, 3), (25, 0)]));
        let marked = MarkedPage::new(text.as_bytes(), &data).expect("valid");
        let changed = String::from_utf8(marked.text.clone()).expect("UTF-8").replace("  ", " ");
        let (text, data) = marked.unmark(&changed, &data).expect("all markers");
        assert_eq!((text.as_str(), data), ("<p> Hello, you </p> <i></i>", cut(&[(11, 3), (23, 0)])));
    }

    #[test]
    fn page_that_contains_the_word_gets_another_one() {
        let data = cut(&[(1, 1)]);
        let marked = MarkedPage::new(b"a myriadhole0x b", &data).expect("valid");
        let text = String::from_utf8(marked.text.clone()).expect("UTF-8");
        assert_eq!(marked.unmark(&text, &data), Some(("a myriadhole0x b".to_owned(), data.clone())));
    }

    #[test]
    fn lost_repeated_and_exchanged_markers_are_refused() {
        let data = cut(&[(1, 1), (3, 1)]);
        let marked = || MarkedPage::new(b"abcdef", &data).expect("valid");
        let text = String::from_utf8(marked().text).expect("UTF-8");
        let one = marker(&marked().word, 0, false);
        assert_eq!(marked().unmark(&text.replace(&one, ""), &data), None);
        assert_eq!(marked().unmark(&format!("{text}{one}"), &data), None);
        let two = marker(&marked().word, 1, false);
        let exchanged = text.replace(&one, "#").replace(&two, &one).replace('#', &two);
        assert_eq!(marked().unmark(&exchanged, &data), None);
        assert!(MarkedPage::new(b"abc", &data).is_none());
    }
}
