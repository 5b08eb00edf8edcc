//! `Accept-Encoding` (RFC 9110 §12.5.3).

/// A content coding that a stored page may have (RFC 9110 §8.4.1, RFC 7932, RFC 8878).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Coding {
    /// No coding.
    Identity = 0,
    /// `gzip`, also called `x-gzip`.
    Gzip = 1,
    /// `br`.
    Brotli = 2,
    /// `zstd`.
    Zstd = 3,
}

impl Coding {
    /// The bit of this coding in a set of available codings.
    pub const fn bit(self) -> u8 {
        1 << self as u8
    }

    /// The name in `Content-Encoding`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Identity => "identity",
            Self::Gzip => "gzip",
            Self::Brotli => "br",
            Self::Zstd => "zstd",
        }
    }
}

/// The quality that a client gives to each coding, in thousandths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AcceptEncoding {
    quality: [u16; 4],
}

impl AcceptEncoding {
    /// Reads a field value; an empty one accepts only identity.
    pub fn parse(_value: &[u8]) -> Self {
        Self { quality: [1000, 0, 0, 0] }
    }

    /// What a request without the field accepts here: identity alone, as nginx has it.
    pub const fn absent() -> Self {
        Self { quality: [1000, 0, 0, 0] }
    }

    /// The quality of `coding` in thousandths; 0 is "not acceptable".
    pub fn quality(self, coding: Coding) -> u16 {
        self.quality[coding as usize]
    }

    /// The coding of highest quality among the set `available` of [`Coding::bit`]s; equals are settled by
    /// `preference`, first is best. `None` when nothing that is available is acceptable.
    pub fn best(self, _available: u8, _preference: &[Coding]) -> Option<Coding> {
        None
    }
}
