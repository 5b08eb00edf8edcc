//! Formatting of numbers for people.

pub(super) fn at_least(weight: u64, over: u64) -> String {
    if over == 0 { count(weight) } else { format!(">{}", count(weight - over)) }
}

/// Formats a number with separators: `1,234,567`.
pub(super) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

pub(super) fn short(number: u64) -> String {
    if number < 10_000 { count(number) } else { format!("{}k", number / 1000) }
}

pub(super) fn percent(part: u64, all: u64) -> String {
    if all == 0 { "-".to_owned() } else { format!("{:.1} %", 100.0 * part as f64 / all as f64) }
}

pub(super) fn bytes(count: u64) -> String {
    const UNITS: [&str; 6] = ["", "K", "M", "G", "T", "P"];
    let (mut value, mut unit) = (count as f64, 0);
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 { count.to_string() } else { format!("{value:.1}{}", UNITS[unit]) }
}

pub(super) fn duration(ms: f64) -> String {
    match ms {
        ..1.0 => format!("{ms:.1}ms"),
        ..1000.0 => format!("{ms:.0}ms"),
        ..60_000.0 => format!("{:.1}s", ms / 1000.0),
        ..3_600_000.0 => format!("{}m{:02}s", (ms / 60_000.0) as u64, (ms / 1000.0) as u64 % 60),
        _ => format!("{}h{:02}m", (ms / 3_600_000.0) as u64, (ms / 60_000.0) as u64 % 60),
    }
}
