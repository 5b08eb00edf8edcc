//! Selection of the location for a URI, in nginx's order of exact, prefix and regex locations, including nested
//! locations.

use std::collections::HashMap;

use crate::{EvalError, Frame, Regex};
use foldhash::fast::RandomState;

/// Number of a location, assigned by the embedder.
type PlaceId = u32;

/// Locations of a server, or those nested in a location. After [`Self::shrink_to_fit`], lists have their exact size. An
/// empty value does not allocate.
#[derive(Default)]
pub struct Locations {
    exact: NamedPlaces,
    /// Prefix locations, the longest first, so that the first match is the longest.
    prefixes: Vec<PrefixLocation>,
    /// Regex locations, in the order of the configuration.
    regexes: Vec<RegexLocation>,
    named: NamedPlaces,
}

/// Locations by exact URI or by name; `None` if there are none.
type NamedPlaces = Option<Box<HashMap<Box<[u8]>, PlaceId, RandomState>>>;

/// Nested locations; `None` if there are none.
type Nested = Option<Box<Locations>>;

struct PrefixLocation {
    text: Box<[u8]>,
    nested: Nested,
    place: PlaceId,
    /// True for `location ^~`: if this prefix is the longest that matches, the regex locations of the same level are
    /// not tried.
    no_regex: bool,
    /// True if the content of the location comes from an origin: a URI that lacks only the trailing slash of the prefix
    /// is then redirected.
    redirects_bare: bool,
}

struct RegexLocation {
    regex: Regex,
    nested: Nested,
    place: PlaceId,
}

/// Result of the search for a location.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LocationMatch {
    /// Number of the location that applies.
    Place(PlaceId),
    /// The URI lacks only the trailing slash of this location's prefix, and must be redirected.
    AddSlash(PlaceId),
    /// No location matches: the settings of the server apply.
    None,
}

/// Result of the search among the locations of one level.
enum LevelMatch {
    /// Result that outer levels cannot change.
    Final(LocationMatch),
    /// Longest matching prefix, which a regex of an outer level overrides.
    Prefix(PlaceId),
    Nothing,
}

impl Locations {
    /// Adds `location = /path`; replaces a location with the same path.
    pub fn add_exact(&mut self, path: &[u8], place: PlaceId) {
        self.exact.get_or_insert_default().insert(path.into(), place);
    }

    /// Adds `location /path` or, with `no_regex`, `location ^~ /path`. `redirects_bare` is true for a location whose
    /// content comes from an origin. Of equal prefixes, the first one added applies.
    pub fn add_prefix(
        &mut self,
        path: &[u8],
        place: PlaceId,
        no_regex: bool,
        redirects_bare: bool,
        nested: Locations,
    ) {
        let at = self.prefixes.partition_point(|known| known.text.len() >= path.len());
        let nested = nested.into_nested();
        self.prefixes
            .insert(at, PrefixLocation { text: path.into(), place, no_regex, redirects_bare, nested });
    }

    /// Adds a regex location. Regex locations are tried in the order in which they are added.
    pub fn add_regex(&mut self, regex: Regex, place: PlaceId, nested: Locations) {
        self.regexes.push(RegexLocation { regex, place, nested: nested.into_nested() });
    }

    /// Adds a named location; `name` includes the `@`. Replaces one with the same name.
    pub fn add_named(&mut self, name: &[u8], place: PlaceId) {
        self.named.get_or_insert_default().insert(name.into(), place);
    }

    /// Releases unused capacity of the lists, once all locations are added.
    pub fn shrink_to_fit(&mut self) {
        self.prefixes.shrink_to_fit();
        self.regexes.shrink_to_fit();
        self.exact.iter_mut().chain(&mut self.named).for_each(|names| names.shrink_to_fit());
    }

    fn into_nested(mut self) -> Nested {
        self.shrink_to_fit();
        let Self { exact, prefixes, regexes, named } = &self;
        let is_empty = exact.is_none() && prefixes.is_empty() && regexes.is_empty() && named.is_none();
        (!is_empty).then(|| Box::new(self))
    }

    /// Returns the location with this name, which includes the `@`; `None` if it does not exist.
    pub fn named(&self, name: &[u8]) -> Option<PlaceId> {
        self.named.as_ref()?.get(name).copied()
    }

