//! Formatting of sizes, counts and times for columns.

/// Formats a size in bytes, from 1000 bytes on in units of 1024: `512`, `41.2K`, `3.4M`, `1.0G`, at most six
/// characters.
pub fn size(bytes: u64) -> String {
    if bytes < 1000 {
        return bytes.to_string();
    }
    let mut value = bytes as f64 / 1024.0;
    for unit in ["K", "M", "G", "T", "P"] {
        if value < 999.95 {
            return format!("{value:.1}{unit}");
        }
        value /= 1024.0;
    }
    format!("{value:.0}E")
}

/// Formats a count with separators: `1,234,567`.
pub fn count(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats a duration in milliseconds: `0s`, `47s`, `3m12s`, `5h02m`, `12d4h`, `3.2y`; at most six characters for less
/// than 1,000 years.
pub fn duration(ms: u64) -> String {
    let seconds = ms / 1000;
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    if minutes == 0 {
        format!("{seconds}s")
    } else if hours == 0 {
        format!("{minutes}m{:02}s", seconds % 60)
    } else if days == 0 {
        format!("{hours}h{:02}m", minutes % 60)
    } else if days < 100 {
        format!("{days}d{}h", hours % 24)
    } else if days < 1000 {
        format!("{days}d")
    } else {
        format!("{:.1}y", days as f64 / 365.25)
    }
}

/// Formats a time in milliseconds since the epoch: `2026-11-21 07:55:01 UTC`.
pub(super) fn moment(ms: u64) -> String {
    let text = myriad_base::calendar::format_time_iso8601(ms / 1000, 0);
    let part = |range: std::ops::Range<usize>| String::from_utf8_lossy(&text[range]).into_owned();
    format!("{} {} UTC", part(0..10), part(11..19))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_short_at_every_magnitude() {
        let sizes = [0, 999, 1000, 1024, 42_188, 1 << 20, 1_048_575, 1 << 30, u64::MAX];
        let texts = sizes.map(size);
        assert_eq!(texts[..6], ["0", "999", "1.0K", "1.0K", "41.2K", "1.0M"]);
        assert!(texts.iter().all(|text| text.len() <= 6), "{texts:?}");
    }

    #[test]
    fn counts_have_thousands_separators() {
        assert_eq!([0, 999, 1000, 1_234_567].map(count), ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn durations_are_short_at_every_length() {
        let seconds = [0, 47, 192, 18_120, 1_051_200, 86_400 * 400, 86_400 * 1200];
        let texts = seconds.map(|seconds: u64| duration(seconds * 1000));
        assert_eq!(texts, ["0s", "47s", "3m12s", "5h02m", "12d4h", "400d", "3.3y"]);
    }

    #[test]
    fn moments_are_in_utc() {
        assert_eq!(moment(1_795_219_201_999), "2026-11-21 00:00:01 UTC");
    }
}
