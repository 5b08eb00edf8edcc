//! Tags: names that an application assigns to its pages, to purge all pages with a tag.

use myriad_http::{Fields, Known};

use super::label::{self, label};

/// Maximum number of tags of a page or purge that are stored.
const MOST: usize = 512;
/// Maximum total length of the stored tags of a page or purge, in bytes.
const BYTES: usize = 16 << 10;

/// Fields that contain tags, by which pages are purged. By default, they are not sent to clients.
const FIELDS: [Known; 5] =
    [Known::SurrogateKey, Known::CacheTag, Known::XKey, Known::XCacheTags, Known::XLiteSpeedTag];

/// Tags of a response or a purge: at most 512, with at most 16 KB in total.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tags {
    names: Vec<Box<[u8]>>,
    is_truncated: bool,
}

impl Tags {
    /// Collects the tags in the fields of a response or purge request: `Surrogate-Key`, `Cache-Tag`, `xkey`,
    /// `X-Cache-Tags`, `X-LiteSpeed-Tag`. Spaces, tabs and commas separate tags in all fields, because applications use
    /// both.
    pub fn of(fields: &Fields) -> Tags {
        let mut tags = Tags::default();
        for field in FIELDS {
            fields.known_all(field).for_each(|value| tags.add(value));
        }
        tags
    }

    /// Parses a list of tags, separated by spaces, tabs or commas.
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
                self.is_truncated = true;
                return;
            }
            // Most pages have few tags, so a linear search is cheaper than a table.
            if !self.names.iter().any(|known| **known == *name) {
                bytes += name.len();
                self.names.push(name.into());
            }
        }
    }

    /// Returns the tags in the order in which they were collected, without duplicates.
    pub fn names(&self) -> impl Iterator<Item = &[u8]> {
        self.names.iter().map(|name| &**name)
    }

    /// Returns whether the field or list had no tags.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty() && !self.is_truncated
    }

    /// Returns whether the field or list had more tags than the limits allow; the rest was dropped.
    pub fn is_truncated(&self) -> bool {
        self.is_truncated
    }

    /// Label (hash) of pages with more tags than are stored. Every purge of tags covers these pages as well: an
    /// unnecessary fetch is harmless, an outdated page is not.
    pub const OVERFLOWN: u64 = label::OVERFLOWN;

    /// Returns the label of a tag: the hash by which purges find its pages.
    pub fn label(tag: &[u8]) -> u64 {
        label(b't', &[tag])
    }

    /// Returns whether a response field contains tags or is one of LiteSpeed's cache fields. By default, clients do not
    /// receive them.
    pub fn is_field(known: Known) -> bool {
        use Known::{XLiteSpeedCacheControl, XLiteSpeedPurge, XLiteSpeedVary};
        FIELDS.contains(&known) || matches!(known, XLiteSpeedPurge | XLiteSpeedCacheControl | XLiteSpeedVary)
    }
}
