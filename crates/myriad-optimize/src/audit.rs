//! Grades of a page (in the tradition of YSlow), and what each filter would save.

use std::collections::HashMap;
use std::fmt;

use serde::Serialize;

use crate::css::rewrite_css;
use crate::filter::{FilterName, FilterReport, SkippedSubject, counted, is_worthwhile};
use crate::html::{PageScan, ResourceKind, scan, tokenize};
use crate::images::FIRST_IMAGES;
use crate::js::rewrite_javascript;
use crate::optimize::optimize;
use crate::page_context::PageResources;
use crate::{OptimizeLimits, OptimizeOptions, OptimizedPage, PageResource, PageUrl};

/// Seconds of freshness from which a resource counts as cached by browsers (two days, as in YSlow).
const LONG_S: u64 = 172_800;
/// Length in bytes below which the audit does not expect a resource to be compressed.
const SMALL: u64 = 1024;
/// Length in bytes from which an image is large.
const LARGE_IMAGE: u64 = 200 << 10;

/// Grade from A to F.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum AuditGrade {
    /// 90 to 100 points.
    A,
    /// 80 to 89 points.
    B,
    /// 70 to 79 points.
    C,
    /// 60 to 69 points.
    D,
    /// 50 to 59 points.
    E,
    /// Less than 50 points.
    F,
}

impl AuditGrade {
    fn of(points: u32) -> Self {
        match points {
            90.. => Self::A,
            80.. => Self::B,
            70.. => Self::C,
            60.. => Self::D,
            50.. => Self::E,
            _ => Self::F,
        }
    }
}

impl fmt::Display for AuditGrade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// Result of one check of the audit of a page, such as the number of requests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AuditCheck {
    /// Name of the check in the report.
    pub name: &'static str,
    /// Grade that corresponds to the points of the check.
    pub grade: AuditGrade,
    /// Points of the check, from 0 (worst) to 100.
    pub points: u32,
    /// Finding of the check, in one sentence.
    pub summary: String,
    /// URLs of the resources that the check concerns; empty for a check of the page as a whole.
    pub resources: Vec<String>,
}

/// Totals of a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PageTotals {
    /// Number of requests: one for the page, and one for each different URL that the page loads.
    pub requests: usize,
    /// Number of resources (style sheets, scripts) for which browsers wait before they show the page.
    pub blocking: usize,
    /// Total size in bytes, as received, of the page and of those of its resources that were read.
    pub transfer_bytes: u64,
    /// Total size in bytes, without compression, of the page and of those of its style sheets and scripts that were
    /// read.
    pub text_bytes: u64,
}

/// Grades of a page.
#[derive(Clone, Debug, Serialize)]
pub struct PageAudit {
    /// URL of the page after redirects.
    pub url: String,
    /// Grade of the whole page.
    pub grade: AuditGrade,
    /// Points of the whole page from 0 to 100: the weighted average of the checks.
    pub points: u32,
    /// Totals of the page.
    pub totals: PageTotals,
    /// Number of requests after the filters, including that of the page.
    pub requests_after: usize,
    /// Number of resources for which browsers wait before they show the page, after the filters.
    pub blocking_after: usize,
    /// Checks in the order of the report.
    pub checks: Vec<AuditCheck>,
    /// Report of each filter that is on and changes pages, in the order of [`FilterName`](crate::FilterName).
    pub filters: Vec<FilterReport>,
    /// Resources whose responses the caller did not supply: they are on other sites, or their requests failed or were
    /// not made.
    pub not_read: Vec<SkippedSubject>,
}

