//! `Accept-Encoding` (RFC 9110 §12.5.3), and the content codings that Myriad generates.

/// Content coding of a body that Myriad sends or stores, or none (RFC 9110 §8.4.1, RFC 7932, RFC 8878).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Coding {
    /// `identity`: the body is not encoded.
    #[default]
    Identity = 0,
    /// `gzip`, also called `x-gzip`.
    Gzip = 1,
    /// Brotli, named `br` in `Content-Encoding`.
    Brotli = 2,
    /// Zstandard, named `zstd` in `Content-Encoding`.
    Zstd = 3,
}

impl Coding {
    /// Returns the bit that represents this coding in a set of codings, as passed to [`AcceptEncoding::best`].
    pub const fn bit(self) -> u8 {
        1 << self as u8
    }

    /// Returns the name used in `Content-Encoding`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Identity => "identity",
            Self::Gzip => "gzip",
            Self::Brotli => "br",
            Self::Zstd => "zstd",
        }
    }
}

/// Qualities that a client assigns to the content codings in `Accept-Encoding`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AcceptEncoding {
    quality: [u16; 4],
}

impl AcceptEncoding {
    /// Parses the value of `Accept-Encoding`; an empty value only accepts identity.
    ///
    /// A coding that the value does not name has the quality of `*`, or 0 without `*`. Identity is acceptable unless
    /// the value contains `identity;q=0`, or `*;q=0` without `identity` (RFC 9110 §12.5.3). A malformed weight counts
    /// as 0. If a coding or `*` is named several times, the highest weight counts.
    pub fn parse(value: &[u8]) -> Self {
        match value {
            b"gzip, deflate, br, zstd" => return Self { quality: [IDENTITY_UNNAMED, 1000, 1000, 1000] },
            b"gzip, deflate, br" | b"br, gzip, deflate" => {
                return Self { quality: [IDENTITY_UNNAMED, 1000, 1000, 0] };
            }
            b"gzip" | b"gzip, deflate" | b"deflate, gzip" => {
                return Self { quality: [IDENTITY_UNNAMED, 1000, 0, 0] };
            }
            _ => {}
        }
        let mut named = [None; 4];
        let mut others = None;
        for item in value.split(|&byte| byte == b',') {
            let end = item.iter().position(|&byte| byte == b';').unwrap_or(item.len());
            let (name, parameters) = item.split_at(end);
            let slot = match slot_of(name.trim_ascii()) {
                Some(CodingSlot::Coding(coding)) => &mut named[coding as usize],
                Some(CodingSlot::Others) => &mut others,
                None => continue,
            };
            let quality = parse_weight(parameters);
            // A coding can be named twice (`x-gzip` and `gzip` are the same coding): the higher weight counts.
            *slot = Some(slot.map_or(quality, |before: u16| before.max(quality)));
        }
        let identity = match (named[0], others) {
            (Some(quality), _) => quality,
            (None, Some(0)) => 0,
            (None, _) => IDENTITY_UNNAMED,
        };
        let others = others.unwrap_or(0);
        Self {
            quality: [
                identity,
                named[1].unwrap_or(others),
                named[2].unwrap_or(others),
                named[3].unwrap_or(others),
            ],
        }
    }

    /// Returns the qualities for a request without `Accept-Encoding`: only identity is acceptable, as in nginx.
    pub const fn absent() -> Self {
        Self { quality: [1000, 0, 0, 0] }
    }

    /// Returns the quality of `coding` in thousandths; 0 means "not acceptable".
    ///
    /// If `Accept-Encoding` exists, but neither names identity nor contains `*;q=0`, the quality of identity is 1
    /// thousandth: identity is acceptable, but almost every other acceptable coding is preferred.
    pub fn quality(self, coding: Coding) -> u16 {
        self.quality[coding as usize]
    }

    /// Returns the coding of highest quality in `available`, a set of [`Coding::bit`]s; `None` if none is acceptable.
    ///
    /// Of codings with equal quality, the first in `preference` is returned; codings that are not in `preference` are
    /// never returned.
    #[inline]
    pub fn best(self, available: u8, preference: &[Coding]) -> Option<Coding> {
        let mut best = None;
        let mut highest = 0;
        for &coding in preference {
            let quality = self.quality(coding);
            if available & coding.bit() != 0 && quality > highest {
                highest = quality;
                best = Some(coding);
            }
        }
        best
    }
}

/// Quality of identity, in thousandths, if `Accept-Encoding` permits identity without naming it.
const IDENTITY_UNNAMED: u16 = 1;

enum CodingSlot {
    Coding(Coding),
    /// `*`: every coding that the value does not name.
    Others,
}

fn slot_of(name: &[u8]) -> Option<CodingSlot> {
    let is = |coding: &[u8]| name.eq_ignore_ascii_case(coding);
    match name.len() {
        1 if name == b"*" => Some(CodingSlot::Others),
        2 if is(b"br") => Some(CodingSlot::Coding(Coding::Brotli)),
        4 if is(b"gzip") => Some(CodingSlot::Coding(Coding::Gzip)),
        4 if is(b"zstd") => Some(CodingSlot::Coding(Coding::Zstd)),
        6 if is(b"x-gzip") => Some(CodingSlot::Coding(Coding::Gzip)),
        8 if is(b"identity") => Some(CodingSlot::Coding(Coding::Identity)),
        _ => None,
    }
}

