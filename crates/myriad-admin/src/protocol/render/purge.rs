//! Output of `myriad purge`: a line for each purge.

use super::amount::count;
use crate::protocol::PurgeReport;

/// Returns the line that reports the result of a purge.
pub fn purge(report: &PurgeReport) -> String {
    let outcome = match report.purged {
        Some(pages) if report.at_least => format!("{}+ pages", count(pages)),
        Some(1) => "1 page".to_owned(),
        Some(pages) => format!("{} pages", count(pages)),
        None => "accepted".to_owned(),
    };
    format!("{outcome:>14}  {:<8}  {}", report.kind, report.what).trim_end().to_owned()
}

/// Returns the line with the total number of pages of several purges.
pub fn purge_total(reports: &[PurgeReport]) -> String {
    let pages = reports.iter().filter_map(|report| report.purged).sum::<u64>();
    let word = if pages == 1 { "page" } else { "pages" };
    match reports.iter().filter(|report| report.purged.is_none()).count() {
        0 => format!("{} {word} purged", count(pages)),
        accepted => {
            format!(
                "{} {word} purged, {accepted} accepted: their page counts are written to the error log",
                count(pages)
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn purge_counts_and_acceptances_are_rendered_separately() {
        let report = |kind: &str, what: &str, purged| PurgeReport {
            kind: kind.into(),
            what: what.into(),
            purged,
            ..PurgeReport::default()
        };
        let reports = [report("url", "http://a/", Some(1)), report("all", "", None)];
        assert_eq!(purge(&reports[0]), "        1 page  url       http://a/");
        assert_eq!(purge(&reports[1]), "      accepted  all");
        assert_eq!(purge_total(&reports[..1]), "1 page purged");
        assert_eq!(
            purge_total(&reports),
            "1 page purged, 1 accepted: their page counts are written to the error log"
        );
    }
}
