//! Output of `myriad cache leaks`: a line for each finding.

use super::amount::{count, duration};
use crate::protocol::monitoring::LeakReport;

/// Returns the line of a finding of the leak guard.
pub fn leak(report: &LeakReport) -> String {
    let age = duration(report.now_ms.saturating_sub(report.at_ms));
    let left = report.until_ms.saturating_sub(report.now_ms);
    let difference =
        if report.difference.is_empty() { String::new() } else { format!(": {}", report.difference) };
    let end = if left > 0 { format!(", not stored for {}", duration(left)) } else { String::new() };
    format!(
        "{age:>8} ago  {:>5} x  {:<11}  {}: {}{difference}{end}",
        count(report.count),
        report.state,
        report.page,
        report.what
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finding_is_one_line() {
        let mut report = LeakReport {
            at_ms: 60_000,
            page: "example.org/account".into(),
            what: "value of the request's cookie \"name\" in the body".into(),
            state: "confirmed".into(),
            until_ms: 180_000,
            count: 3,
            now_ms: 120_000,
            ..LeakReport::default()
        };
        let line = leak(&report);
        for part in [
            "3 x",
            "confirmed",
            "example.org/account: value of the request's cookie \"name\" in the body, not stored for ",
        ] {
            assert!(line.contains(part), "{line}");
        }
        report.difference = "\"H…, M…\" instead of \"H…, g…\"".into();
        assert!(leak(&report).contains("in the body: \"H…, M…\" instead of \"H…, g…\", not stored for "));
        report.now_ms = 180_000;
        assert!(!leak(&report).contains("not stored"));
    }
}
