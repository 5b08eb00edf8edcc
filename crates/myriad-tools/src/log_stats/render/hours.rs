//! Bars of requests by hour.

use std::fmt::Write as _;

use super::format::{count, short};
use super::style::{Color, Style, heading};
use crate::log_stats::report::{HourCounts, LogReport, StatusCounts};
use crate::log_stats::time::shown_hour;

/// Maximum number of rows of the table of requests by hour. For longer time ranges, each row covers several hours.
const MOST_ROWS: u64 = 48;
/// Possible numbers of hours that a row of the table of requests by hour covers; for very long time ranges, a row
/// covers more.
const STEPS: [u64; 9] = [1, 2, 3, 6, 12, 24, 48, 168, 720];

pub(super) fn hours(report: &LogReport, style: &Style) -> String {
    let (step, rows) = steps(&report.hours);
    let Some(most) = rows.iter().map(|row| row.statuses.all()).max().filter(|most| *most > 0) else {
        return String::new();
    };
    let title = if step == 1 { "Requests by hour".to_owned() } else { format!("Requests by {step} hours") };
    let legend = [(Color::Green, "2xx"), (Color::Cyan, "3xx"), (Color::Yellow, "4xx"), (Color::Red, "5xx")];
    let block = if style.has_unicode { "█" } else { "" };
    let marks = if style.has_colors {
        [block; 4]
    } else if style.has_unicode {
        ["█", "▓", "▒", "░"]
    } else {
        ["#", "=", "4", "5"]
    };
    let legend =
        legend.iter().zip(marks).map(|((color, name), mark)| style.paint(*color, &format!("{mark}{name}")));
    let mut out = heading(style, &title);
    out = format!("{}   {}\n", out.trim_end(), legend.collect::<Vec<_>>().join(" "));
    let width = style.width.saturating_sub(16 + 1 + 11 + 1 + 7).clamp(10, 100);
    for row in rows {
        let at = shown_hour(row.begin_s, (style.offset_minutes)(row.begin_s));
        let all = row.statuses.all();
        let bad = row.statuses.server_error;
        let bad =
            if bad == 0 { String::new() } else { style.paint(Color::Red, &format!(" {} 5xx", short(bad))) };
        let bar = bar(row.statuses, most, width, style, marks);
        let _ = writeln!(out, "{}h {:>9} {bar}{bad}", style.paint(Color::Dim, &at), count(all));
    }
    out
}

/// Combines consecutive hours, so that the table has at most [`MOST_ROWS`] rows. Returns the number of hours of a row,
/// and the rows, also those without requests.
fn steps(hours: &[HourCounts]) -> (u64, Vec<HourCounts>) {
    let (Some(first), Some(last)) = (hours.first(), hours.last()) else { return (1, Vec::new()) };
    let span = (last.begin_s - first.begin_s) / 3600 + 1;
    let step =
        STEPS.into_iter().find(|step| span.div_ceil(*step) <= MOST_ROWS).unwrap_or(span.div_ceil(MOST_ROWS));
    let count = span.div_ceil(step);
    let mut rows: Vec<HourCounts> = (0..count)
        .map(|row| HourCounts {
            begin_s: first.begin_s + row * step * 3600,
            statuses: StatusCounts::default(),
        })
        .collect();
    for hour in hours {
        let at = (hour.begin_s - first.begin_s) / 3600 / step;
        if let Some(row) = rows.get_mut(at as usize) {
            let (sum, more) = (&mut row.statuses, hour.statuses);
            sum.ok += more.ok;
            sum.redirected += more.redirected;
            sum.client_error += more.client_error;
            sum.server_error += more.server_error;
            sum.other += more.other;
        }
    }
    (step, rows)
}

fn bar(statuses: StatusCounts, most: u64, width: usize, style: &Style, marks: [&str; 4]) -> String {
    let parts = [
        (Color::Green, statuses.ok + statuses.other),
        (Color::Cyan, statuses.redirected),
        (Color::Yellow, statuses.client_error),
        (Color::Red, statuses.server_error),
    ];
    let (mut out, mut sum, mut drawn) = (String::new(), 0, 0);
    for ((color, part), mark) in parts.into_iter().zip(marks) {
        sum += part;
        let mut end = (sum as f64 * width as f64 / most as f64).round() as usize;
        // A class whose share is rounded to no column gets one, unless the bar is full.
        if part > 0 && end <= drawn && drawn < width {
            end = drawn + 1;
        }
        let mark = if mark.is_empty() { "#" } else { mark };
        out.push_str(&style.paint(color, &mark.repeat(end.saturating_sub(drawn))));
        drawn = drawn.max(end);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_class_of_statuses_has_a_column() {
        let statuses = StatusCounts {
            ok: 1000,
            redirected: 1,
            client_error: 1,
            server_error: 1,
            ..StatusCounts::default()
        };
        let style = Style {
            width: 80,
            has_colors: false,
            has_unicode: false,
            offset_minutes: |_| 0,
            escaped: str::to_owned,
        };
        let text = bar(statuses, 2000, 20, &style, ["o", "r", "c", "s"]);
        assert_eq!(text, "oooooooooorcs");
    }

    #[test]
    fn long_spans_are_shown_in_few_rows() {
        let hour = |begin_h: u64| HourCounts {
            begin_s: begin_h * 3600,
            statuses: StatusCounts { ok: 1, ..StatusCounts::default() },
        };
        for span in [1, 47, 48, 49, 500, 17_000] {
            let hours = [hour(400_000), hour(400_000 + span - 1)];
            let (step, rows) = steps(&hours);
            assert!(rows.len() as u64 <= MOST_ROWS && rows.len() as u64 * step >= span, "{span}");
        }
    }
}
