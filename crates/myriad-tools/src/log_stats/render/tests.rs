use super::*;
use crate::log_stats::{LogLayout, Tally, read_fault};

fn style(width: usize, has_colors: bool, has_unicode: bool) -> Style {
    Style {
        width,
        has_colors,
        has_unicode,
        offset_minutes: |_| 60,
        escaped: |text| text.replace('\u{1b}', "\\x1B"),
    }
}

fn report() -> LogReport {
    let format = "$remote_addr [$msec] \"$request\" $status $body_bytes_sent $request_time $upstream_cache_status \"$http_user_agent\"";
    let layout = LogLayout::of(format, false).expect("a layout");
    let mut tally = Tally::default();
    for number in 0..2000_u64 {
        let time = 1_795_500_000 + number * 60;
        let uri =
            format!("/a/very/long/name/of/a/page/that/goes/on/and/on/and/on/{}?x={number}", number % 30);
        let status = [200, 200, 200, 304, 404, 502][(number % 6) as usize];
        let cache = ["HIT", "MISS", "EXPIRED", "BYPASS"][(number % 4) as usize];
        let line = format!(
            "10.0.0.{} [{time}.000] \"GET {uri} HTTP/1.1\" {status} {number} 0.{:03} {cache} \"Mozilla/5.0 \u{1b}[2J\"",
            number % 20,
            number % 1000
        );
        tally.visit(&layout.read(line.as_bytes()).expect("a line"));
    }
    let line = "2026/11/24 17:07:09 [error] 1#1: *7 open() \"/srv/x\" failed (2: No such file or directory), client: ::1, server: a";
    tally.fault(&read_fault(line, |_| 0).expect("a line"));
    LogReport::of(&tally, 10)
}

/// Returns a report of requests from a log format without durations and cache status.
fn bare_report() -> LogReport {
    let mut tally = Tally::default();
    let layout = LogLayout::of("$remote_addr $request", false).expect("a format");
    tally.visit(&layout.read(b"192.0.2.1 GET / HTTP/1.1").expect("a line"));
    LogReport::of(&tally, 10)
}

#[test]
fn nothing_is_wider_than_the_terminal_and_nothing_steers_it() {
    for width in [60, 80] {
        let text = render(&bare_report(), &ReportSection::ALL, &style(width, false, true));
        assert!(text.contains("not available in this format"), "{text}");
        for line in text.lines() {
            assert!(line.chars().count() <= width, "{width}: {line}");
        }
    }
    for width in [60, 80, 140] {
        let text = render(&report(), &ReportSection::ALL, &style(width, false, true));
        assert!(!text.contains('\u{1b}'));
        for line in text.lines() {
            assert!(line.chars().count() <= width, "{width}: {line}");
        }
        let colored = render(&report(), &ReportSection::ALL, &style(width, true, true));
        let plain: String = colored
            .split("\u{1b}[")
            .map(|part| part.split_once('m').map_or(part, |(_, rest)| rest))
            .collect();
        for line in plain.lines() {
            assert!(line.chars().count() <= width, "{width}: {line}");
        }
    }
}

#[test]
fn every_question_is_answered() {
    let text = render(&report(), &ReportSection::ALL, &style(100, false, false));
    assert!(text.is_ascii(), "{text}");
    for part in [
        "2,000 requests",
        "from the cache 33.3 %",
        "Requests by hour",
        "Most requested",
        "Slowest pages",
        "Most cache misses",
        "Clients with most requests",
        "10.0.0.0",
        "[error] open() \"*\" failed (2: No such file or directory)",
        "last 2026-11-24 18:07:09, client ::1",
        "-> links point to missing files",
    ] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
}

#[test]
fn log_format_without_needed_variables_yields_advice_on_variables_to_log() {
    let mut tally = Tally::default();
    let line = r#"::1 - - [24/Nov/2026:17:07:09 +0000] "GET / HTTP/1.1" 200 1 "-" "-""#;
    tally.visit(&LogLayout::combined().read(line.as_bytes()).expect("a line"));
    let text = render(
        &LogReport::of(&tally, 5),
        &[ReportSection::Slow, ReportSection::Missed],
        &style(80, false, true),
    );
    assert!(text.contains("log $request_time") && text.contains("log $upstream_cache_status"), "{text}");
    assert_eq!(render(&LogReport::of(&tally, 5), &[ReportSection::Errors], &style(80, false, true)), "");
}
