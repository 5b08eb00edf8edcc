//! Output of `myriad purge`: a line for each purge.

use super::amount::count;
use crate::protocol::PurgeReport;

/// Returns the line that reports the result of a purge, with the receipts of the cluster's nodes if there are any.
pub fn purge(report: &PurgeReport) -> String {
    let outcome = match report.purged {
        Some(pages) if report.at_least => format!("{}+ pages", count(pages)),
        Some(1) => "1 page".to_owned(),
        Some(pages) => format!("{} pages", count(pages)),
        None => "accepted".to_owned(),
    };
    let mut line = format!("{outcome:>14}  {:<8}  {}", report.kind, report.what).trim_end().to_owned();
    if let Some(receipts) = &report.cluster {
        line.push_str("  ");
        line.push_str(&receipts.text);
    }
    line
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
    use crate::protocol::ReceiptsReport;

    #[test]
    fn receipts_of_the_cluster_follow_the_purge() {
        let text = "applied on 2 of 2 nodes in 3 ms".to_owned();
        let cluster = Some(ReceiptsReport { text, ..ReceiptsReport::default() });
        let report = PurgeReport { kind: "all".into(), purged: Some(2), cluster, ..PurgeReport::default() };
        assert_eq!(purge(&report), "       2 pages  all  applied on 2 of 2 nodes in 3 ms");
    }

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
