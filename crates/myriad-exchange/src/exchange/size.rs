//! Parsing of sizes and numbers in evaluated texts.

/// Parses a size in nginx's notation (`10k`, `1m`, `1g`; in either case) and returns it in bytes; `None` if the text is
/// not a size, or if the size exceeds 64 bits.
pub fn parse_size(text: &[u8]) -> Option<u64> {
    let (digits, unit) = match text.split_last()? {
        (b'k' | b'K', digits) => (digits, 1 << 10),
        (b'm' | b'M', digits) => (digits, 1 << 20),
        (b'g' | b'G', digits) => (digits, 1 << 30),
        _ => (text, 1),
    };
    parse_digits(digits)?.checked_mul(unit)
}

/// Parses a number that consists only of digits (RFC 9110 section 8.6). Returns `None` for other texts, including those
/// with a sign, and for numbers above 64 bits.
pub fn parse_digits(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0_u64, |number, byte| {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 { None } else { number.checked_mul(10)?.checked_add(digit.into()) }
    })
}

#[cfg(test)]
mod tests {
    use super::{parse_digits, parse_size};

    #[test]
    fn numbers_are_digits_alone_and_fit_into_64_bits() {
        let most = u64::MAX.to_string();
        assert_eq!(parse_digits(most.as_bytes()), Some(u64::MAX));
        assert_eq!(parse_digits(b"007"), Some(7));
        for text in ["", "+1", "-1", " 1", "1 ", "1:", "1/", "18446744073709551616", "99999999999999999999"] {
            assert_eq!(parse_digits(text.as_bytes()), None, "{text}");
        }
    }

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
