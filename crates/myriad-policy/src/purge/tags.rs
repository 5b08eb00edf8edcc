//! Tags: names that an application gives to its pages, to purge all that bear one.

use myriad_http::{Fields, Known};

use super::label::{self, label};

/// Most tags of one page.
const MOST: usize = 512;
/// Most bytes of all tags of one page.
const BYTES: usize = 16 << 10;

/// Fields that name the tags of an answer; none of them is sent to visitors.
const FIELDS: [Known; 5] =
    [Known::SurrogateKey, Known::CacheTag, Known::XKey, Known::XCacheTags, Known::XLiteSpeedTag];

/// The tags of one answer, or of a purge.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tags {
    names: Vec<Box<[u8]>>,
    overflown: bool,
}

impl Tags {
    /// Reads the tags of an answer: `Surrogate-Key`, `Cache-Tag`, `xkey`, `X-Cache-Tags`, `X-LiteSpeed-Tag`. Some separate
    /// with blanks, some with commas, whatever the field; no tag holds either.
    pub fn of(fields: &Fields) -> Tags {
        let mut tags = Tags::default();
        for field in FIELDS {
            fields.known_all(field).for_each(|value| tags.add(value));
        }
        tags
    }

    /// Reads one list of tags.
    pub fn parse(list: &[u8]) -> Tags {
        let mut tags = Tags::default();
        tags.add(list);
        tags
    }

    pub(super) fn add(&mut self, list: &[u8]) {
        let mut bytes: usize = self.names.iter().map(|name| name.len()).sum();
        let names = list.split(|byte| matches!(byte, b' ' | b'\t' | b',')).filter(|name| !name.is_empty());
        for name in names {
            if self.names.len() == MOST || bytes + name.len() > BYTES {
                self.overflown = true;
                return;
            }
            // Most pages bear a few tags: a search costs less than a table.
            if !self.names.iter().any(|known| **known == *name) {
                bytes += name.len();
                self.names.push(name.into());
            }
        }
    }

    /// The names, in order, each once.
    pub fn names(&self) -> impl Iterator<Item = &[u8]> {
        self.names.iter().map(|name| &**name)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty() && !self.overflown
    }

    /// Whether there were more than are kept.
    pub fn overflown(&self) -> bool {
        self.overflown
    }

    /// The label of pages that bear more tags than are kept. A purge of tags covers these pages as well: one page too many is
    /// fetched anew, but one too few would stay old.
    pub const OVERFLOWN: u64 = label::OVERFLOWN;

    /// The label of a tag.
    pub fn label(tag: &[u8]) -> u64 {
        label(b't', &[tag])
    }

    /// Whether a field names tags, or tells a cache of LiteSpeed something else: such fields are not sent to visitors.
    pub fn is_field(known: Known) -> bool {
        use Known::{XLiteSpeedCacheControl, XLiteSpeedPurge, XLiteSpeedVary};
        FIELDS.contains(&known) || matches!(known, XLiteSpeedPurge | XLiteSpeedCacheControl | XLiteSpeedVary)
    }
}
