//! Output of reports in a terminal: tables and bars that fit its width.

use std::fmt::Write as _;

use crate::log_stats::report::LogReport;

mod format;
mod hours;
mod style;
mod table;

use format::{at_least, bytes, count, duration, percent};
use hours::hours;
pub use style::Style;
use style::{Color, cut, heading};
use table::{Align, ReportTable};

/// Section of a report about log files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportSection {
    /// Number of requests and bytes, statuses, share of cache hits, durations, and number of error log lines.
    Summary,
    /// Requests by status class (2xx, 4xx, ...) and hour.
    Hours,
    /// Table of the most requested pages.
    Pages,
    /// Pages with the longest total time.
    Slow,
    /// Pages with the most cache misses.
    Missed,
    /// Client addresses with the most requests.
    Floods,
    /// Errors of the error log, and remedies.
    Errors,
}

impl ReportSection {
    /// All sections, in the order in which a report shows them.
    pub const ALL: [Self; 7] =
        [Self::Summary, Self::Hours, Self::Pages, Self::Slow, Self::Missed, Self::Floods, Self::Errors];
}

/// Renders the given sections of a report. Omits sections without data; if the log format lacks a variable that a
/// section needs, the section contains its name.
pub fn render(report: &LogReport, questions: &[ReportSection], style: &Style) -> String {
    let mut out = String::new();
    for question in questions {
        let text = match question {
            ReportSection::Summary => summary(report, style),
            ReportSection::Hours => hours(report, style),
            ReportSection::Pages => pages(report, style),
            ReportSection::Slow => slow(report, style),
            ReportSection::Missed => missed(report, style),
            ReportSection::Floods => floods(report, style),
            ReportSection::Errors => errors(report, style),
        };
        if !text.is_empty() {
            out.push_str(if out.is_empty() { "" } else { "\n" });
            out.push_str(&text);
        }
    }
    out
}

/// Joins the parts that are not empty with two spaces, wrapped at the width of the terminal, with a line break at the
/// end. Lines after the first are indented.
fn wrapped(style: &Style, parts: &[String]) -> String {
    let (mut out, mut column) = (String::new(), 0);
    for part in parts.iter().filter(|part| !part.is_empty()) {
        let width = part.chars().count();
        if column > 0 && column + 2 + width > style.width {
            out.push_str("\n  ");
            column = 2;
        } else if column > 0 {
            out.push_str("  ");
            column += 2;
        }
        out.push_str(part);
        column += width;
    }
    out.push('\n');
    out
}

fn summary(report: &LogReport, style: &Style) -> String {
    let mut out = String::new();
    if report.requests > 0 {
        let span = format!("from {} to {}", style.time(report.first_s), style.time(report.last_s));
        out.push_str(&heading(style, &format!("{} requests", count(report.requests))));
        out.push_str(&wrapped(style, &[span, format!("{} sent", bytes(report.bytes))]));
        let s = report.statuses;
        let part = |name: &str, n: u64| {
            if n == 0 {
                String::new()
            } else {
                format!("{name} {} ({})", count(n), percent(n, report.requests))
            }
        };
        out.push_str(&wrapped(
            style,
            &[
                part("2xx", s.ok),
                part("3xx", s.redirected),
                part("4xx", s.client_error),
                part("5xx", s.server_error),
                part("other", s.other),
            ],
        ));
        if let Some(cache) = &report.cache {
            let asked: u64 = cache[..6].iter().map(|(_, n)| n).sum();
            let hits: u64 = cache[..4].iter().map(|(_, n)| n).sum();
            let mut parts = vec![format!("from the cache {}", percent(hits, asked))];
            parts.extend(
                cache
                    .iter()
                    .filter(|(name, n)| *n > 0 && *name != "other")
                    .map(|(name, n)| format!("{name} {}", count(*n))),
            );
            out.push_str(&wrapped(style, &parts));
        }
        if let Some(took) = report.times {
            let parts = [
                ("50 % within", took.p50_ms),
                ("95 % within", took.p95_ms),
                ("99 % within", took.p99_ms),
                ("slowest", took.max_ms),
            ];
            out.push_str(&wrapped(style, &parts.map(|(name, ms)| format!("{name} {}", duration(ms)))));
        }
    }
    if report.error_lines > 0 {
        out.push_str(&wrapped(style, &[format!("{} error log lines", count(report.error_lines))]));
    }
    if report.unread > 0 {
        let text =
            format!("{} lines could not be parsed: specify their format with --format", count(report.unread));
        let _ = writeln!(out, "{}", style.paint(Color::Yellow, &text));
    }
    out
}

