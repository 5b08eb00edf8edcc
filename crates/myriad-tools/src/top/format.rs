//! Formats of durations and percentages.

/// Formats a duration in milliseconds for the screen.
pub(super) fn duration(ms: f64) -> String {
    match ms {
        ..10.0 => format!("{ms:.2}ms"),
        ..1000.0 => format!("{ms:.0}ms"),
        _ => format!("{:.1}s", ms / 1000.0),
    }
}

pub(super) fn percent(part: u64, all: u64) -> String {
    if all == 0 { "-".to_owned() } else { format!("{:.1} %", 100.0 * part as f64 / all as f64) }
}
