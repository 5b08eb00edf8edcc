//! Entity tag of a stored page: one stored identity from which the tag of each encoding is derived.

use myriad_http::accept::Coding;
use myriad_http::conditional::EntityTag as SentTag;

/// Encoding of a page: the coding and its compression level, because two levels yield different bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PageEncoding {
    /// Content coding of the page.
    pub coding: Coding,
    /// Compression level of the coding; at most 99, and ignored for identity.
    pub level: u8,
}

impl PageEncoding {
    /// Identity: the page without any coding.
    pub const IDENTITY: PageEncoding = PageEncoding { coding: Coding::Identity, level: 0 };
}

/// Entity tag of a stored page.
///
/// Generated tags are strong and distinct for each encoding, as RFC 9110 §8.8.3.3 requires: a hash of the unencoded
/// bytes, then coding and level (`"0123456789abcdef-gz5"`). A tag of the origin is unchanged if its exact bytes are
/// served, and weak if Myriad encodes them, as in nginx. A suffix would permit a strong tag, but the origin would not
/// recognize it on a bypass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntityTag {
    /// Tag generated from a 64-bit hash of the unencoded bytes.
    Generated(u64),
    /// Tag sent by the origin.
    Origin {
        /// Bytes between the quotes of the origin's tag.
        opaque: Box<[u8]>,
        /// True if the origin sent a weak tag.
        weak: bool,
        /// True if the tag belongs to a coding by the origin that was removed before storing, so that it is weak for
        /// all bytes that are served.
        undone: bool,
    },
}

impl EntityTag {
    /// Creates the tag of a page whose unencoded bytes have this hash.
    pub const fn generated(hash: u64) -> EntityTag {
        EntityTag::Generated(hash)
    }

    /// Parses the `ETag` of an origin's response in `coding`; `None` if it is not a valid entity tag.
    pub fn from_origin(value: &[u8], coding: Coding) -> Option<EntityTag> {
        let tag = SentTag::parse(value.trim_ascii())?;
        Some(EntityTag::Origin {
            opaque: tag.opaque.into(),
            weak: tag.weak,
            undone: coding != Coding::Identity,
        })
    }

    /// Returns the tag as sent by the origin, for a conditional request (RFC 9111 §4.3.1); `None` for a generated tag,
    /// which the origin does not recognize.
    pub fn for_origin(&self) -> Option<Vec<u8>> {
        let EntityTag::Origin { opaque, weak, .. } = self else { return None };
        let mark: &[u8] = if *weak { b"W/" } else { b"" };
        Some([mark, b"\"", opaque, b"\""].concat())
    }

    /// Appends the `ETag` value of the page in `encoding` to `out`.
    pub fn write(&self, encoding: PageEncoding, out: &mut Vec<u8>) {
        match self {
            EntityTag::Generated(hash) => {
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

    /// Returns whether a tag sent by a client belongs to this page in any encoding (RFC 9110 §8.8.3.2, weak
    /// comparison).
    pub fn is_same_page(&self, sent: SentTag<'_>) -> bool {
        match self {
            EntityTag::Generated(hash) => generated_hash(sent.opaque) == Some(*hash),
            EntityTag::Origin { opaque, .. } => **opaque == *sent.opaque,
        }
    }

    /// Returns whether a tag sent by a client belongs to the exact bytes of this page in `encoding` (strong
    /// comparison).
    pub fn is_exactly(&self, sent: SentTag<'_>, encoding: PageEncoding) -> bool {
        if sent.weak {
            return false;
        }
        match self {
            EntityTag::Generated(_) => {
                let mut own = Vec::with_capacity(24);
                self.write(encoding, &mut own);
                own.len() == sent.opaque.len() + 2 && own[1..own.len() - 1] == *sent.opaque
            }
            EntityTag::Origin { opaque, .. } => {
                !self.is_weak() && encoding.coding == Coding::Identity && **opaque == *sent.opaque
            }
        }
    }

    /// Returns whether the page's tag is weak in every encoding.
    pub const fn is_weak(&self) -> bool {
        matches!(self, EntityTag::Origin { weak: true, .. } | EntityTag::Origin { undone: true, .. })
    }
}

/// Returns the hash as sixteen hexadecimal digits. `write!` is ten times slower, and this runs on every hit.
fn hexadecimal(hash: u64) -> [u8; 16] {
    std::array::from_fn(|digit| b"0123456789abcdef"[(hash >> (60 - 4 * digit) & 15) as usize])
}

/// Returns the two letters that identify a coding in a generated tag, such as `gz`; empty for identity.
const fn mark(coding: Coding) -> &'static str {
    match coding {
        Coding::Identity => "",
        Coding::Gzip => "gz",
        Coding::Brotli => "br",
        Coding::Zstd => "zs",
    }
}

/// Parses the hash in a generated tag, as written by [`EntityTag::write`]; `None` if `opaque` does not have that form.
fn generated_hash(opaque: &[u8]) -> Option<u64> {
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
