//! Output of `myriad cache show`: details of a page.

use std::fmt::Write;

use super::amount::{count, duration, moment};
use crate::protocol::{EsiReport, ImageCopyReport, OptimizedReport, PageReport, Tier};

/// Returns the lines of a page report; the first is its URL, or its key if the URL is not known.
pub fn page(page: &PageReport) -> String {
    let mut out = String::new();
    let title = page.url.as_deref().unwrap_or(&page.key);
    let _ = writeln!(out, "{title}");
    let mut row = |name: &str, value: &str| {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "  {name:<10}{value}");
    };
    row("key", &page.key);
    row("zone", &page.zone);
    if let Some(variant) = &page.variant {
        row("variant", variant);
    }
    row("status", format!("{} {}", page.status, page.media_type).trim_end());
    row("stored", &format!("{}, {} ago", moment(page.stored_ms), duration(page.age_ms())));
    row("fresh", &freshness(page));
    row("stale", &staleness(page));
    row("hits", &count(page.hits));
    row("tags", &if page.tags.is_empty() { "none".to_owned() } else { page.tags.join(" ") });
    if let Some(etag) = &page.etag {
        row("etag", etag);
    }
    if let Some(modified) = &page.last_modified {
        row("modified", modified);
    }
    row("body", &format!("{} bytes", count(page.bytes)));
    for (index, encoding) in page.encodings.iter().enumerate() {
        let (coding, bytes) = (&encoding.coding, count(encoding.bytes));
        let name = if index == 0 { "encodings" } else { "" };
        row(name, &format!("{coding:<5} {bytes:>11} bytes, level {}", encoding.level));
    }
    if page.encodings.is_empty() {
        row("encodings", "none yet");
    }
    for (name, value) in page.esi.iter().flat_map(known_visitors) {
        row(name, &value);
    }
    if let Some(optimized) = &page.optimized {
        row("optimized", &form_of(optimized, page.bytes));
    }
    row(
        "in memory",
        &match page.tier {
            Tier::Disk => "no".to_owned(),
            Tier::Memory | Tier::Both => format!("{} bytes in total", count(page.memory_bytes)),
        },
    );
    row(
        "on disk",
        match (page.tier, &page.file) {
            (Tier::Memory, _) => "no",
            (_, Some(file)) => file,
            (_, None) => "yes",
        },
    );
    out
}

/// Returns the lines about the page's ESI fragments and its use for known visitors.
fn known_visitors(esi: &EsiReport) -> Vec<(&'static str, String)> {
    let count = count(esi.parts.len() as u64);
    let known = match (&esi.why, esi.known) {
        (_, true) => format!("receive this page, with {count} private fragments"),
        (Some(why), false) if esi.compared => {
            format!("receive this page where their own page is equal: {why}")
        }
        (Some(why), false) => format!("served by the origin: {why}"),
        (None, false) => "served by the origin".to_owned(),
    };
    let mut rows = vec![("known", known)];
    for (index, part) in esi.parts.iter().enumerate() {
        let whose = if part.private { "private" } else { "shared" };
        let alt = part.alt.as_ref().map(|alt| format!(", else {alt}")).unwrap_or_default();
        let value =
            format!("{} ({whose}){alt}, at offset {}, replaces {} bytes", part.src, part.at, part.instead);
        rows.push((if index == 0 { "parts" } else { "" }, value));
    }
    rows
}

/// Returns the lines about the optimized form of a page: its size, and what each filter did and left unchanged, with
/// the reasons.
pub fn optimized(page: &PageReport) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "{}", page.url.as_deref().unwrap_or(&page.key));
    let Some(form) = &page.optimized else {
        let _ = writeln!(
            out,
            "  no optimized form: it is made after the second request for a page in a location with \"optimize safe\", if the page is in memory"
        );
        return out;
    };
    let _ = writeln!(out, "  {}", form_of(form, page.bytes));
    for path in &form.bundles {
        let _ = writeln!(out, "  names {path}");
    }
    for filter in &form.filters {
        let saved = match (filter.changed, filter.requests_saved) {
            (0, _) => "nothing changed".to_owned(),
            (changed, 0) => {
                format!("{} in {}", counted(filter.bytes_saved, "byte"), counted(changed, "place"))
            }
            (changed, requests) => {
                let (bytes, places) = (counted(filter.bytes_saved, "byte"), counted(changed, "place"));
                format!("{} and {bytes} in {places}", counted(requests, "request"))
            }
        };
        let _ = writeln!(out, "  {:<27}{saved}", filter.filter);
        for skipped in &filter.skipped {
            let _ = writeln!(out, "      not {}: {}", skipped.subject, skipped.reason);
        }
    }
    out
}

