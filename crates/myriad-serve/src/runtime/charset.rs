//! Charsets that the configuration names, and the tables between them.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;

/// From which charset to which, lower case.
type Way = (Box<[u8]>, Box<[u8]>);

/// What `charset_map` knows.
#[derive(Default)]
pub(crate) struct Charsets {
    /// Charsets that the configuration names, lower case.
    pub known: Vec<Box<[u8]>>,
    /// Tables by the charsets that they lead from and to.
    pub tables: HashMap<Way, Recode>,
}

impl Charsets {
    /// Whether the configuration names it; only then is it known what lies between it and another.
    pub(crate) fn knows(&self, name: &[u8]) -> bool {
        self.known.iter().any(|known| known.eq_ignore_ascii_case(name))
    }

    /// The table from one to the other.
    pub(crate) fn table(&self, from: &[u8], to: &[u8]) -> Option<&Recode> {
        self.tables.get(&(from.to_ascii_lowercase().into(), to.to_ascii_lowercase().into()))
    }
}

/// How bytes of one charset become those of another.
#[derive(Clone)]
pub(crate) enum Recode {
    /// A byte is a byte.
    Bytes(Arc<[u8; 256]>),
    /// A byte becomes a character.
    ToUtf8(Arc<[Box<[u8]>; 256]>),
    /// A character becomes a byte; one that is not here becomes its number.
    FromUtf8(Arc<HashMap<u32, u8, RandomState>>),
}

impl Recode {
    /// Whether the length stays what it was.
    pub(crate) fn keeps_length(&self) -> bool {
        matches!(self, Self::Bytes(_))
    }

    /// The tables there and back. What is not in `pairs` becomes `?`, ASCII stays.
    pub(crate) fn between_bytes(pairs: &[(u8, Vec<u8>)]) -> [Self; 2] {
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

    /// As [`between_bytes`](Self::between_bytes), where the other charset is UTF-8.
    pub(crate) fn with_utf8(pairs: &[(u8, Vec<u8>)]) -> [Self; 2] {
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
