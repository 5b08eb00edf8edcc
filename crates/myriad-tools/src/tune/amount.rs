//! Formatting and parsing of memory sizes.

/// Number of bytes of a mebibyte.
pub const MIB: u64 = 1 << 20;
/// Number of bytes of a gibibyte.
pub(crate) const GIB: u64 = 1 << 30;

/// Formats a size in bytes in the largest of the units K, M and G that leaves no remainder, otherwise without a unit:
/// `64M`, `2G`, `1000`. PHP, MariaDB, MySQL and nginx accept this form.
pub fn text(bytes: u64) -> String {
    match bytes {
        0 => "0".to_owned(),
        _ if bytes.is_multiple_of(GIB) => format!("{}G", bytes / GIB),
        _ if bytes.is_multiple_of(MIB) => format!("{}M", bytes / MIB),
        _ if bytes.is_multiple_of(1024) => format!("{}K", bytes / 1024),
        _ => bytes.to_string(),
    }
}

/// Formats a size for messages, in mebibytes rounded up.
pub(crate) fn about(bytes: u64) -> String {
    format!("{} MB", bytes.div_ceil(MIB))
}

/// Parses `64M`, `2g`, `1t`, `512k`, `1048576`, also with `B` or `iB` after the unit. Returns `None` for other texts,
/// and for sizes of 2^64 bytes and above.
pub fn parse(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let number: u64 = text.get(..digits)?.parse().ok()?;
    let unit =
        match text.get(digits..)?.trim().to_ascii_lowercase().trim_end_matches("ib").trim_end_matches('b') {
            "" => 1,
            "k" => 1024,
            "m" => MIB,
            "g" => GIB,
            "t" => GIB << 10,
            _ => return None,
        };
    number.checked_mul(unit)
}

/// Returns the largest multiple of `step` that does not exceed `bytes`.
pub(crate) fn down_to(bytes: u64, step: u64) -> u64 {
    bytes / step * step
}

/// Returns the smallest multiple of `step` that is not below `bytes`.
pub(crate) fn up_to(bytes: u64, step: u64) -> u64 {
    bytes.div_ceil(step) * step
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read_as_they_are_written() {
        for bytes in [1, 1023, 1024, 64 * MIB, 3 * GIB, 1536 * MIB] {
            assert_eq!(parse(&text(bytes)), Some(bytes), "{bytes}");
        }
        assert_eq!((text(64 * MIB), text(2 * GIB)), ("64M".to_owned(), "2G".to_owned()));
        for (written, bytes) in
            [("64m", 64 * MIB), ("1 GB", GIB), ("2GiB", 2 * GIB), ("512K", 512 << 10), ("7", 7)]
        {
            assert_eq!(parse(written), Some(bytes), "{written}");
        }
        for bad in ["", "M", "-1", "1.5G", "64X", "99999999999999999999", "99999999999G"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }
}
