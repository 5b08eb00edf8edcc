//! Parsers of numbers that consist only of digits. `str::parse` and `from_str_radix` also accept a sign, which HTTP,
//! nginx's language and most other formats do not allow.

use std::str::FromStr;

/// Parses a number that consists only of decimal digits. Returns `None` for an empty text, any other character (also a
/// sign), and a number that is too large for `T`.
pub fn decimal<T: FromStr>(text: impl AsRef<[u8]>) -> Option<T> {
    let text = text.as_ref();
    let is_number = text.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(text).ok().filter(|_| is_number)?.parse().ok()
}

/// Parses a number that consists only of hexadecimal digits in either case, without a prefix. Returns `None` for an
/// empty text, any other character (also a sign), and a number that is too large for `T`.
pub fn hexadecimal<T: TryFrom<u128>>(text: impl AsRef<[u8]>) -> Option<T> {
    let text = text.as_ref();
    let is_number = text.iter().all(u8::is_ascii_hexdigit);
    let digits = std::str::from_utf8(text).ok().filter(|_| is_number)?;
    T::try_from(u128::from_str_radix(digits, 16).ok()?).ok()
}

/// Parses a number of decimal digits with at most one decimal point, such as `12`, `0.5` or `.5`. Returns `None` for any
/// other text, also with a sign or an exponent.
pub fn decimal_fraction(text: impl AsRef<[u8]>) -> Option<f64> {
    let text = text.as_ref();
    let is_number = text.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.');
    std::str::from_utf8(text).ok().filter(|_| is_number)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_digits_are_accepted() {
        assert_eq!(decimal::<u8>("255"), Some(255));
        assert_eq!(decimal::<u16>(b"0080"), Some(80));
        for text in ["", "+1", "-1", " 1", "1 ", "256", "1.0", "١"] {
            assert_eq!(decimal::<u8>(text), None, "{text}");
        }
    }

    #[test]
    fn only_hexadecimal_digits_are_accepted() {
        assert_eq!(hexadecimal::<u8>("fF"), Some(255));
        assert_eq!(hexadecimal::<u128>("f".repeat(32)), Some(u128::MAX));
        for text in ["", "+a", "-a", "0xa", "100", "g"] {
            assert_eq!(hexadecimal::<u8>(text), None, "{text}");
        }
    }

    #[test]
    fn fractions_have_neither_sign_nor_exponent() {
        assert_eq!((decimal_fraction("0.5"), decimal_fraction(".5")), (Some(0.5), Some(0.5)));
        assert_eq!(decimal_fraction("12"), Some(12.0));
        for text in ["", ".", "+1", "-1", "1e3", "inf", "NaN", "1.2.3", "1%"] {
            assert_eq!(decimal_fraction(text), None, "{text}");
        }
    }
}
