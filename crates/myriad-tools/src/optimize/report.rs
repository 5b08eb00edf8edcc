//! Output of an audit as text and as JSON.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::process::ExitCode;

use myriad_cli::terminal;
use myriad_optimize::{AuditCheck, AuditGrade, FilterReport, PageAudit, counted};

/// Maximum number of resources that are listed below a check without `--all`.
const LISTED: usize = 3;
/// Width of the column with the names of filters, in characters.
const NAMES: usize = 26;

/// Prints an audit to standard output, as JSON if `is_json`; with `all`, no list is shortened. Returns exit status 0,
/// or an error text if standard output fails; a reader that closes it early is no error.
pub(super) fn print(audit: &PageAudit, is_json: bool, all: bool) -> Result<ExitCode, String> {
    let text = if is_json {
        serde_json::to_string_pretty(audit).map_err(|error| format!("--json: {error}"))? + "\n"
    } else {
        let layout = Layout { width: terminal::width(), has_colors: terminal::has_colors(), all };
        layout.text(audit)
    };
    match io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(format!("standard output: {error}")),
        _ => Ok(ExitCode::SUCCESS),
    }
}

struct Layout {
    width: usize,
    has_colors: bool,
    all: bool,
}

impl Layout {
    fn text(&self, audit: &PageAudit) -> String {
        let totals = &audit.totals;
        let mut out = String::new();
        self.line(
            &mut out,
            0,
            &format!("{}  {} points of 100  {}", self.grade(audit.grade), audit.points, audit.url),
        );
        self.line(
            &mut out,
            3,
            &format!(
                "   {}, {} KB, {} of them blocking; with the optimizer {}, {} blocking",
                counted(totals.requests, "request"),
                totals.transfer_bytes.div_ceil(1024),
                totals.blocking,
                counted(audit.requests_after, "request"),
                audit.blocking_after
            ),
        );
        out.push('\n');
        for check in &audit.checks {
            self.check(&mut out, check);
        }
        out.push_str("\nFilters would save:\n");
        for filter in &audit.filters {
            self.filter(&mut out, filter);
        }
        if !audit.not_read.is_empty() {
            let _ = writeln!(out, "\nNot read: {}", counted(audit.not_read.len(), "resource"));
            let lines: Vec<_> = audit
                .not_read
                .iter()
                .map(|skipped| format!("{}: {}", skipped.subject, skipped.reason))
                .collect();
            self.list(&mut out, &lines);
        }
        out
    }

    fn check(&self, out: &mut String, check: &AuditCheck) {
        let head =
            format!("{}  {:>3}  {:<15}{}", self.grade(check.grade), check.points, check.name, check.summary);
        self.line(out, 23, &head);
        if check.grade != AuditGrade::A || self.all {
            self.list(out, &check.resources);
        }
    }

    fn filter(&self, out: &mut String, filter: &FilterReport) {
        let mut effects = Vec::new();
        if filter.requests_saved > 0 {
            effects.push(counted(filter.requests_saved, "request"));
        }
        if filter.bytes_saved > 0 {
            effects.push(size(filter.bytes_saved));
        }
        let effect = match (filter.changed, effects.is_empty()) {
            (0, _) => "nothing".to_owned(),
            (changed, true) => format!("{} changed", counted(changed, "place")),
            (changed, false) => format!("{} in {}", effects.join(" and "), counted(changed, "place")),
        };
        self.line(out, NAMES + 2, &format!("  {:<NAMES$}{effect}", filter.filter.as_str()));
        let reasons: Vec<_> = filter
            .skipped
            .iter()
            .map(|skipped| format!("unchanged: {}: {}", skipped.subject, skipped.reason))
            .collect();
        self.list(out, &reasons);
    }

