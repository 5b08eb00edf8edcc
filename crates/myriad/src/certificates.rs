//! `myriad certificates`: lists the certificates of a configuration with their validity and renewal.

use std::collections::HashSet;
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use myriad_base::calendar::format_time_iso8601;
use myriad_conf::Model;
use myriad_tls::TlsFiles;
use myriad_tls::acme_client::CertificateInfo;
use myriad_tls::acme_client::schedule::{format_duration, renewal_window};
use myriad_tls::x509::pem;

use myriad_cli::configuration::{ConfigurationSource, Survey};
use myriad_cli::pidfile::reason;
use myriad_cli::report::ConfigFinding;

/// Maximum number of host names shown in a row of the certificate table.
const SHOWN_NAMES: usize = 4;

/// Row of the table that `myriad certificates` prints, for one certificate.
#[derive(Debug, PartialEq, Eq)]
struct CertificateRow {
    names: String,
    issuer: String,
    expires: String,
    renewal: String,
    from: String,
}

/// Prints the table of the certificates, also of those that are missing or cannot be read, and the errors of the
/// configuration. If the syntax or a directive is invalid, prints only the errors. The exit status is 1 if the
/// configuration has errors or standard output fails, otherwise 0, even if a certificate cannot be read or has expired.
pub(crate) fn run(origin: &ConfigurationSource) -> ExitCode {
    let Survey { model, tls_files, findings } = match origin.survey() {
        Ok(survey) => survey,
        Err(findings) => {
            findings.iter().for_each(ConfigFinding::print);
            return ExitCode::FAILURE;
        }
    };
    findings.iter().for_each(ConfigFinding::print);
    let now_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let rows = rows(origin, &model, &tls_files, now_s);
    let text = if rows.is_empty() { "no server has a certificate\n".to_owned() } else { table(&rows) };
    match io::stdout().write_all(text.as_bytes()) {
        Ok(()) if findings.is_empty() => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

fn rows(
    origin: &ConfigurationSource,
    model: &Model,
    tls_files: &TlsFiles,
    now_s: u64,
) -> Vec<CertificateRow> {
    let paths = &origin.paths;
    let folder = paths.configuration.parent().unwrap_or(&paths.prefix);
    let mut rows = Vec::new();
    for (issuer, order, file) in myriad_tls::acme_orders(model, &paths.prefix) {
        let from = format!("acme {issuer}");
        let Some(file) = file else {
            let renewal = "stored only in memory".to_owned();
            rows.push(CertificateRow {
                names: order.to_string(),
                issuer: "?".into(),
                expires: "?".into(),
                renewal,
                from,
            });
            continue;
        };
        rows.push(match fs::read(&file) {
            Ok(text) => acme_row(&text, from.clone(), now_s).unwrap_or_else(|| {
                CertificateRow::without_certificate(order.to_string(), "cannot be parsed", from)
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                CertificateRow::without_certificate(order.to_string(), "not issued yet", from)
            }
            Err(error) => CertificateRow::without_certificate(order.to_string(), &reason(&error), from),
        });
    }
    let servers = model.http.iter().flat_map(|http| &http.servers);
    let mut seen = HashSet::new();
    let names = servers.flat_map(|server| &server.settings.tls.certificates);
    for name in names.filter(|name| myriad_tls::is_tls_file(name)) {
        let path = myriad_tls::tls_path(folder, name);
        if seen.insert(path.clone()) {
            let row = match tls_files.get(&path) {
                Some(text) => file_row(text, &path, now_s).ok_or("cannot be parsed"),
                None => Err("cannot be read"),
            };
            rows.push(row.unwrap_or_else(|why| {
                CertificateRow::without_certificate("?".into(), why, path.display().to_string())
            }));
        }
    }
    rows
}

fn acme_row(text: &[u8], from: String, now_s: u64) -> Option<CertificateRow> {
    let facts = CertificateInfo::from_pem(text)?;
    let window = renewal_window(facts.not_before_s, facts.not_after_s);
    let at = window.pick(0.5);
    let renewal = if at > now_s { format!("about {}", day(at)) } else { "due".to_owned() };
    Some(CertificateRow::for_certificate(&facts, renewal, from, now_s))
}

fn file_row(text: &[u8], path: &Path, now_s: u64) -> Option<CertificateRow> {
    let facts = CertificateInfo::from_der(&pem::certificates(text).flatten().next()?)?;
    Some(CertificateRow::for_certificate(&facts, "manual".to_owned(), path.display().to_string(), now_s))
}

impl CertificateRow {
    fn for_certificate(facts: &CertificateInfo, renewal: String, from: String, now_s: u64) -> Self {
        let issuer = if facts.self_signed { "self-signed".to_owned() } else { facts.issuer.clone() };
        let left = match facts.not_after_s.checked_sub(now_s) {
            Some(left) => format!("in {}", format_duration(left)),
            None => "EXPIRED".to_owned(),
        };
        let expires = format!("{} ({left})", day(facts.not_after_s));
        Self { names: shortened_names(&facts.names), issuer, expires, renewal, from }
    }

    fn without_certificate(names: String, why: &str, from: String) -> Self {
        Self { names, issuer: "-".into(), expires: why.to_owned(), renewal: "-".into(), from }
    }

    fn cells(&self) -> [&str; 5] {
        [&self.names, &self.issuer, &self.expires, &self.renewal, &self.from]
    }
}

fn shortened_names(names: &[String]) -> String {
    let shown = names.iter().take(SHOWN_NAMES).map(String::as_str).collect::<Vec<_>>().join(", ");
    match names.len().checked_sub(SHOWN_NAMES) {
        Some(more @ 1..) => format!("{shown} and {more} more"),
        _ => shown,
    }
}

fn day(seconds: u64) -> String {
    String::from_utf8_lossy(&format_time_iso8601(seconds, 0)[..10]).into_owned()
}

fn table(rows: &[CertificateRow]) -> String {
    const TITLES: [&str; 5] = ["NAMES", "ISSUED BY", "EXPIRES", "RENEWAL", "FROM"];
    let lines = || std::iter::once(TITLES).chain(rows.iter().map(CertificateRow::cells));
    let width = |column: usize| lines().map(|cells| cells[column].chars().count()).max().unwrap_or(0);
    let widths = [0, 1, 2, 3].map(width);
    let mut out = String::new();
    for cells in lines() {
        for (cell, width) in cells.iter().zip(widths) {
            let pad = width.saturating_sub(cell.chars().count()) + 2;
            out.push_str(cell);
            out.extend(std::iter::repeat_n(' ', pad));
        }
        out.push_str(cells[4]);
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_aligns_columns_and_marks_expired_certificates() {
        let facts = CertificateInfo {
            names: ["a.test", "b.test", "c.test", "d.test", "e.test"].map(str::to_owned).to_vec(),
            issuer: "Authority".to_owned(),
            not_before_s: 0,
            not_after_s: 90 * 86_400,
            ..CertificateInfo::default()
        };
        let fresh = CertificateRow::for_certificate(&facts, "manual".into(), "/a.pem".into(), 86_400);
        assert_eq!(fresh.names, "a.test, b.test, c.test, d.test and 1 more");
        assert_eq!(fresh.expires, "1970-04-01 (in 89 days)");
        let over = CertificateRow::for_certificate(&facts, "manual".into(), "/a.pem".into(), 100 * 86_400);
        assert_eq!(over.expires, "1970-04-01 (EXPIRED)");
        let absent = CertificateRow::without_certificate("x.test".into(), "not issued yet", "acme le".into());
        let text = table(&[fresh, absent]);
        let columns: HashSet<_> = text
            .lines()
            .map(|line| line.find("acme le").or(line.find("/a.pem")).or(line.find("FROM")))
            .collect();
        assert_eq!((text.lines().count(), columns.len()), (3, 1), "{text}");
    }
}