fn pages(report: &LogReport, style: &Style) -> String {
    let mut table = ReportTable::new(
        "Most requested",
        &[
            ("REQUESTS", Align::Right),
            ("SHARE", Align::Right),
            ("SENT", Align::Right),
            ("4xx 5xx", Align::Right),
            ("PAGE", Align::Rest),
        ],
    );
    for row in &report.pages {
        table.row([
            at_least(row.requests, row.over),
            percent(row.requests, report.requests),
            bytes(row.bytes),
            count(row.errors),
            (style.escaped)(&row.page),
        ]);
    }
    table.render(style)
}

fn slow(report: &LogReport, style: &Style) -> String {
    let title = "Slowest pages, by total time";
    if report.slow.is_empty() {
        return missing_variable_note(report, style, title, "$request_time");
    }
    let mut table = ReportTable::new(
        title,
        &[
            ("TOTAL", Align::Right),
            ("REQUESTS", Align::Right),
            ("MEAN", Align::Right),
            ("95 %", Align::Right),
            ("SLOWEST", Align::Right),
            ("PAGE", Align::Rest),
        ],
    );
    for row in &report.slow {
        table.row([
            duration(row.total_ms),
            count(row.requests),
            duration(row.took.mean_ms),
            duration(row.took.p95_ms),
            duration(row.took.max_ms),
            (style.escaped)(&row.page),
        ]);
    }
    table.render(style)
}

fn missed(report: &LogReport, style: &Style) -> String {
    let title = "Most cache misses";
    if report.missed.is_empty() {
        let has_cache_status = report.cache.is_some();
        return if has_cache_status {
            String::new()
        } else {
            missing_variable_note(report, style, title, "$upstream_cache_status")
        };
    }
    let mut table = ReportTable::new(
        title,
        &[
            ("MISSED", Align::Right),
            ("MISS", Align::Right),
            ("EXPIRED", Align::Right),
            ("BYPASS", Align::Right),
            ("PAGE", Align::Rest),
        ],
    );
    for row in &report.missed {
        table.row([
            at_least(row.missed, row.over),
            count(row.miss),
            count(row.expired),
            count(row.bypass),
            (style.escaped)(&row.page),
        ]);
    }
    table.render(style)
}

fn missing_variable_note(report: &LogReport, style: &Style, title: &str, variable: &str) -> String {
    if report.requests == 0 {
        return String::new();
    }
    let mut out = heading(style, title);
    for text in [
        format!("  not available in this format: log {variable}"),
        "  (`access_log FILE json` contains it)".to_owned(),
    ] {
        out.push_str(&style.paint(Color::Dim, &cut(&text, style.width, style.has_unicode)));
        out.push('\n');
    }
    out
}

fn floods(report: &LogReport, style: &Style) -> String {
    let mut table = ReportTable::new(
        "Clients with most requests",
        &[
            ("REQUESTS", Align::Right),
            ("SHARE", Align::Right),
            ("PEAK/MIN", Align::Right),
            ("4xx 5xx", Align::Right),
            ("ADDRESS", Align::Left),
            ("AGENT", Align::Rest),
        ],
    );
    for row in &report.floods {
        table.row([
            at_least(row.requests, row.over),
            format!("{:.1} %", row.share),
            count(row.peak_per_minute),
            count(row.errors),
            (style.escaped)(&row.address),
            (style.escaped)(&row.agent),
        ]);
    }
    table.render(style)
}

fn errors(report: &LogReport, style: &Style) -> String {
    if report.errors.is_empty() {
        return String::new();
    }
    let mut out = heading(style, "Errors");
    for group in &report.errors {
        let color = match group.level.as_str() {
            "emerg" | "alert" | "crit" | "error" => Color::Red,
            "warn" => Color::Yellow,
            _ => Color::Dim,
        };
        let head = format!("{:>9}  ", at_least(group.count, group.over));
        let level = format!("[{}] ", (style.escaped)(&group.level));
        let room = style.width.saturating_sub(head.len() + level.len());
        let text = cut(&(style.escaped)(&group.message), room, style.has_unicode);
        let _ = writeln!(out, "{head}{}{text}", style.paint(color, &level));
        let indented = |out: &mut String, text: &str| {
            let text = cut(text, style.width.saturating_sub(11), style.has_unicode);
            let _ = writeln!(out, "           {}", style.paint(Color::Dim, &text));
        };
        let last = style.time(group.last_s);
        let client =
            if group.client.is_empty() { String::new() } else { format!(", client {}", group.client) };
        indented(&mut out, &format!("last {last}{}", (style.escaped)(&client)));
        if group.example != group.message {
            indented(&mut out, &(style.escaped)(&group.example));
        }
        if let Some(remedy) = group.remedy {
            let text = cut(&format!("-> {remedy}"), style.width.saturating_sub(11), style.has_unicode);
            let _ = writeln!(out, "           {}", style.paint(Color::Cyan, &text));
        }
    }
    out
}

#[cfg(test)]
mod tests;