    /// Writes the first [`LISTED`] lines of a list and the number of further lines; with `--all`, writes all lines.
    /// Control characters are replaced by U+FFFD.
    fn list(&self, out: &mut String, lines: &[String]) {
        let shown = if self.all { lines.len() } else { LISTED };
        for line in lines.iter().take(shown) {
            // Parts of the line come from the page.
            let safe = line.replace(char::is_control, "\u{fffd}");
            self.line(out, 10, &format!("        {safe}"));
        }
        if lines.len() > shown {
            let _ = writeln!(out, "        … and {} more (--all)", lines.len() - shown);
        }
    }

    /// Writes a text that is wrapped between words; further lines are indented by `indent` columns.
    fn line(&self, out: &mut String, indent: usize, text: &str) {
        let start = text.len() - text.trim_start().len();
        let mut column = start;
        out.push_str(&text[..start]);
        for (index, word) in text[start..].split(' ').enumerate() {
            // Only a grade in color starts with an escape sequence.
            let length = if word.starts_with('\u{1b}') { 1 } else { word.chars().count() };
            if index > 0 && column + 1 + length > self.width && column > indent {
                out.push('\n');
                out.push_str(&" ".repeat(indent));
                column = indent;
            } else if index > 0 {
                out.push(' ');
                column += 1;
            }
            out.push_str(word);
            column += length;
        }
        out.push('\n');
    }

    /// Returns a grade, in color if the terminal has colors.
    fn grade(&self, grade: AuditGrade) -> String {
        let color = match grade {
            _ if !self.has_colors => return grade.to_string(),
            AuditGrade::A | AuditGrade::B => 32,
            AuditGrade::C | AuditGrade::D => 33,
            AuditGrade::E | AuditGrade::F => 31,
        };
        format!("\u{1b}[1;{color}m{grade}\u{1b}[m")
    }
}

fn size(bytes: u64) -> String {
    if bytes < 1024 { format!("{bytes} bytes") } else { format!("{} KB", bytes.div_ceil(1024)) }
}

#[cfg(test)]
mod tests {
    use myriad_optimize::{OptimizeOptions, PageResource, PageUrl, audit};

    use super::*;

    fn response(path: &str, media_type: &str, body: String) -> PageResource {
        PageResource {
            url: PageUrl::parse(&format!("http://example.com{path}")).expect("absolute"),
            status: 200,
            media_type: media_type.to_owned(),
            charset: Some("utf-8".to_owned()),
            encoding: "gzip".to_owned(),
            fresh_s: Some(3600),
            has_validator: true,
            transfer_bytes: body.len() as u64 / 4,
            redirects: 0,
            has_policy: false,
            body: body.into_bytes(),
        }
    }

    /// Tests that the example in the documentation is the report of this page.
    #[test]
    fn report_is_that_of_the_documentation() {
        let sheet = "/* Menu */\n.menu {\n    color: #345;\n}\n".repeat(300);
        let script = "function open( menu ) {\n    return menu; // the same\n}\n".repeat(500);
        let head = "<meta charset=utf-8><link rel=stylesheet href=/theme.css>\n<link rel=stylesheet href=/menu.css>\n\
            <link rel=stylesheet href=/print.css media=print>\n<script src=/menu.js></script><script src=https://stats.example.net/a.js></script>";
        let image = "<img src=/photo.jpg alt=Photo>".to_owned();
        let page = response(
            "/",
            "text/html",
            format!("<!doctype html>\n<head>{head}</head>\n\n<p>  Text</p>\n{image}"),
        );
        let resources = [
            response("/theme.css", "text/css", sheet.clone()),
            response("/menu.css", "text/css", sheet.clone()),
            response("/print.css", "text/css", sheet),
            response("/menu.js", "text/javascript", script),
            PageResource {
                encoding: String::new(),
                ..response("/photo.jpg", "image/jpeg", "x".repeat(900_000))
            },
        ];
        let resources = resources.into_iter().map(|resource| (resource.url.clone(), resource)).collect();
        let audit = audit(&page, &resources, &OptimizeOptions::default()).expect("valid");
        let text = Layout { width: 80, has_colors: false, all: false }.text(&audit);
        let manual = include_str!("../../../../docs/optimizer.md");
        assert!(manual.contains(&format!("```text\n{text}```")), "{text}");
    }
}
