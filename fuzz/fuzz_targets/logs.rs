//! Access and error log lines, formats, and terminal reports: no line is wider than the terminal or contains control characters.
#![no_main]

use libfuzzer_sys::fuzz_target;
use myriad_tools::log_stats::{
    LogLayout, LogReport, ReportSection, Style, Tally, read_fault, read_object, render,
};

fuzz_target!(|bytes: &[u8]| {
    let mut lines = bytes.split(|byte| *byte == b'\n');
    let format = String::from_utf8_lossy(lines.next().unwrap_or_default()).into_owned();
    let layouts = [Some(LogLayout::combined()), LogLayout::of(&format, false), LogLayout::of(&format, true)];
    let mut tally = Tally::default();
    for line in lines {
        for layout in layouts.iter().flatten() {
            if let Some(visit) = layout.read(line) {
                tally.visit(&visit);
            }
        }
        let text = String::from_utf8_lossy(line);
        if let Some(visit) = read_object(&text) {
            tally.visit(&visit);
        }
        if let Some(fault) = read_fault(&text, |_| 60) {
            tally.fault(&fault);
        }
    }
    let escaped = |text: &str| text.chars().map(|c| if c.is_control() { '?' } else { c }).collect();
    let style = Style { width: 80, has_colors: false, has_unicode: true, offset_minutes: |_| 60, escaped };
    for line in render(&LogReport::of(&tally, 10), &ReportSection::ALL, &style).lines() {
        assert!(line.chars().count() <= 80 && !line.chars().any(char::is_control), "{line}");
    }
});