/// Grades a page. `resources` are the responses for the URLs that the page names, as far as the caller requested them.
/// Returns an error text if the page cannot be read or is excluded.
pub fn audit(
    page: &PageResource,
    resources: &PageResources,
    options: &OptimizeOptions,
) -> Result<PageAudit, String> {
    let text = page.text().ok_or("the page is not UTF-8")?;
    let tokens = tokenize(text, &options.limits).map_err(|refusal| refusal.to_string())?;
    let scanned = scan(text, &tokens, &page.url);
    let optimized = optimize(page, resources, options)?;
    let facts = Facts::new(page, &scanned, resources, &optimized);
    let checks = facts.checks();
    let weights: u32 = checks.iter().map(|(weight, _)| weight).sum();
    let points = checks.iter().map(|(weight, check)| weight * check.points).sum::<u32>() / weights;
    let optimized_tokens =
        tokenize(&optimized.html, &options.limits).map_err(|refusal| refusal.to_string())?;
    let mut optimized_scan = scan(&optimized.html, &optimized_tokens, &page.url);
    // New preloads name files that browsers request in any case.
    let named = scanned.urls();
    optimized_scan.resources.retain(|resource| {
        !matches!(resource.kind, ResourceKind::Font | ResourceKind::Preload)
            || resource.url.as_ref().is_some_and(|url| named.contains(url))
    });
    let totals_after = Facts::new(page, &optimized_scan, resources, &optimized).totals();
    Ok(PageAudit {
        url: page.url.to_string(),
        grade: AuditGrade::of(points),
        points,
        totals: facts.totals(),
        requests_after: totals_after.requests,
        blocking_after: totals_after.blocking,
        checks: checks.into_iter().map(|(_, check)| check).collect(),
        not_read: facts.not_read(),
        filters: optimized.reports,
    })
}

/// Resource that the page loads; several references to the same URL are one resource.
struct Loaded<'a> {
    url: &'a PageUrl,
    kind: ResourceKind,
    is_blocking: bool,
    response: Option<&'a PageResource>,
}

struct Facts<'a> {
    page: &'a PageResource,
    scan: &'a PageScan,
    loaded: Vec<Loaded<'a>>,
    /// Number of `script` elements that load a script again that the page already loads.
    duplicates: usize,
    optimized: &'a OptimizedPage,
}

impl<'a> Facts<'a> {
    fn new(
        page: &'a PageResource,
        scan: &'a PageScan,
        resources: &'a PageResources,
        optimized: &'a OptimizedPage,
    ) -> Self {
        let mut loaded: Vec<Loaded<'a>> = Vec::new();
        let (mut places, mut duplicates): (HashMap<&PageUrl, usize>, usize) = (HashMap::new(), 0);
        for resource in &scan.resources {
            let Some(url) = resource.url.as_ref() else { continue };
            if let Some(place) = places.get(url) {
                let first = &mut loaded[*place];
                duplicates +=
                    usize::from(first.kind == ResourceKind::Script && resource.kind == ResourceKind::Script);
                first.is_blocking |= resource.is_blocking;
                if matches!(first.kind, ResourceKind::Preload | ResourceKind::Font) {
                    first.kind = resource.kind;
                }
                continue;
            }
            places.insert(url, loaded.len());
            let (kind, is_blocking) = (resource.kind, resource.is_blocking);
            loaded.push(Loaded { url, kind, is_blocking, response: resources.get(url) });
        }
        Self { page, scan, loaded, duplicates, optimized }
    }

    fn totals(&self) -> PageTotals {
        let read = || self.loaded.iter().filter_map(|resource| Some((resource, resource.response?)));
        let is_text = |kind: ResourceKind| matches!(kind, ResourceKind::StyleSheet | ResourceKind::Script);
        PageTotals {
            requests: 1 + self.loaded.len(),
            blocking: self.loaded.iter().filter(|resource| resource.is_blocking).count(),
            transfer_bytes: self.page.transfer_bytes
                + read().map(|(_, response)| response.transfer_bytes).sum::<u64>(),
            text_bytes: self.page.body.len() as u64
                + read()
                    .filter(|(resource, _)| is_text(resource.kind))
                    .map(|(_, response)| response.body.len() as u64)
                    .sum::<u64>(),
        }
    }

