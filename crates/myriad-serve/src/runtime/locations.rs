//! Which location serves a URI: nginx's order of exact, prefix and regex locations, nested ones included.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use myriad_script::{EvalError, Frame, Regex};

use super::PlaceId;

/// The locations of a server, or those nested in one location.
#[derive(Default)]
pub(crate) struct Locations {
    exact: HashMap<Box<[u8]>, PlaceId, RandomState>,
    /// Longest first, so that the first that fits is the longest.
    prefixes: Vec<Prefix>,
    /// In source order.
    regexes: Vec<Pattern>,
    named: HashMap<Box<[u8]>, PlaceId, RandomState>,
}

struct Prefix {
    text: Box<[u8]>,
    place: PlaceId,
    /// `^~`.
    no_regex: bool,
    /// The location's content comes from an origin: its URI without the last slash is redirected to it.
    redirects_bare: bool,
    nested: Locations,
}

struct Pattern {
    regex: Regex,
    place: PlaceId,
    nested: Locations,
}

/// What a search found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// A location.
    Place(PlaceId),
    /// The URI lacks only the slash at the end of this location's prefix: redirect.
    AddSlash(PlaceId),
    /// No location: the server's own settings hold.
    None,
}

impl Locations {
    /// Adds `location = /path`.
    pub(crate) fn add_exact(&mut self, path: &[u8], place: PlaceId) {
        self.exact.insert(path.into(), place);
    }

    /// Adds `location /path` or `location ^~ /path`.
    pub(crate) fn add_prefix(
        &mut self,
        path: &[u8],
        place: PlaceId,
        no_regex: bool,
        redirects_bare: bool,
        nested: Locations,
    ) {
        let at = self.prefixes.partition_point(|known| known.text.len() >= path.len());
        self.prefixes.insert(at, Prefix { text: path.into(), place, no_regex, redirects_bare, nested });
    }

    /// Adds a regex location.
    pub(crate) fn add_regex(&mut self, regex: Regex, place: PlaceId, nested: Locations) {
        self.regexes.push(Pattern { regex, place, nested });
    }

    /// Adds a named location, with its `@`.
    pub(crate) fn add_named(&mut self, name: &[u8], place: PlaceId) {
        self.named.insert(name.into(), place);
    }

    /// A named location.
    pub(crate) fn named(&self, name: &[u8]) -> Option<PlaceId> {
        self.named.get(name).copied()
    }

    /// Whether every regex location is without captures, so that a search has no effect but its result.
    pub(crate) fn is_pure(&self) -> bool {
        self.regexes.iter().all(|pattern| !pattern.regex.has_captures() && pattern.nested.is_pure())
            && self.prefixes.iter().all(|prefix| prefix.nested.is_pure())
    }

    /// The location for a URI. Captures of a regex location go to the frame.
    pub(crate) fn find(&self, uri: &[u8], frame: &mut Frame) -> Result<Found, EvalError> {
        if !self.exact.is_empty()
            && let Some(&place) = self.exact.get(uri)
        {
            return Ok(Found::Place(place));
        }
        let prefix = self.prefixes.iter().find(|prefix| uri.starts_with(&prefix.text));
        if let Some(bare) = self.prefixes.iter().find(|prefix| is_bare(prefix, uri))
            && prefix.is_none_or(|prefix| prefix.text.len() < bare.text.len())
        {
            return Ok(Found::AddSlash(bare.place));
        }
        if let Some(prefix) = prefix {
            let nested = prefix.nested.find(uri, frame)?;
            if nested != Found::None {
                return Ok(nested);
            }
        }
        if prefix.is_none_or(|prefix| !prefix.no_regex) {
            for pattern in &self.regexes {
                if pattern.regex.matches(uri, frame)? {
                    return Ok(match pattern.nested.find(uri, frame)? {
                        Found::None => Found::Place(pattern.place),
                        nested => nested,
                    });
                }
            }
        }
        Ok(prefix.map_or(Found::None, |prefix| Found::Place(prefix.place)))
    }
}

fn is_bare(prefix: &Prefix, uri: &[u8]) -> bool {
    prefix.redirects_bare && prefix.text.strip_suffix(b"/").is_some_and(|bare| bare == uri)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_beats_longest_prefix_beats_shorter() {
        let mut locations = Locations::default();
        locations.add_prefix(b"/", 1, false, false, Locations::default());
        locations.add_prefix(b"/a/", 2, false, true, Locations::default());
        locations.add_exact(b"/a/b", 3);
        let mut frame = Frame::new();
        let mut find = |uri: &[u8]| locations.find(uri, &mut frame).unwrap();
        assert_eq!(find(b"/a/b"), Found::Place(3));
        assert_eq!(find(b"/a/c"), Found::Place(2));
        assert_eq!(find(b"/a"), Found::AddSlash(2));
        assert_eq!(find(b"/x"), Found::Place(1));
        assert_eq!(find(b"x"), Found::None);
    }
}
