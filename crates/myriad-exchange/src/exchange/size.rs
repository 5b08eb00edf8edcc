//! Sizes as texts with variables come to them.

/// Reads a size as nginx writes it (`10k`, `1m`), bytes; none where it is no size.
pub fn parse_size(text: &[u8]) -> Option<u64> {
    let (digits, unit) = match text.split_last()? {
        (b'k' | b'K', digits) => (digits, 1 << 10),
        (b'm' | b'M', digits) => (digits, 1 << 20),
        (b'g' | b'G', digits) => (digits, 1 << 30),
        _ => (text, 1),
    };
    parse_digits(digits)?.checked_mul(unit)
}

/// Reads a number of digits alone (RFC 9110 section 8.6), where `str::parse` would take a sign as well; none where it is no
/// such number, or more than 64 bits.
pub fn parse_digits(text: &[u8]) -> Option<u64> {
    let digits = text.iter().all(u8::is_ascii_digit).then_some(text)?;
    std::str::from_utf8(digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::parse_size;

    #[test]
    fn sizes_have_one_unit_or_none() {
        let sizes = [&b"0"[..], b"10", b"2k", b"3M", b"1g"].map(parse_size);
        assert_eq!(sizes, [Some(0), Some(10), Some(2048), Some(3 << 20), Some(1 << 30)]);
    }

    #[test]
    fn what_is_no_size_or_too_large_is_none() {
        for text in [&b""[..], b"k", b"1kk", b"-1", b"+1", b" 1", b"17179869184g"] {
            assert_eq!(parse_size(text), None, "{}", text.escape_ascii());
        }
    }
}
