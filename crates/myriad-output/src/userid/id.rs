//! Visitor IDs: sixteen bytes, written in base64 in the cookie and in hexadecimal in variables.

use std::io::Write;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use super::settings::UseridMode;

/// Number of base64 letters of an ID. In a cookie, padding or a mark (`userid_mark`) follows.
pub(super) const LETTERS: usize = 22;

const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::RequireNone)
        .with_decode_allow_trailing_bits(true),
);

/// Increment of the counter in visitor IDs; the lowest byte is constant.
const STEP: u32 = 0x100;
/// First values of the counter in visitor IDs: for version 1, and for version 2. As in nginx, no byte of the value for
/// version 2 is zero.
const FIRST: [u32; 2] = [1, 0x0303_0302];

/// Counters in visitor IDs of version 1 and version 2, shared by all workers.
static COUNTS: [AtomicU32; 2] = [AtomicU32::new(FIRST[0]), AtomicU32::new(FIRST[1])];
/// Part of each visitor ID that distinguishes processes: the fraction of the second at the first use, in units of 20
/// µs, and the lower 16 bits of the process ID.
static START: LazyLock<u32> = LazyLock::new(|| {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    ((now.subsec_micros() / 20) << 16) | (std::process::id() & 0xffff)
});

/// ID of a visitor, as stored in the cookie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct VisitorId([u8; 16]);

impl VisitorId {
    /// Creates an ID. `service` is `userid_service`; `address` contains the last four bytes of the server's address,
    /// used by version 2 without `service`.
    pub(super) fn new(gives: UseridMode, service: Option<u32>, address: [u8; 4], now_s: u64) -> Self {
        // The value wraps around in 2106.
        let now = now_s as u32;
        let parts = if gives == UseridMode::FirstVersion {
            let count = COUNTS[0].fetch_add(STEP, Ordering::Relaxed);
            [service.unwrap_or_default(), now, *START, count].map(u32::to_ne_bytes)
        } else {
            let count = next_count(&COUNTS[1]);
            let address = service.map_or(address, u32::to_be_bytes);
            [address, now.to_be_bytes(), START.to_be_bytes(), count.to_be_bytes()]
        };
        let mut bytes = [0; 16];
        bytes.copy_from_slice(parts.as_flattened());
        Self(bytes)
    }

    /// Parses the letters of a cookie; `None` if they are invalid, or if the last four bytes are zero, which no ID has.
    pub(super) fn read(letters: &[u8]) -> Option<Self> {
        let bytes: [u8; 16] = BASE64.decode(letters.get(..LETTERS)?).ok()?.try_into().ok()?;
        (bytes[12..] != [0; 4]).then_some(Self(bytes))
    }

    /// Returns the ID in base64, with padding.
    pub(super) fn letters(self) -> Vec<u8> {
        base64::engine::general_purpose::STANDARD.encode(self.0).into_bytes()
    }

    /// Appends the ID as in variables and logs: four numbers in native byte order, in hexadecimal.
    pub(super) fn write_digits(self, out: &mut Vec<u8>) {
        let (parts, _) = self.0.as_chunks::<4>();
        for part in parts {
            // Writing to memory cannot fail.
            let _ = write!(out, "{:08X}", u32::from_ne_bytes(*part));
        }
    }
}

/// Returns the next value of the counter of version 2, which restarts at its first value after an overflow.
fn next_count(counts: &AtomicU32) -> u32 {
    let step = |count: u32| {
        let next = count.wrapping_add(STEP);
        Some(if next < FIRST[1] { FIRST[1] } else { next })
    };
    counts.fetch_update(Ordering::Relaxed, Ordering::Relaxed, step).unwrap_or(FIRST[1])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digits(id: VisitorId) -> String {
        let mut out = Vec::new();
        id.write_digits(&mut out);
        String::from_utf8(out).expect("digits")
    }

    #[test]
    fn number_is_read_from_the_letters_that_it_has() {
        let id = VisitorId::new(UseridMode::SecondVersion, None, [127, 0, 0, 1], 1_700_000_000);
        let letters = id.letters();
        assert_eq!((letters.len(), &letters[LETTERS..]), (24, &b"=="[..]));
        assert_eq!(VisitorId::read(&letters), Some(id));
        assert_eq!(&id.0[..8], [127, 0, 0, 1, 0x65, 0x53, 0xf1, 0x00]);
        assert_eq!(digits(id)[..8], format!("{:08X}", u32::from_ne_bytes([127, 0, 0, 1])));
        assert_ne!(VisitorId::new(UseridMode::SecondVersion, None, [127, 0, 0, 1], 1_700_000_000), id);
    }

    #[test]
    fn versions_differ_in_where_their_service_stands() {
        assert_eq!(
            digits(VisitorId::new(UseridMode::FirstVersion, None, [1; 4], 5))[..16],
            *"0000000000000005"
        );
        let second = VisitorId::new(UseridMode::SecondVersion, Some(65_534), [1; 4], 5);
        assert_eq!(second.0[..4], [0, 0, 0xff, 0xfe]);
    }

    #[test]
    fn what_is_no_number_is_not_read() {
        for letters in [&b"short"[..], b"AAAAAAAAAAAAAAAAAAAAAA", b"AAAAAAAAAAAAAAAAAA!AAA", b""] {
            assert_eq!(VisitorId::read(letters), None);
        }
    }

    #[test]
    fn sequence_restarts_after_overflow() {
        let counts = AtomicU32::new(u32::MAX - 0x80);
        assert_eq!(next_count(&counts), u32::MAX - 0x80);
        assert_eq!(next_count(&counts), FIRST[1]);
        assert_eq!(next_count(&counts), FIRST[1] + STEP);
    }
}
