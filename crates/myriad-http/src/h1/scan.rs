//! Search for delimiters in heads of HTTP/1 messages, eight bytes at a time. Heads are short, so the start-up cost of a
//! vector routine would exceed its benefit.

use crate::eight_bytes::{below, equal};

/// Returns the first position in `buf` from `at` whose byte `found` marks; the length of `buf` if none. `found`
/// receives eight bytes as a word, and marks bytes by their high bits.
#[inline]
fn scan(buf: &[u8], mut at: usize, found: impl Fn(u64) -> u64) -> usize {
    while let Some(chunk) = buf.get(at..).and_then(<[u8]>::first_chunk::<8>) {
        let marks = found(u64::from_le_bytes(*chunk));
        if marks != 0 {
            return at + (marks.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    while let Some(&byte) = buf.get(at) {
        // The other seven bytes of the word are full stops, which no search looks for.
        if found(u64::from(byte) | 0x2E2E_2E2E_2E2E_2E00) & 0x80 != 0 {
            return at;
        }
        at += 1;
    }
    buf.len()
}

/// Returns the position of the first control byte (including tabs and DEL) from `at`, or the length of `buf`.
#[inline]
pub(super) fn find_control(buf: &[u8], at: usize) -> usize {
    scan(buf, at, |word| below(word, 0x20) | equal(word, 0x7F))
}

/// Returns the position of the first space or control byte from `at`, or the length of `buf`.
#[inline]
pub(super) fn find_space_or_control(buf: &[u8], at: usize) -> usize {
    scan(buf, at, |word| below(word, 0x21) | equal(word, 0x7F))
}

/// Returns the position of the first colon or line feed from `at`, or the length of `buf`.
#[inline]
pub(super) fn find_colon_or_line_feed(buf: &[u8], at: usize) -> usize {
    scan(buf, at, |word| equal(word, b':') | equal(word, b'\n'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_classified_at_every_place_in_a_word() {
        for length in 1..20 {
            for place in 0..length {
                for byte in 0..=255_u8 {
                    let mut buf = vec![b'a'; length];
                    buf[place] = byte;
                    let expect = |hit: bool| if hit { place } else { length };
                    assert_eq!(find_control(&buf, 0), expect(byte < 0x20 || byte == 0x7F));
                    assert_eq!(find_space_or_control(&buf, 0), expect(byte <= 0x20 || byte == 0x7F));
                    assert_eq!(find_colon_or_line_feed(&buf, 0), expect(byte == b':' || byte == b'\n'));
                }
            }
        }
    }

    #[test]
    fn random_bytes_are_scanned_as_one_by_one() {
        let mut random = fastrand::Rng::with_seed(1);
        for _ in 0..20_000 {
            let buf: Vec<u8> = (0..random.usize(..40))
                .map(|_| *random.choice(b"\x00\t\n\r !:a~\x7F\x80\xFF").unwrap())
                .collect();
            let at = random.usize(..=buf.len());
            let naive = |hit: fn(u8) -> bool| (at..buf.len()).find(|&at| hit(buf[at])).unwrap_or(buf.len());
            assert_eq!(find_control(&buf, at), naive(|byte| byte < 0x20 || byte == 0x7F));
            assert_eq!(find_space_or_control(&buf, at), naive(|byte| byte <= 0x20 || byte == 0x7F));
            assert_eq!(find_colon_or_line_feed(&buf, at), naive(|byte| byte == b':' || byte == b'\n'));
        }
    }
}