/// Returns the lines about the WebP copy of an image: its length, or why there is none.
pub fn image_copy(image: &ImageCopyReport) -> String {
    let original = counted(image.original_bytes, "byte");
    let text = match (image.copy_bytes, &image.reason) {
        (Some(bytes), _) => format!("{} as WebP instead of {original}", counted(bytes, "byte")),
        (None, reason) => {
            let reason = reason.as_deref().unwrap_or("not known");
            let retry = image.retry_after_ms.map(|wait| match wait {
                0 => ", next attempt at the next request".to_owned(),
                wait => format!(", next attempt in {} at the earliest", duration(wait)),
            });
            format!("no copy of {original}: {reason}{}", retry.unwrap_or_default())
        }
    };
    format!("{}\n  {text}\n", image.url)
}

/// Returns a number with its noun, in the plural unless the number is 1.
fn counted(number: u64, noun: &str) -> String {
    format!("{} {noun}{}", count(number), if number == 1 { "" } else { "s" })
}

/// Describes the optimized form of a page whose body has `original` bytes: its size, or the reason why the original is
/// sent.
fn form_of(form: &OptimizedReport, original: u64) -> String {
    match (&form.reason, form.bytes) {
        (Some(reason), _) => format!("no: {reason}"),
        (None, None) => "no: no filter changed the page".to_owned(),
        (None, Some(_)) if form.is_outdated => "not now: one of its files has changed".to_owned(),
        (None, Some(bytes)) => {
            let files = counted(form.bundles.len() as u64, "new file");
            format!("{} bytes instead of {}, {files}", count(bytes), count(original))
        }
    }
}

fn freshness(page: &PageReport) -> String {
    if page.is_fresh() {
        let left = duration(page.fresh_until_ms - page.now_ms);
        return format!("for {left} more, until {}", moment(page.fresh_until_ms));
    }
    let fetching = if page.updating { ", being refreshed" } else { "" };
    if page.fresh_until_ms == 0 {
        return format!("no: soft purged or invalidated{fetching}");
    }
    let since = duration(page.now_ms - page.fresh_until_ms);
    format!("no: expired {since} ago, at {}{fetching}", moment(page.fresh_until_ms))
}