/// Returns the `q` parameter of a coding in thousandths; 1000 if it is missing, 0 if it is malformed.
fn parse_weight(parameters: &[u8]) -> u16 {
    for parameter in parameters.split(|&byte| byte == b';').map(<[u8]>::trim_ascii) {
        if let [b'q' | b'Q', rest @ ..] = parameter
            && let [b'=', value @ ..] = rest.trim_ascii_start()
        {
            return parse_quality(value.trim_ascii()).unwrap_or(0);
        }
    }
    1000
}

/// Parses a weight such as `0.123` into thousandths (RFC 9110 §12.4.2): at most three decimals, and at most 1. `None`
/// if it is malformed.
fn parse_quality(value: &[u8]) -> Option<u16> {
    let (whole, decimals) = match value {
        [whole] | [whole, b'.'] => (whole, &[][..]),
        [whole, b'.', decimals @ ..] if decimals.len() <= 3 => (whole, decimals),
        _ => return None,
    };
    let mut thousandths = match whole {
        b'0' => 0,
        b'1' => 1000,
        _ => return None,
    };
    let mut place = 100;
    for digit in decimals {
        if !digit.is_ascii_digit() {
            return None;
        }
        thousandths += u16::from(digit - b'0') * place;
        place /= 10;
    }
    (thousandths <= 1000).then_some(thousandths)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: u8 = 0b1111;
    const PREFERENCE: [Coding; 4] = [Coding::Zstd, Coding::Brotli, Coding::Gzip, Coding::Identity];

    fn best(value: &str) -> Option<Coding> {
        AcceptEncoding::parse(value.as_bytes()).best(ALL, &PREFERENCE)
    }

    #[test]
    fn browsers_get_the_best_coding_by_our_preference() {
        assert_eq!(best("gzip, deflate, br, zstd"), Some(Coding::Zstd));
        assert_eq!(best("gzip, deflate, br"), Some(Coding::Brotli));
        assert_eq!(best("gzip, deflate"), Some(Coding::Gzip));
        assert_eq!(best("deflate"), Some(Coding::Identity));
        assert_eq!(best(""), Some(Coding::Identity));
    }

    #[test]
    fn the_usual_values_are_read_as_the_long_way_reads_them() {
        for value in
            ["gzip, deflate, br, zstd", "gzip, deflate, br", "br, gzip, deflate", "gzip", "gzip, deflate"]
        {
            let long = format!("{value} ,");
            assert_eq!(
                AcceptEncoding::parse(value.as_bytes()),
                AcceptEncoding::parse(long.as_bytes()),
                "{value}"
            );
        }
    }

    #[test]
    fn the_higher_quality_wins_over_our_preference() {
        assert_eq!(best("br;q=0.5, gzip;q=0.9"), Some(Coding::Gzip));
        assert_eq!(best("br;q=0.5, gzip;q=0.5"), Some(Coding::Brotli));
        assert_eq!(best("gzip;q=0.2, identity;q=0.8"), Some(Coding::Identity));
        assert_eq!(best("gzip;q=0.001"), Some(Coding::Gzip));
    }

    #[test]
    fn quality_zero_refuses() {
        assert_eq!(best("gzip;q=0"), Some(Coding::Identity));
        assert_eq!(best("gzip;q=0.000, *"), Some(Coding::Zstd));
        assert_eq!(AcceptEncoding::parse(b"gzip;q=0, *").quality(Coding::Gzip), 0);
        assert_eq!(best("identity;q=0"), None);
        assert_eq!(best("*;q=0"), None);
        assert_eq!(best("gzip, *;q=0"), Some(Coding::Gzip));
        assert_eq!(best("gzip, identity;q=0"), Some(Coding::Gzip));
        assert_eq!(best("*;q=0, identity;q=0.1"), Some(Coding::Identity));
        assert_eq!(
            AcceptEncoding::parse(b"identity;q=0, br").best(Coding::Identity.bit(), &PREFERENCE),
            None
        );
    }

    #[test]
    fn a_star_stands_for_what_is_not_named() {
        assert_eq!(best("*"), Some(Coding::Zstd));
        assert_eq!(best("zstd;q=0.1, *;q=0.5"), Some(Coding::Brotli));
    }

    #[test]
    fn x_gzip_and_gzip_are_one() {
        assert_eq!(best("X-GZIP"), Some(Coding::Gzip));
        assert_eq!(AcceptEncoding::parse(b"x-gzip;q=0.3, gzip;q=0.7").quality(Coding::Gzip), 700);
    }

    #[test]
    fn only_what_is_available_is_chosen() {
        let accept = AcceptEncoding::parse(b"gzip, br, zstd");
        assert_eq!(accept.best(Coding::Gzip.bit() | Coding::Identity.bit(), &PREFERENCE), Some(Coding::Gzip));
        assert_eq!(accept.best(Coding::Identity.bit(), &PREFERENCE), Some(Coding::Identity));
        assert_eq!(accept.best(0, &PREFERENCE), None);
    }

    #[test]
    fn absence_of_the_field_means_identity() {
        assert_eq!(AcceptEncoding::absent().best(ALL, &PREFERENCE), Some(Coding::Identity));
    }

    #[test]
    fn malformed_weights_refuse_and_odd_spelling_is_read() {
        for weight in ["2", "1.001", "0.1234", "-1", "abc", "", ".5", "0.5x", "00"] {
            assert_eq!(best(&format!("gzip;q={weight}")), Some(Coding::Identity), "{weight}");
        }
        assert_eq!(best("gzip ; Q = 0.5"), Some(Coding::Gzip));
        assert_eq!(best("gzip;level=1;q=0"), Some(Coding::Identity));
        assert_eq!(best("gzip;q=1."), Some(Coding::Gzip));
        assert_eq!(best("notgzip, gzipx, brotli"), Some(Coding::Identity));
    }
}
