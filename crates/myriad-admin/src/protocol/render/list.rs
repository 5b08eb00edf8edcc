//! Output of `myriad cache ls`: a line for each page.

use super::amount::{count, duration, size};
use crate::protocol::{PageReport, Tier};

/// Returns the line with the column names of a list of pages.
pub fn list_head() -> String {
    line(&["HITS", "AGE", "VALID", "SIZE", "CODED", "WHERE", "STATUS", "PAGE"])
}

/// Returns the line of a page. The columns have fixed widths, so that a list can be printed while it is received. The
/// last column is the URL (the key if the URL is not known) and the variant.
pub fn list_line(page: &PageReport) -> String {
    let valid = if page.is_fresh() {
        duration(page.fresh_until_ms - page.now_ms)
    } else if page.updating {
        "fetching".to_owned()
    } else {
        "stale".to_owned()
    };
    let tier = match page.tier {
        Tier::Memory => "memory",
        Tier::Both => "both",
        Tier::Disk => "disk",
    };
    let mut name = page.url.clone().unwrap_or_else(|| page.key.clone());
    if let Some(variant) = &page.variant {
        name.push_str("  [");
        name.push_str(variant);
        name.push(']');
    }
    line(&[
        &count(page.hits),
        &duration(page.age_ms()),
        &valid,
        &size(page.bytes),
        &codings(page),
        tier,
        &page.status.to_string(),
        &name,
    ])
}

/// Returns the codings of a page's compressed versions, abbreviated and joined: `gz,br`; `-` if there are none.
fn codings(page: &PageReport) -> String {
    let short = |coding: &str| match coding {
        "gzip" => "gz".to_owned(),
        "zstd" => "zs".to_owned(),
        other => other.to_owned(),
    };
    let mut names: Vec<String> = page.encodings.iter().map(|encoding| short(&encoding.coding)).collect();
    names.dedup();
    if names.is_empty() { "-".to_owned() } else { names.join(",") }
}

fn line(columns: &[&str; 8]) -> String {
    let [hits, age, valid, size, coded, tier, status, page] = columns;
    format!("{hits:>11} {age:>7} {valid:>8} {size:>7}  {coded:<8} {tier:<6} {status:>6}  {page}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::EncodingReport;

    #[test]
    fn columns_stand_below_their_names() {
        let coded = |coding: &str| EncodingReport { coding: coding.into(), bytes: 1, level: 1 };
        let page = PageReport {
            url: Some("http://a/b".into()),
            status: 200,
            now_ms: 100_000,
            fresh_until_ms: 147_000,
            hits: 1_234_567,
            bytes: 42_188,
            encodings: vec![coded("gzip"), coded("gzip"), coded("br")],
            ..PageReport::default()
        };
        let (head, shown) = (list_head(), list_line(&page));
        for (name, value) in [("HITS", "1,234,567"), ("VALID", "47s"), ("SIZE", "41.2K"), ("STATUS", "200")] {
            let end = |line: &str, word: &str| line.find(word).map(|at| at + word.len());
            assert_eq!(end(&head, name), end(&shown, value), "{name}\n{head}\n{shown}");
        }
        for (name, value) in [("CODED", "gz,br"), ("WHERE", "memory"), ("PAGE", "http://a/b")] {
            assert_eq!(head.find(name), shown.find(value), "{name}\n{head}\n{shown}");
        }
    }

    #[test]
    fn stale_and_updating_pages_are_marked_in_list() {
        let stale = PageReport { key: "k".into(), now_ms: 5, ..PageReport::default() };
        assert!(list_line(&stale).contains(" stale ") && list_line(&stale).ends_with("  k"));
        let updating = PageReport { updating: true, variant: Some("accept-language: de".into()), ..stale };
        assert!(list_line(&updating).contains(" fetching "));
        assert!(list_line(&updating).ends_with("  k  [accept-language: de]"));
    }
}