    /// Returns whether no regex location has captures, so that a search stores none in the frame.
    pub fn is_pure(&self) -> bool {
        let is_pure = |nested: &Nested| nested.as_ref().is_none_or(|nested| nested.is_pure());
        self.regexes.iter().all(|pattern| !pattern.regex.has_captures() && is_pure(&pattern.nested))
            && self.prefixes.iter().all(|prefix| is_pure(&prefix.nested))
    }

    /// Returns the location for a URI. A matching regex location stores its captures in the frame.
    pub fn find(&self, uri: &[u8], frame: &mut Frame) -> Result<LocationMatch, EvalError> {
        Ok(match self.search(uri, frame)? {
            LevelMatch::Final(found) => found,
            LevelMatch::Prefix(place) => LocationMatch::Place(place),
            LevelMatch::Nothing => LocationMatch::None,
        })
    }

    /// Searches this level and those nested in it, as nginx does. A prefix at any depth has lower priority than the
    /// regexes of the levels around it; all other results are final. `^~` excludes only the regexes of its own level.
    fn search(&self, uri: &[u8], frame: &mut Frame) -> Result<LevelMatch, EvalError> {
        if let Some(exact) = &self.exact
            && let Some(&place) = exact.get(uri)
        {
            return Ok(LevelMatch::Final(LocationMatch::Place(place)));
        }
        let prefix = self.prefixes.iter().find(|prefix| uri.starts_with(&prefix.text));
        if let Some(bare) = self.prefixes.iter().find(|prefix| is_bare(prefix, uri))
            // As in nginx, a location whose prefix equals the URI takes precedence over the redirect.
            && prefix.is_none_or(|prefix| prefix.text.len() < uri.len())
        {
            return Ok(LevelMatch::Final(LocationMatch::AddSlash(bare.place)));
        }
        let nested = match prefix.and_then(|prefix| prefix.nested.as_ref()) {
            Some(nested) => nested.search(uri, frame)?,
            None => LevelMatch::Nothing,
        };
        if matches!(nested, LevelMatch::Final(_)) {
            return Ok(nested);
        }
        if prefix.is_none_or(|prefix| !prefix.no_regex) {
            for pattern in &self.regexes {
                if pattern.regex.matches(uri, frame)? {
                    let nested = pattern.nested.as_ref().map(|nested| nested.find(uri, frame)).transpose()?;
                    return Ok(LevelMatch::Final(match nested {
                        None | Some(LocationMatch::None) => LocationMatch::Place(pattern.place),
                        Some(nested) => nested,
                    }));
                }
            }
        }
        Ok(match (nested, prefix) {
            (LevelMatch::Nothing, Some(prefix)) => LevelMatch::Prefix(prefix.place),
            (nested, _) => nested,
        })
    }
}