    fn not_read(&self) -> Vec<SkippedSubject> {
        let missing = self.loaded.iter().filter(|resource| resource.response.is_none());
        let described = |resource: &Loaded<'_>| {
            let is_own = resource.url.is_same_origin(&self.page.url);
            let reason = if is_own { "was not requested" } else { "of another site" };
            SkippedSubject { subject: resource.url.to_string(), reason: reason.to_owned() }
        };
        missing.map(described).collect()
    }

    fn count(&self, kind: ResourceKind) -> usize {
        self.loaded.iter().filter(|resource| resource.kind == kind).count()
    }

    /// Returns the URLs of the resources that were read and for which `is_bad` is true.
    fn bad(&self, is_bad: impl Fn(&Loaded<'_>, &PageResource) -> bool) -> Vec<String> {
        let read = self.loaded.iter().filter_map(|resource| Some((resource, resource.response?)));
        read.filter(|(resource, response)| is_bad(resource, response))
            .map(|(resource, _)| resource.url.to_string())
            .collect()
    }

    /// Returns each check with its weight.
    fn checks(&self) -> Vec<(u32, AuditCheck)> {
        vec![
            (8, self.requests()),
            (6, self.aggregation()),
            (10, self.blocking()),
            (4, self.minification()),
            (10, self.expires()),
            (2, self.etag()),
            (8, self.compression()),
            (6, self.images()),
            (8, self.errors()),
        ]
    }

    fn requests(&self) -> AuditCheck {
        let totals = self.totals();
        let kinds = [
            (ResourceKind::StyleSheet, "style sheet"),
            (ResourceKind::Script, "script"),
            (ResourceKind::Image, "image"),
            (ResourceKind::Font, "preloaded font"),
            (ResourceKind::Preload, "other preload"),
        ];
        let parts = kinds.map(|(kind, name)| (self.count(kind), name));
        let listed: Vec<_> =
            parts.iter().filter(|(count, _)| *count > 0).map(|(count, name)| counted(*count, name)).collect();
        let summary = format!(
            "{}, {} KB: the page, {}",
            counted(totals.requests, "request"),
            totals.transfer_bytes.div_ceil(1024),
            listed.join(", ")
        );
        check(
            "requests",
            2 * totals.requests.saturating_sub(20),
            summary.trim_end_matches(", ").to_owned(),
            Vec::new(),
        )
    }

    fn aggregation(&self) -> AuditCheck {
        let (sheets, scripts) = (self.count(ResourceKind::StyleSheet), self.count(ResourceKind::Script));
        let lost = 4 * sheets.saturating_sub(2) + 4 * scripts.saturating_sub(3);
        let combined = self.optimized.reports.iter().find(|report| report.filter == FilterName::CombineCss);
        let saved = combined.map_or(0, |report| report.requests_saved);
        let summary = format!(
            "{} and {}; combine_css would save {}",
            counted(sheets, "style sheet"),
            counted(scripts, "script"),
            counted(saved, "request")
        );
        check("aggregation", lost, summary, Vec::new())
    }

    fn blocking(&self) -> AuditCheck {
        let names: Vec<_> = self
            .loaded
            .iter()
            .filter(|resource| resource.is_blocking)
            .map(|resource| resource.url.to_string())
            .collect();
        let summary = format!("{} loaded before the first paint", counted(names.len(), "resource"));
        check("blocking", 8 * names.len().saturating_sub(2), summary, names)
    }

    fn minification(&self) -> AuditCheck {
        let limits = OptimizeLimits::default();
        let names = self.bad(|resource, response| {
            let text = response.text().filter(|_| response.is_ok());
            let shorter = text.and_then(|text| match resource.kind {
                ResourceKind::StyleSheet => rewrite_css(text, &limits).ok(),
                ResourceKind::Script => rewrite_javascript(text, &limits).ok(),
                _ => None,
            });
            shorter.is_some_and(|shorter| is_worthwhile(response.body.len(), shorter.len()))
        });
        let bytes: u64 = [FilterName::RewriteCss, FilterName::RewriteJavascript]
            .iter()
            .filter_map(|name| self.optimized.reports.iter().find(|report| report.filter == *name))
            .map(|report| report.bytes_saved)
            .sum();
        let summary = format!(
            "{} not minified; rewrite_css and rewrite_javascript would save {} KB before compression",
            counted(names.len(), "file"),
            bytes.div_ceil(1024)
        );
        check("minification", 10 * names.len(), summary, names)
    }

    fn expires(&self) -> AuditCheck {
        let names = self.bad(|_, response| response.is_ok() && response.fresh_s.unwrap_or(0) < LONG_S);
        let summary = format!(
            "browsers may use {} for less than two days (Cache-Control: max-age, Expires)",
            counted(names.len(), "resource")
        );
        check("expires", 11 * names.len(), summary, names)
    }

    fn etag(&self) -> AuditCheck {
        let names = self.bad(|_, response| response.is_ok() && !response.has_validator);
        let summary = format!("{} without ETag and Last-Modified", counted(names.len(), "resource"));
        check("etag", 11 * names.len(), summary, names)
    }

    fn compression(&self) -> AuditCheck {
        let is_plain = |response: &PageResource| {
            let is_text =
                ["text/", "javascript", "json", "xml"].iter().any(|word| response.media_type.contains(word));
            is_text && response.is_ok() && response.encoding.is_empty() && response.transfer_bytes >= SMALL
        };
        let mut names = self.bad(|_, response| is_plain(response));
        if is_plain(self.page) {
            names.insert(0, self.page.url.to_string());
        }
        let summary = format!("{} sent without compression", counted(names.len(), "text"));
        check("compression", 11 * names.len(), summary, names)
    }

    fn images(&self) -> AuditCheck {
        let without_size = self.scan.images.iter().filter(|image| image.size.is_none()).count();
        let lazy = self.optimized.reports.iter().find(|report| report.filter == FilterName::LazyloadImages);
        let eager = lazy.map_or(0, |report| report.changed);
        let large = self.bad(|resource, response| {
            resource.kind == ResourceKind::Image && response.transfer_bytes >= LARGE_IMAGE
        });
        let summary = format!(
            "{}: {without_size} without width and height, {eager} after the first {FIRST_IMAGES} not lazy, {} of 200 KB or more",
            counted(self.scan.images.len(), "image"),
            large.len()
        );
        check("images", 3 * without_size + 2 * eager + 10 * large.len(), summary, large)
    }

    fn errors(&self) -> AuditCheck {
        let failed = self.bad(|_, response| !response.is_ok());
        let redirects = self.bad(|_, response| response.redirects > 0);
        let summary = format!(
            "failed: {}, redirected: {}, scripts loaded twice: {}, tags with an empty address: {}",
            failed.len(),
            redirects.len(),
            self.duplicates,
            self.scan.empty_references
        );
        let lost =
            20 * failed.len() + 10 * redirects.len() + 5 * self.duplicates + 30 * self.scan.empty_references;
        check("errors", lost, summary, [failed, redirects].concat())
    }
}

