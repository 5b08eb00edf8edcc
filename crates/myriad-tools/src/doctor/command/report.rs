//! Output of the findings as text and as JSON, and the exit status.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::process::ExitCode;

use crate::doctor::{DoctorFinding, Severity};
use serde::Serialize;

use myriad_cli::web::WebTarget;

/// Maximum width of wrapped text, in columns.
const WIDTH: usize = 96;
const COLUMN: usize = 9;

#[derive(Serialize)]
struct JsonFinding<'f> {
    check: &'f str,
    severity: &'f str,
    what: &'f str,
    remedy: &'f str,
}

#[derive(Serialize)]
struct JsonReport<'f> {
    url: String,
    status: &'f str,
    findings: Vec<JsonFinding<'f>>,
}

/// Prints the doctor's findings: as JSON if `json` is set, otherwise as text, in which passed checks are only counted
/// unless `all` is set. Returns the exit status of the most severe finding, in this order: 2 for a severe problem, 1
/// for a warning, 3 for a check that could not be performed, 0 if all checks passed.
pub(super) fn print(
    target: &WebTarget,
    findings: &[DoctorFinding],
    json: bool,
    all: bool,
) -> Result<ExitCode, String> {
    let worst = findings.first().map_or(Severity::Fine, |finding| finding.severity);
    let text = if json { as_json(target, findings, worst)? } else { as_text(target, findings, all) };
    match io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            return Err(format!("standard output: {error}"));
        }
        _ => {}
    }
    Ok(match worst {
        Severity::Fine => ExitCode::SUCCESS,
        Severity::Warning => ExitCode::from(1),
        Severity::Bad => ExitCode::from(2),
        Severity::Unseen => ExitCode::from(3),
    })
}

fn as_json(target: &WebTarget, findings: &[DoctorFinding], worst: Severity) -> Result<String, String> {
    let json_findings = findings.iter().map(|finding| JsonFinding {
        check: finding.check,
        severity: finding.severity.name(),
        what: &finding.what,
        remedy: &finding.remedy,
    });
    let all = JsonReport { url: target.to_string(), status: worst.name(), findings: json_findings.collect() };
    serde_json::to_string(&all).map(|text| text + "\n").map_err(|error| error.to_string())
}

fn as_text(target: &WebTarget, findings: &[DoctorFinding], all: bool) -> String {
    let mut text = format!("{target}\n\n");
    let mut fine = 0;
    for finding in &merged(findings) {
        if finding.severity == Severity::Fine {
            fine += 1;
            if !all {
                continue;
            }
        }
        let lead = format!("{:<COLUMN$}", finding.severity.name().to_uppercase());
        wrapped(&plain(&finding.what), &lead, &mut text);
        if !finding.remedy.is_empty() {
            wrapped(&format!("-> {}", plain(&finding.remedy)), &" ".repeat(COLUMN), &mut text);
        }
    }
    let rest = if all || fine == 0 { "" } else { " (use --all to list them)" };
    let _ = writeln!(
        text,
        "{}{fine} checks found no problem{rest}.",
        if findings.len() > fine && !all { "\n" } else { "" }
    );
    text
}

/// Merges findings of the same check and severity with texts that differ only in the page before the colon: `home: ...`
/// and `post: ...` become `home, post: ...`.
fn merged(findings: &[DoctorFinding]) -> Vec<DoctorFinding> {
    let mut merged: Vec<DoctorFinding> = Vec::new();
    for finding in findings {
        let same = merged.iter_mut().rev().find_map(|known| {
            let is_same = known.check == finding.check && known.severity == finding.severity;
            let (names, said) = known.what.split_once(": ").filter(|_| is_same)?;
            let (name, says) = finding.what.split_once(": ")?;
            (said == says).then(|| format!("{names}, {name}: {said}")).map(|what| known.what = what)
        });
        if same.is_none() {
            merged.push(finding.clone());
        }
    }
    merged
}

/// Replaces control characters by `?`, so that text of a page cannot control the terminal.
fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

/// Appends `lead`, `line` and a line break to `text`. Wraps `line` at spaces to [`WIDTH`] columns without splitting
/// words; further lines are indented by the length of `lead`.
fn wrapped(line: &str, lead: &str, text: &mut String) {
    let (mut column, indent) = (0, " ".repeat(lead.len()));
    for word in line.split(' ') {
        let length = word.chars().count();
        if column == 0 {
            text.push_str(lead);
            column = lead.len();
        } else if column + length + 1 > WIDTH {
            let _ = write!(text, "\n{indent}");
            column = indent.len();
        } else {
            text.push(' ');
            column += 1;
        }
        text.push_str(word);
        column += length;
    }
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_findings_for_several_pages_are_merged() {
        let finding = |severity, what: &str| DoctorFinding {
            check: "a",
            severity,
            what: what.into(),
            remedy: "b".into(),
        };
        let list = [
            finding(Severity::Bad, "home: x: y"),
            finding(Severity::Bad, "post: x: y"),
            finding(Severity::Bad, "page: other"),
            finding(Severity::Warning, "feed: x: y"),
            finding(Severity::Warning, "plain"),
        ];
        let texts: Vec<_> = merged(&list).into_iter().map(|finding| finding.what).collect();
        assert_eq!(texts, ["home, post: x: y", "page: other", "feed: x: y", "plain"]);
    }
}