/// Returns how long the page may be served stale, according to the headers of its response; directives of a location
/// may permit less or more.
fn staleness(page: &PageReport) -> String {
    let until = |at: u64| match at {
        u64::MAX => "without a time limit".to_owned(),
        at if at <= page.fresh_until_ms => "not allowed by its headers".to_owned(),
        at => format!("until {}", moment(at)),
    };
    let (updating, error) = (until(page.stale_updating_until_ms), until(page.stale_error_until_ms));
    format!("during a refresh: {updating}; after an error: {error}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{EncodingReport, FilterResultReport, PartReport, SkippedReport};

    fn sample() -> PageReport {
        PageReport {
            zone: "pages".into(),
            key: "httpGETa/b".into(),
            url: Some("http://a/b".into()),
            status: 200,
            media_type: "text/html".into(),
            now_ms: 1_795_219_261_000,
            stored_ms: 1_795_219_201_000,
            fresh_until_ms: 1_795_219_271_000,
            hits: 1200,
            tags: vec!["post-1".into(), "home".into()],
            tier: Tier::Both,
            bytes: 41_872,
            memory_bytes: 60_000,
            encodings: vec![EncodingReport { coding: "gzip".into(), bytes: 7012, level: 6 }],
            file: Some("/c/29/b7".into()),
            ..PageReport::default()
        }
    }

    #[test]
    fn page_report_renders_every_known_field() {
        let text = page(&sample());
        for line in [
            "http://a/b",
            "  key       httpGETa/b",
            "  status    200 text/html",
            "  stored    2026-11-21 00:00:01 UTC, 1m00s ago",
            "  fresh     for 10s more, until 2026-11-21 00:01:11 UTC",
            "  hits      1,200",
            "  tags      post-1 home",
            "  body      41,872 bytes",
            "  encodings gzip        7,012 bytes, level 6",
            "  in memory 60,000 bytes in total",
            "  on disk   /c/29/b7",
        ] {
            assert!(text.lines().any(|shown| shown == line), "{line}\n{text}");
        }
    }

    #[test]
    fn esi_parts_are_listed_and_private_ones_marked() {
        let part = |src: &str, private| PartReport {
            src: src.into(),
            at: 12,
            instead: 3,
            private,
            ..PartReport::default()
        };
        let parts = vec![part("/?part=bar", true), part("/?part=form", true)];
        let text = page(&PageReport {
            esi: Some(EsiReport { known: true, parts, ..EsiReport::default() }),
            ..sample()
        });
        assert!(text.contains("\n  known     receive this page, with 2 private fragments\n"), "{text}");
        assert!(text.contains("\n  parts     /?part=bar (private), at offset 12, replaces 3 bytes\n            /?part=form (private), at offset 12"), "{text}");
        let esi = EsiReport {
            why: Some("asked in a.php".into()),
            parts: vec![part("/b", false)],
            ..EsiReport::default()
        };
        let text = page(&PageReport { esi: Some(esi), ..sample() });
        assert!(
            text.contains(
                "\n  known     served by the origin: asked in a.php\n  parts     /b (shared), at offset 12"
            ),
            "{text}"
        );
        assert!(!page(&sample()).contains("known"));
    }

    #[test]
    fn copy_of_an_image_is_described_with_both_lengths_or_the_reason() {
        let image = ImageCopyReport {
            url: "http://a/i.png".to_owned(),
            original_bytes: 5_000,
            copy_bytes: Some(1_200),
            ..ImageCopyReport::default()
        };
        assert_eq!(image_copy(&image), "http://a/i.png\n  1,200 bytes as WebP instead of 5,000 bytes\n");
        let refused =
            ImageCopyReport { copy_bytes: None, reason: Some("it is animated".to_owned()), ..image };
        assert!(image_copy(&refused).ends_with("\n  no copy of 5,000 bytes: it is animated\n"));
        let later = ImageCopyReport { retry_after_ms: Some(60_000), ..refused };
        assert!(
            image_copy(&later).contains("animated, next attempt in 1m00s at the earliest"),
            "{}",
            image_copy(&later)
        );
    }

    #[test]
    fn stale_page_shows_time_and_reason() {
        let stale = PageReport { fresh_until_ms: 1_795_219_251_000, ..sample() };
        assert!(page(&stale).contains("no: expired 10s ago, at 2026-11-21 00:00:51 UTC\n"));
        let purged = PageReport { fresh_until_ms: 0, updating: true, ..sample() };
        assert!(page(&purged).contains("no: soft purged or invalidated, being refreshed\n"));
    }

    #[test]
    fn optimized_form_is_described_with_the_result_of_each_filter() {
        let skipped = SkippedReport { subject: "/b.css".to_owned(), reason: "not UTF-8".to_owned() };
        let filter = |filter: &str, changed, requests_saved| FilterResultReport {
            filter: filter.to_owned(),
            changed,
            bytes_saved: 1234 * changed,
            requests_saved,
            skipped: vec![skipped.clone(); usize::from(changed == 0)],
        };
        let form = OptimizedReport {
            bytes: Some(900),
            bundles: vec!["/_myriad/1.css".to_owned()],
            filters: vec![
                filter("collapse_whitespace", 1, 0),
                filter("combine_css", 2, 3),
                filter("rewrite_css", 0, 0),
            ],
            ..OptimizedReport::default()
        };
        let report = PageReport { optimized: Some(form.clone()), bytes: 1000, ..sample() };
        let text = optimized(&report);
        for part in [
            "  900 bytes instead of 1,000, 1 new file\n",
            "  names /_myriad/1.css\n",
            "  collapse_whitespace        1,234 bytes in 1 place\n",
            "  combine_css                3 requests and 2,468 bytes in 2 places\n",
            "  rewrite_css                nothing changed\n      not /b.css: not UTF-8\n",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let outdated = OptimizedReport { is_outdated: true, ..form };
        assert!(
            page(&PageReport { optimized: Some(outdated), ..sample() }).contains("not now: one of its files")
        );
        let refused = OptimizedReport { reason: Some("too long".to_owned()), ..OptimizedReport::default() };
        assert!(
            page(&PageReport { optimized: Some(refused), ..sample() }).contains("optimized no: too long")
        );
        assert!(optimized(&sample()).contains("no optimized form:"));
    }
}
