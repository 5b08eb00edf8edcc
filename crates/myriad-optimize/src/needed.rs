//! Resources that the filters read.

use std::collections::{HashSet, VecDeque};

use crate::css::SheetFacts;
use crate::html::{PageScan, ResourceKind, scan, tokenize};
use crate::page_context::PageResources;
use crate::page_facts::READ_FACTS;
use crate::{FilterName, FilterSet, OptimizeLimits, OptimizeOptions, PageResource, PageUrl};

/// Filters that change style sheets.
pub(crate) const CHANGE_SHEETS: [FilterName; 3] =
    [FilterName::CombineCss, FilterName::InlineCss, FilterName::RewriteCss];
/// Filters that depend on the sizes of images.
const READ_IMAGES: [FilterName; 5] = [
    FilterName::InsertImageDimensions,
    FilterName::LazyloadImages,
    FilterName::DecodeImagesAsync,
    FilterName::HintPreloadSubresources,
    FilterName::PrioritizeLargestImage,
];

/// Returns the same-origin URLs that [`optimize`](crate::optimize) reads and that are missing in `fetched`: style
/// sheets with those that they import, scripts, and images whose tag has no size, as far as the filters that are on
/// need them. The caller fetches them, adds the responses and calls again, because a style sheet may import others,
/// until the list is empty or contains only URLs that failed. Returns nothing for a page that cannot be read;
/// exclusions are not considered.
pub fn needed_resources(
    page: &PageResource,
    fetched: &PageResources,
    options: &OptimizeOptions,
) -> Vec<PageUrl> {
    let Some(text) = page.text() else { return Vec::new() };
    let Ok(tokens) = tokenize(text, &options.limits) else { return Vec::new() };
    ResourceNeeds::of(text, &scan(text, &tokens, &page.url), &page.url, fetched, options).missing
}

/// Resources that the filters read, in the order of the page.
pub(crate) struct ResourceNeeds {
    pub(crate) present: Vec<PageUrl>,
    pub(crate) missing: Vec<PageUrl>,
}

impl ResourceNeeds {
    pub(crate) fn of(
        text: &str,
        scan: &PageScan,
        url: &PageUrl,
        fetched: &PageResources,
        options: &OptimizeOptions,
    ) -> Self {
        let mut waiting = VecDeque::new();
        let filters = options.filters;
        let reads_sheets = filters.contains_any(&CHANGE_SHEETS) || filters.contains_any(&READ_FACTS);
        let reads_images = filters.contains_any(&READ_IMAGES);
        if reads_sheets && let Some(base) = &scan.base {
            let styles = scan.inline_styles.iter().map(|range| &text[range.clone()]);
            waiting.extend(styles.flat_map(|style| imported(style, base, &options.limits)));
        }
        for resource in &scan.resources {
            let is_read = match resource.kind {
                ResourceKind::StyleSheet => reads_sheets,
                ResourceKind::Script => filters != FilterSet::none(),
                ResourceKind::Image | ResourceKind::Font | ResourceKind::Preload => false,
            };
            waiting.extend(resource.url.clone().filter(|_| is_read));
        }
        let without_size = scan.images.iter().filter(|image| reads_images && image.size.is_none());
        waiting.extend(without_size.filter_map(|image| image.url.clone()));
        let mut needs = Self { present: Vec::new(), missing: Vec::new() };
        let mut seen = HashSet::new();
        while let Some(needed) = waiting.pop_front() {
            if !needed.is_same_origin(url) || !seen.insert(needed.clone()) {
                continue;
            }
            let Some(resource) = fetched.get(&needed) else {
                needs.missing.push(needed);
                continue;
            };
            if resource.media_type == "text/css" && resource.is_ok() {
                let text = resource.text().unwrap_or_default();
                waiting.extend(imported(text, &resource.url, &options.limits));
            }
            needs.present.push(needed);
        }
        needs
    }

    /// Returns the URLs of the needed resources that are present, each with the digest of its body.
    pub(crate) fn with_digests(self, fetched: &PageResources) -> Vec<(PageUrl, [u8; 16])> {
        let digest = |url: PageUrl| fetched.get(&url).map(PageResource::digest).map(|digest| (url, digest));
        self.present.into_iter().filter_map(digest).collect()
    }
}

/// Returns the URLs that a style sheet imports; empty if it is not understood.
fn imported(text: &str, base: &PageUrl, limits: &OptimizeLimits) -> Vec<PageUrl> {
    // Without such a text, nothing is imported.
    if !["@i", "@I", "@\\"].iter().any(|start| text.contains(start)) {
        return Vec::new();
    }
    let imports = SheetFacts::read(text, limits).map(|facts| facts.imports).unwrap_or_default();
    imports.iter().flatten().filter_map(|import| base.join(import)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(path: &str) -> PageUrl {
        PageUrl::parse("http://a.test/").and_then(|base| base.join(path)).expect(path)
    }

    fn missing(html: &str, fetched: &PageResources, options: &OptimizeOptions) -> Vec<String> {
        let page = PageResource::sample(url("/"), "text/html", html);
        needed_resources(&page, fetched, options).iter().map(PageUrl::path_and_query).collect()
    }

    const PAGE: &str = "<style>@import 'i.css';</style><link rel=stylesheet href=a.css?v=1><script src=j.js></script>\
        <link rel=stylesheet href=//b.test/a.css><img src=1.png width=1 height=1><img src=2.png><link rel=preload as=image href=p.png>";

    #[test]
    fn missing_resources_are_listed_until_all_are_fetched() {
        let options = OptimizeOptions::default();
        let mut fetched = PageResources::new();
        assert_eq!(missing(PAGE, &fetched, &options), ["/i.css", "/a.css?v=1", "/j.js", "/2.png"]);
        let add = |fetched: &mut PageResources, path: &str, kind: &str, text: &str| {
            fetched.insert(url(path), PageResource::sample(url(path), kind, text));
        };
        add(&mut fetched, "/i.css", "text/css", "@import url(x/n.css); @import '//b.test/n.css';");
        add(&mut fetched, "/a.css?v=1", "text/css", "a{}");
        add(&mut fetched, "/j.js", "text/javascript", "@import 'no.css';");
        add(&mut fetched, "/2.png", "image/png", "");
        assert_eq!(missing(PAGE, &fetched, &options), ["/x/n.css"]);
        add(&mut fetched, "/x/n.css", "text/css", "@import '/a.css?v=1';");
        assert_eq!(missing(PAGE, &fetched, &options), [""; 0]);
    }

    #[test]
    fn only_resources_of_the_filters_are_read() {
        for (filter, expected) in [
            (FilterName::CombineCss, &["/i.css", "/a.css?v=1", "/j.js"][..]),
            (FilterName::RewriteJavascript, &["/j.js"]),
            (FilterName::LazyloadImages, &["/j.js", "/2.png"]),
            (FilterName::CollapseWhitespace, &["/i.css", "/a.css?v=1", "/j.js"]),
            (FilterName::InsertImageDimensions, &["/i.css", "/a.css?v=1", "/j.js", "/2.png"]),
            (FilterName::HintPreloadSubresources, &["/i.css", "/a.css?v=1", "/j.js", "/2.png"]),
        ] {
            let options =
                OptimizeOptions { filters: FilterSet::none().with(filter), ..OptimizeOptions::default() };
            assert_eq!(missing(PAGE, &PageResources::new(), &options), expected, "{filter:?}");
        }
    }
}