fn check(name: &'static str, lost: usize, summary: String, resources: Vec<String>) -> AuditCheck {
    let points = 100_u32.saturating_sub(u32::try_from(lost).unwrap_or(100));
    AuditCheck { name, grade: AuditGrade::of(points), points, summary, resources }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(path: &str) -> PageUrl {
        PageUrl::parse(&format!("http://a.test{path}")).expect("absolute")
    }

    fn audited(html: &str, resources: Vec<PageResource>) -> PageAudit {
        let page =
            PageResource { encoding: "gzip".into(), ..PageResource::sample(url("/"), "text/html", html) };
        let resources = resources.into_iter().map(|resource| (resource.url.clone(), resource)).collect();
        audit(&page, &resources, &OptimizeOptions::default()).expect("readable")
    }

    fn grade(audit: &PageAudit, name: &str) -> AuditGrade {
        audit.checks.iter().find(|check| check.name == name).expect(name).grade
    }

    fn good(path: &str, kind: &str, body: &str) -> PageResource {
        PageResource {
            encoding: "gzip".into(),
            fresh_s: Some(31_536_000),
            has_validator: true,
            ..PageResource::sample(url(path), kind, body)
        }
    }

    #[test]
    fn good_page_gets_the_best_grade() {
        let audit = audited(
            "<link rel=stylesheet href=/a.css><script src=/b.js defer></script><img src=/c.png width=9 height=9>",
            vec![
                good("/a.css", "text/css", "a{}"),
                good("/b.js", "text/javascript", "b()"),
                good("/c.png", "image/png", ""),
            ],
        );
        assert_eq!(
            (audit.grade, audit.points, audit.totals.requests, audit.totals.blocking),
            (AuditGrade::A, 100, 4, 1),
            "{audit:?}"
        );
    }

    #[test]
    fn preloads_are_no_further_requests() {
        let sheet = "@font-face{font-family:f;src:url(f.woff2)}body{font-family:f}";
        let audit = audited("<link rel=stylesheet href=/a.css><p>", vec![good("/a.css", "text/css", sheet)]);
        let hints = audit.filters.iter().find(|report| report.filter == FilterName::HintPreloadSubresources);
        assert_eq!((hints.map(|report| report.changed), audit.requests_after), (Some(1), 1));
    }

    #[test]
    fn each_problem_lowers_its_own_grade() {
        let long = "a {\n    color: red;\n}\n".repeat(100);
        let bad = |path: &str, kind: &str| PageResource::sample(url(path), kind, &long);
        let sheets: String = (0..9)
            .map(|number| format!("<link rel=stylesheet href=/{number}.css>"))
            .collect::<Vec<_>>()
            .concat();
        let files = (0..9).map(|number| bad(&format!("/{number}.css"), "text/css")).collect();
        let audit = audited(&sheets, files);
        for (name, expected) in [
            ("requests", AuditGrade::A),
            ("aggregation", AuditGrade::C),
            ("blocking", AuditGrade::F),
            ("minification", AuditGrade::F),
            ("expires", AuditGrade::F),
            ("etag", AuditGrade::F),
            ("compression", AuditGrade::F),
            ("images", AuditGrade::A),
            ("errors", AuditGrade::A),
        ] {
            assert_eq!(grade(&audit, name), expected, "{name}");
        }
        assert_eq!((audit.requests_after, audit.blocking_after, audit.totals.blocking), (2, 1, 9));
        // The page names a style sheet repeatedly, which browsers request once.
        for (page, requests) in [
            ("<link rel=stylesheet href=/0.css>".repeat(4), (2, 1)),
            (format!("{sheets}<p><link rel=stylesheet href=/0.css>"), (10, 3)),
        ] {
            let files = (0..9).map(|number| bad(&format!("/{number}.css"), "text/css")).collect();
            let audit = audited(&page, files);
            assert_eq!((audit.totals.requests, audit.requests_after), requests, "{page}");
            let saved: usize = audit.filters.iter().map(|filter| filter.requests_saved).sum();
            assert_eq!(audit.totals.requests - saved, audit.requests_after, "{page}");
        }
        let errors = audited(
            "<img src><script src=/x></script><script src=/x></script><img src=//b.test/y>",
            vec![PageResource { status: 404, ..good("/x", "text/html", "") }],
        );
        let not_read: Vec<_> = errors.not_read.iter().map(|skipped| skipped.subject.as_str()).collect();
        assert_eq!((grade(&errors, "errors"), not_read), (AuditGrade::F, vec!["http://b.test/y"]));
    }
}