fn is_bare(prefix: &PrefixLocation, uri: &[u8]) -> bool {
    prefix.redirects_bare && prefix.text.strip_suffix(b"/").is_some_and(|bare| bare == uri)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct EmptyCatalogue;

    impl crate::Catalogue for EmptyCatalogue {
        fn builtin(&mut self, _: &str) -> Option<(crate::Builtin, crate::VariableRole)> {
            None
        }
    }

    #[test]
    fn exact_beats_longest_prefix_beats_shorter() {
        let mut locations = Locations::default();
        locations.add_prefix(b"/", 1, false, false, Locations::default());
        locations.add_prefix(b"/a/", 2, false, true, Locations::default());
        locations.add_exact(b"/a/b", 3);
        let mut frame = Frame::new();
        let mut find = |uri: &[u8]| locations.find(uri, &mut frame).unwrap();
        assert_eq!(find(b"/a/b"), LocationMatch::Place(3));
        assert_eq!(find(b"/a/c"), LocationMatch::Place(2));
        assert_eq!(find(b"/a"), LocationMatch::AddSlash(2));
        assert_eq!(find(b"/x"), LocationMatch::Place(1));
        assert_eq!(find(b"x"), LocationMatch::None);
    }

    #[test]
    fn uri_that_lacks_a_slash_is_of_the_location_that_is_called_so() {
        let place = || Locations::default();
        let mut locations = Locations::default();
        locations.add_prefix(b"/", 1, false, false, place());
        locations.add_prefix(b"/app/", 2, false, true, place());
        locations.add_prefix(b"/ap", 3, false, false, place());
        let find = |locations: &Locations| locations.find(b"/app", &mut Frame::new()).unwrap();
        assert_eq!(find(&locations), LocationMatch::AddSlash(2), "a shorter name is another one");
        locations.add_prefix(b"/app", 4, false, false, place());
        assert_eq!(find(&locations), LocationMatch::Place(4));
        let mut compiler = crate::Compiler::new(EmptyCatalogue);
        locations.add_regex(compiler.regex("^/app$", false).unwrap(), 5, place());
        assert_eq!(find(&locations), LocationMatch::Place(5), "as any prefix, it gives way to a regex");
    }

    #[test]
    fn no_regex_prefix_skips_regexes_only_if_longest() {
        let mut compiler = crate::Compiler::new(EmptyCatalogue);
        let mut locations = Locations::default();
        locations.add_prefix(b"/files/", 1, true, false, Locations::default());
        locations.add_prefix(b"/files/scripts/", 2, false, false, Locations::default());
        locations.add_regex(compiler.regex(r"\.(php)$", false).unwrap(), 3, Locations::default());
        locations.add_regex(compiler.regex(r"\.(ph)p$", false).unwrap(), 4, Locations::default());
        let mut frame = Frame::new();
        assert_eq!(locations.find(b"/files/x.php", &mut frame).unwrap(), LocationMatch::Place(1));
        assert_eq!(frame.capture(1), None, "no regex was tried");
        assert_eq!(locations.find(b"/files/scripts/x.php", &mut frame).unwrap(), LocationMatch::Place(3));
        assert_eq!(
            frame.capture(1),
            Some(&b"php"[..]),
            "the first regex that fits is the last that is tried"
        );
        assert!(!locations.is_pure(), "what a URI captures has to be captured each time");
    }

    #[test]
    fn nested_prefix_gives_way_to_the_regexes_around_it_and_all_else_is_final() {
        let mut compiler = crate::Compiler::new(EmptyCatalogue);
        let mut regex = |pattern| compiler.regex(pattern, false).unwrap();
        let mut inner = Locations::default();
        inner.add_prefix(b"/n/uploads/", 2, false, false, Locations::default());
        inner.add_prefix(b"/n/closed/", 3, true, false, Locations::default());
        inner.add_prefix(b"/n/app/", 4, false, true, Locations::default());
        inner.add_exact(b"/n/one.php", 5);
        inner.add_regex(regex(r"\.php7$"), 6, Locations::default());
        let mut shut = Locations::default();
        shut.add_prefix(b"/s/deep/", 8, false, false, Locations::default());
        let mut locations = Locations::default();
        locations.add_prefix(b"/n/", 1, false, false, inner);
        locations.add_prefix(b"/s/", 7, true, false, shut);
        locations.add_regex(regex(r"\.php7?$|app$"), 9, Locations::default());
        let mut frame = Frame::new();
        let mut find = |uri: &[u8]| locations.find(uri, &mut frame).unwrap();
        assert_eq!(find(b"/n/x.php"), LocationMatch::Place(9));
        assert_eq!(find(b"/n/uploads/x.php"), LocationMatch::Place(9));
        assert_eq!(find(b"/n/uploads/x"), LocationMatch::Place(2));
        assert_eq!(
            find(b"/n/closed/x.php7"),
            LocationMatch::Place(9),
            "`^~` closes off the regexes of its own level only"
        );
        assert_eq!(find(b"/n/uploads/x.php7"), LocationMatch::Place(6));
        assert_eq!(find(b"/n/one.php"), LocationMatch::Place(5));
        assert_eq!(find(b"/n/app"), LocationMatch::AddSlash(4));
        assert_eq!(find(b"/s/deep/x.php"), LocationMatch::Place(8));
        assert_eq!(find(b"/s/x.php"), LocationMatch::Place(7));
        assert_eq!(find(b"/y"), LocationMatch::None);
    }
}
