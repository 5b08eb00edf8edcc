//! Parsers for numbers, sizes and times, by nginx's rules. No result exceeds `i64::MAX`.

use std::{fmt, num::IntErrorKind};

/// Reason why a text is not a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberError {
    /// The text does not have the required syntax.
    Invalid,
    /// The number is larger than `i64::MAX`.
    TooLarge,
}

impl fmt::Display for NumberError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Invalid => "invalid",
            Self::TooLarge => "too large",
        })
    }
}

/// Parses a number that consists only of decimal digits, at most `i64::MAX`; returns an error for any other text.
pub fn parse_number(text: &[u8]) -> Result<u64, NumberError> {
    if text.is_empty() || !text.iter().all(u8::is_ascii_digit) {
        return Err(NumberError::Invalid);
    }
    let digits = std::str::from_utf8(text).map_err(|_| NumberError::Invalid)?;
    match digits.parse::<u64>() {
        Ok(number) if i64::try_from(number).is_ok() => Ok(number),
        Ok(_) => Err(NumberError::TooLarge),
        Err(error) if *error.kind() == IntErrorKind::PosOverflow => Err(NumberError::TooLarge),
        Err(_) => Err(NumberError::Invalid),
    }
}

/// Parses a size in bytes: a number, optionally followed by `k`, `m` or `g` in either case (powers of 1024). Returns an
/// error for any other text, and above `i64::MAX` bytes.
pub fn parse_size(text: &[u8]) -> Result<u64, NumberError> {
    let shift = match text.last() {
        Some(b'k' | b'K') => 10,
        Some(b'm' | b'M') => 20,
        Some(b'g' | b'G') => 30,
        _ => 0,
    };
    let digits = if shift == 0 { text } else { &text[..text.len() - 1] };
    let size = parse_number(digits)?.checked_mul(1 << shift).ok_or(NumberError::TooLarge)?;
    i64::try_from(size).map_err(|_| NumberError::TooLarge)?;
    Ok(size)
}

const SECOND: u64 = 1000;
const DAY: u64 = 86_400 * SECOND;
/// Units of time from the largest to the smallest, each with its length in milliseconds.
const UNITS: [(&[u8], u64); 8] = [
    (b"y", 365 * DAY),
    (b"M", 30 * DAY),
    (b"w", 7 * DAY),
    (b"d", DAY),
    (b"h", 3600 * SECOND),
    (b"m", 60 * SECOND),
    (b"s", SECOND),
    (b"ms", 1),
];

/// Parses a time such as `30`, `1h30m`, `1h 30m` or `500ms`, and returns milliseconds. Units must descend. A final
/// number without a unit is in seconds. Returns an error for any other text, and above `i64::MAX` milliseconds.
pub fn parse_millis(text: &[u8]) -> Result<u64, NumberError> {
    let mut rest = text;
    let mut total: u64 = 0;
    let mut next_unit = 0;
    let mut any = false;
    while !rest.is_empty() {
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let value = parse_number(&rest[..digits])?;
        rest = &rest[digits..];
        let unit = rest.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
        let name = if unit == 0 { b"s".as_slice() } else { &rest[..unit] };
        let (index, scale) = unit_of(name).ok_or(NumberError::Invalid)?;
        if index < next_unit {
            return Err(NumberError::Invalid);
        }
        // A number without a unit must be the last.
        next_unit = if unit == 0 { UNITS.len() } else { index + 1 };
        rest = rest[unit..].trim_ascii_start();
        total = value.checked_mul(scale).and_then(|ms| total.checked_add(ms)).ok_or(NumberError::TooLarge)?;
        any = true;
    }
    if !any {
        return Err(NumberError::Invalid);
    }
    i64::try_from(total).map_err(|_| NumberError::TooLarge)?;
    Ok(total)
}

fn unit_of(name: &[u8]) -> Option<(usize, u64)> {
    let index = UNITS.iter().position(|(unit, _)| *unit == name)?;
    Some((index, UNITS[index].1))
}

/// Parses a time, in the syntax of [`parse_millis`], from the value of a variable at run time, and returns
/// milliseconds; `None` if it is invalid.
pub fn parse_time_ms(text: &str) -> Option<u64> {
    parse_millis(text.as_bytes()).ok()
}

/// Parses a time in the syntax of [`parse_millis`], and returns seconds. Returns an error also for the unit `ms`.
pub fn parse_seconds(text: &[u8]) -> Result<u64, NumberError> {
    if text.windows(2).any(|pair| pair == b"ms") {
        return Err(NumberError::Invalid);
    }
    parse_millis(text).map(|ms| ms / SECOND)
}

#[cfg(test)]
mod tests {
    use super::{
        NumberError::{Invalid, TooLarge},
        parse_millis, parse_number, parse_seconds, parse_size,
    };

    #[test]
    fn sizes_take_k_m_g() {
        assert_eq!(parse_size(b"0"), Ok(0));
        assert_eq!(parse_size(b"8k"), Ok(8192));
        assert_eq!(parse_size(b"1M"), Ok(1 << 20));
        assert_eq!(parse_size(b"2g"), Ok(2 << 30));
        for wrong in ["", "k", "1kb", "-1", "1.5m", " 1", "1 k", "0x10"] {
            assert_eq!(parse_size(wrong.as_bytes()), Err(Invalid), "{wrong}");
        }
        assert_eq!(parse_size(b"9223372036854775807g"), Err(TooLarge));
        assert_eq!(parse_size(b"99999999999999999999"), Err(TooLarge));
    }

    #[test]
    fn times_add_up_descending_units() {
        assert_eq!(parse_millis(b"30"), Ok(30_000));
        assert_eq!(parse_millis(b"0"), Ok(0));
        assert_eq!(parse_millis(b"500ms"), Ok(500));
        assert_eq!(parse_millis(b"1h30m"), Ok(5_400_000));
        assert_eq!(parse_millis(b"1h 30m"), Ok(5_400_000));
        assert_eq!(parse_millis(b"1m30"), Ok(90_000));
        assert_eq!(parse_millis(b"1m 5s 7ms"), Ok(65_007));
        assert_eq!(parse_millis(b"1y1M1w1d1h1m1s"), Ok((365 + 30 + 7 + 1) * 86_400_000 + 3_661_000));
        for wrong in ["", "s", "1x", "1m1h", "1s1s", "30 5", "1 5s", "-1", "1h,5m", "1ms1s"] {
            assert_eq!(parse_millis(wrong.as_bytes()), Err(Invalid), "{wrong}");
        }
        assert_eq!(parse_millis(b"9223372036854775807y"), Err(TooLarge));
        assert_eq!(parse_millis(b"9223372036854775y"), Err(TooLarge));
    }

    #[test]
    fn seconds_take_no_milliseconds() {
        assert_eq!(parse_seconds(b"1y"), Ok(31_536_000));
        assert_eq!(parse_seconds(b"5ms"), Err(Invalid));
    }

    #[test]
    fn numbers_are_digits_only() {
        assert_eq!(parse_number(b"007"), Ok(7));
        assert_eq!(parse_number(b"+7"), Err(Invalid));
        assert_eq!(parse_number(b"9223372036854775807"), Ok(i64::MAX as u64));
        assert_eq!(parse_number(b"9223372036854775808"), Err(TooLarge));
    }
}
