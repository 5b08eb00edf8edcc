//! Charsets of the configuration, and conversion tables between them.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;
use myriad_conf::model::HttpConf;

use super::settings::{CharsetMaps, CharsetSettings};

/// Names of the source and the target charset, in lower case.
type CharsetPair = (Box<[u8]>, Box<[u8]>);

/// Charsets of a configuration, shared by all locations.
#[derive(Default)]
pub(super) struct Charsets {
    /// Charsets that the configuration names, in lower case.
    names: Vec<Box<[u8]>>,
    /// Tables of `charset_map` by source and target charset.
    tables: HashMap<CharsetPair, ConversionTable>,
}

impl Charsets {
    /// Collects the charsets that the configuration names without variables, and builds the tables of each
    /// `charset_map` in both directions.
    pub(super) fn of(http: &HttpConf) -> Self {
        let mut charsets = Self::default();
        for map in CharsetMaps::of(http) {
            let [there, back] = if map.is_to_utf8() {
                ConversionTable::with_utf8(&map.pairs)
            } else {
                ConversionTable::between_bytes(&map.pairs)
            };
            let (from, to) = (lower(map.from.as_bytes()), lower(map.to.as_bytes()));
            charsets.names.extend([from.clone(), to.clone()]);
            charsets.tables.insert((from.clone(), to.clone()), there);
            charsets.tables.insert((to, from), back);
        }
        for settings in http.levels() {
            let charset = settings.feature::<CharsetSettings>();
            let written = [&charset.name, &charset.source].into_iter().flatten();
            let plain = written.filter(|name| !name.has_variables());
            for name in plain.map(|name| lower(name.bytes())) {
                if !charsets.names.contains(&name) {
                    charsets.names.push(name);
                }
            }
        }
        charsets
    }

    /// Returns whether the configuration names a charset, ignoring letter case.
    pub(super) fn contains(&self, name: &[u8]) -> bool {
        self.names.iter().any(|known| known.eq_ignore_ascii_case(name))
    }

    /// Returns the table from one charset to another; `None` if no `charset_map` connects them.
    pub(super) fn table(&self, from: &[u8], to: &[u8]) -> Option<&ConversionTable> {
        self.tables.get(&(lower(from), lower(to)))
    }
}

fn lower(name: &[u8]) -> Box<[u8]> {
    name.to_ascii_lowercase().into()
}

/// Conversion table between two charsets.
#[derive(Clone)]
pub(super) enum ConversionTable {
    /// From a single-byte charset to another.
    Bytes(Arc<[u8; 256]>),
    /// From a single-byte charset to UTF-8.
    ToUtf8(Arc<[Box<[u8]>; 256]>),
    /// From UTF-8 to a single-byte charset, by code point. Missing characters become numeric HTML entities.
    FromUtf8(Arc<HashMap<u32, u8, RandomState>>),
}

impl ConversionTable {
    /// Returns whether a converted text has the same length as before.
    pub(super) fn preserves_length(&self) -> bool {
        matches!(self, Self::Bytes(_))
    }

    /// Builds the tables of both directions between two single-byte charsets. Of the bytes that are not in `pairs`,
    /// ASCII is unchanged, and others become `?`.
    pub(super) fn between_bytes(pairs: &[(u8, Vec<u8>)]) -> [Self; 2] {
        let mut there = [b'?'; 256];
        for byte in 0..128u8 {
            there[usize::from(byte)] = byte;
        }
        let mut back = there;
        for (from, to) in pairs {
            let to = to.first().copied().unwrap_or(b'?');
            there[usize::from(*from)] = to;
            back[usize::from(to)] = *from;
        }
        [Self::Bytes(Arc::new(there)), Self::Bytes(Arc::new(back))]
    }

    /// Like [`between_bytes`](Self::between_bytes), with UTF-8 as the second charset.
    pub(super) fn with_utf8(pairs: &[(u8, Vec<u8>)]) -> [Self; 2] {
        let mut there: [Box<[u8]>; 256] = std::array::from_fn(|byte| {
            let byte = u8::try_from(byte).ok().filter(u8::is_ascii).unwrap_or(b'?');
            [byte][..].into()
        });
        let mut back = HashMap::default();
        for (from, to) in pairs {
            there[usize::from(*from)] = to.as_slice().into();
            if let Some(character) = std::str::from_utf8(to).ok().and_then(|text| text.chars().next()) {
                back.insert(u32::from(character), *from);
            }
        }
        [Self::ToUtf8(Arc::new(there)), Self::FromUtf8(Arc::new(back))]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_found_in_both_directions_whatever_the_letters_are() {
        let mut charsets = Charsets::default();
        let [there, back] = ConversionTable::with_utf8(&[(0xc1, "а".into())]);
        charsets.tables.insert((lower(b"KOI8-R"), lower(b"UTF-8")), there);
        charsets.tables.insert((lower(b"UTF-8"), lower(b"KOI8-R")), back);
        assert!(matches!(charsets.table(b"Koi8-R", b"utf-8"), Some(ConversionTable::ToUtf8(_))));
        assert!(matches!(charsets.table(b"utf-8", b"koi8-r"), Some(ConversionTable::FromUtf8(_))));
        assert!(charsets.table(b"koi8-r", b"koi8-r").is_none());
    }

    #[test]
    fn only_bytes_for_bytes_keep_the_length() {
        assert!(
            ConversionTable::between_bytes(&[(0xe1, vec![0xc1])])
                .iter()
                .all(ConversionTable::preserves_length)
        );
        assert!(
            !ConversionTable::with_utf8(&[(0xc1, "а".into())]).iter().any(ConversionTable::preserves_length)
        );
    }

    #[test]
    fn charset_is_known_in_any_case() {
        let charsets = Charsets { names: vec![lower(b"UTF-8")], ..Charsets::default() };
        assert!(charsets.contains(b"Utf-8") && !charsets.contains(b"utf-16"));
    }
}
