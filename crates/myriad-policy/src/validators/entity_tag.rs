//! The tag of a stored page: one identity, a tag for each encoding.

use myriad_http::accept::Coding;
use myriad_http::conditional::EntityTag as SentTag;

/// An encoding of a page: the coding, and its level, since two levels give different bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Encoding {
    /// The coding.
    pub coding: Coding,
    /// The coding's own level; at most 99, and of no meaning for identity.
    pub level: u8,
}

impl Encoding {
    /// The page as it is.
    pub const IDENTITY: Encoding = Encoding { coding: Coding::Identity, level: 0 };
}

/// The tag by which a stored page is recognised.
///
/// A tag made here is strong and distinct for each encoding, as RFC 9110 §8.8.3.3 wants: identity hash, then coding and
/// level (`"0123456789abcdef-gz5"`). A tag of the origin's stays what it is where its very bytes are served, and is weakened
/// where they are encoded here, as nginx does: a suffix would be strong too, but the origin, asked on a bypass, would
/// not know it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntityTag {
    /// Made from a 64-bit hash of the identity bytes.
    Made(u64),
    /// Sent by the origin.
    Origin {
        /// The bytes between the quotes.
        opaque: Box<[u8]>,
        /// Whether it was weak.
        weak: bool,
        /// Whether it named an encoding that the origin made and that is not kept: then no bytes served here are its.
        undone: bool,
    },
}

impl EntityTag {
    /// A tag for identity bytes that hash to `hash`.
    pub const fn made(hash: u64) -> EntityTag {
        EntityTag::Made(hash)
    }

    /// The origin's `ETag` of an answer that came in `coding`; `None` where it is no entity tag.
    pub fn from_origin(value: &[u8], coding: Coding) -> Option<EntityTag> {
        let tag = SentTag::parse(value.trim_ascii())?;
        Some(EntityTag::Origin {
            opaque: tag.opaque.into(),
            weak: tag.weak,
            undone: coding != Coding::Identity,
        })
    }

    /// The tag as the origin sent it, to ask whether it still holds (RFC 9111 §4.3.1); `None` for a tag made here, which
    /// the origin does not know.
    pub fn for_origin(&self) -> Option<Vec<u8>> {
        let EntityTag::Origin { opaque, weak, .. } = self else { return None };
        let mark: &[u8] = if *weak { b"W/" } else { b"" };
        Some([mark, b"\"", opaque, b"\""].concat())
    }

    /// Appends the `ETag` value for a page served in `encoding`.
    pub fn write(&self, encoding: Encoding, out: &mut Vec<u8>) {
        match self {
            EntityTag::Made(hash) => {
                out.push(b'"');
                out.extend_from_slice(&hexadecimal(*hash));
                if encoding.coding != Coding::Identity {
                    let level = encoding.level.min(99);
                    out.push(b'-');
                    out.extend_from_slice(mark(encoding.coding).as_bytes());
                    if level > 9 {
                        out.push(b'0' + level / 10);
                    }
                    out.push(b'0' + level % 10);
                }
                out.push(b'"');
            }
            EntityTag::Origin { opaque, .. } => {
                if self.is_weak() || encoding.coding != Coding::Identity {
                    out.extend_from_slice(b"W/");
                }
                out.push(b'"');
                out.extend_from_slice(opaque);
                out.push(b'"');
            }
        }
    }

    /// Whether a tag that a client sends names this page, in whatever encoding (RFC 9110 §8.8.3.2, weak comparison).
    pub fn is_same_page(&self, sent: SentTag<'_>) -> bool {
        match self {
            EntityTag::Made(hash) => made_hash(sent.opaque) == Some(*hash),
            EntityTag::Origin { opaque, .. } => **opaque == *sent.opaque,
        }
    }

    /// Whether a tag that a client sends names this page's very bytes in `encoding` (strong comparison).
    pub fn is_exactly(&self, sent: SentTag<'_>, encoding: Encoding) -> bool {
        if sent.weak {
            return false;
        }
        match self {
            EntityTag::Made(_) => {
                let mut own = Vec::with_capacity(24);
                self.write(encoding, &mut own);
                own.len() == sent.opaque.len() + 2 && own[1..own.len() - 1] == *sent.opaque
            }
            EntityTag::Origin { opaque, .. } => {
                !self.is_weak() && encoding.coding == Coding::Identity && **opaque == *sent.opaque
            }
        }
    }

    /// Whether the page's tag is weak in every encoding.
    pub const fn is_weak(&self) -> bool {
        matches!(self, EntityTag::Origin { weak: true, .. } | EntityTag::Origin { undone: true, .. })
    }
}

/// Sixteen digits; `write!` costs ten times as much, on every hit.
fn hexadecimal(hash: u64) -> [u8; 16] {
    std::array::from_fn(|digit| b"0123456789abcdef"[(hash >> (60 - 4 * digit) & 15) as usize])
}

/// The two letters that stand for a coding in a tag.
const fn mark(coding: Coding) -> &'static str {
    match coding {
        Coding::Identity => "",
        Coding::Gzip => "gz",
        Coding::Brotli => "br",
        Coding::Zstd => "zs",
    }
}

/// The hash in a tag of the form that [`EntityTag::write`] gives.
fn made_hash(opaque: &[u8]) -> Option<u64> {
    let (digits, suffix) = opaque.split_first_chunk::<16>()?;
    let known_suffix = match suffix {
        [] => true,
        [b'-', a, b, level @ ..] => {
            let known = [Coding::Gzip, Coding::Brotli, Coding::Zstd].map(|coding| mark(coding).as_bytes());
            known.contains(&&[*a, *b][..])
                && matches!(level.len(), 1..=2)
                && level.iter().all(u8::is_ascii_digit)
        }
        _ => false,
    };
    if !known_suffix {
        return None;
    }
    digits.iter().try_fold(0, |hash: u64, digit| {
        let value = match digit {
            b'0'..=b'9' => digit - b'0',
            b'a'..=b'f' => digit - b'a' + 10,
            _ => return None,
        };
        Some(hash << 4 | u64::from(value))
    })
}
