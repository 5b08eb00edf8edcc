//! All filters, applied to a page.

use crate::bundle::PageBundle;
use crate::css::rewrite_css;
use crate::edit::edited;
use crate::exclude::EXCLUDED;
use crate::filter::{FilterName, FilterReport, counted};
use crate::html::{
    HtmlKind, HtmlToken, PageScan, ResourceKind, collapse_whitespace, declared_encoding, scan, tokenize,
};
use crate::images::{ImageChanges, PageImages, image_size, order_loading};
use crate::js::rewrite_javascript;
use crate::needed::ResourceNeeds;
use crate::page_styles::{PageContext, PageResources, combine_styles, preserving_elements};
use crate::{OptimizeOptions, PageResource, PageUrl};

/// Equivalent, smaller form of a page.
#[derive(Clone, Debug)]
pub struct OptimizedPage {
    /// Page.
    pub html: String,
    /// New style sheets that the page names.
    pub bundles: Vec<PageBundle>,
    /// Shorter bodies of resources whose URLs stay the same, in the order of the page.
    pub shorter: Vec<(PageUrl, String)>,
    /// Same-origin resources on which the result depends, each with its digest ([`PageResource::digest`]). If one changes, the
    /// page must be optimized again.
    pub dependencies: Vec<(PageUrl, [u8; 16])>,
    /// Report of each filter that is on, in the order of [`FilterName`].
    pub reports: Vec<FilterReport>,
}

/// Applies the filters that are on. Returns an error text if the page is excluded or cannot be read; the original is then
/// used.
pub fn optimize(
    page: &PageResource,
    resources: &PageResources,
    options: &OptimizeOptions,
) -> Result<OptimizedPage, String> {
    if options.exclude.covers_url(&page.url) {
        return Err(EXCLUDED.to_owned());
    }
    let text = page.text().ok_or("the page is not UTF-8")?;
    let tokens = tokenize(text, &options.limits).map_err(|refusal| refusal.to_string())?;
    let scanned = scan(text, &tokens, &page.url);
    let charset = page.charset.clone().or_else(|| declared_encoding(&tokens));
    if charset.as_deref().is_some_and(|charset| !matches!(charset, "utf-8" | "utf8" | "us-ascii")) {
        return Err("the page is not UTF-8".to_owned());
    }
    let context = PageContext {
        page: text,
        url: &page.url,
        charset: charset.as_deref(),
        tokens: &tokens,
        scan: &scanned,
        resources,
        scripts: &script_texts(text, &scanned, resources, &page.url),
        options,
        is_excluded: &options.exclude.tokens(&tokens),
    };
    let (mut html, bundles, css_saved, mut reports) = with_combined_styles(page, &context)?;
    let mut shorter = Vec::new();
    if context.is_on(FilterName::RewriteCss) {
        let combined: Vec<&PageUrl> = bundles.iter().flat_map(|bundle| &bundle.parts).collect();
        let mut report = shorten(&context, ResourceKind::StyleSheet, &combined, &mut shorter);
        report.bytes_saved += css_saved as u64;
        report.changed += bundles.len();
        reports.push(report);
    }
    if context.is_on(FilterName::RewriteJavascript) {
        reports.push(shorten(&context, ResourceKind::Script, &[], &mut shorter));
    }
    let images = with_image_attributes(&html, &context)?;
    html = images.page;
    reports.extend(images.reports);
    if context.is_on(FilterName::CollapseWhitespace) {
        let (collapsed, report) = with_less_whitespace(html, &context);
        html = collapsed;
        reports.push(report);
    }
    reports.retain(|report| context.is_on(report.filter));
    reports.sort_by_key(|report| report.filter);
    let needs = ResourceNeeds::of(text, &scanned, &page.url, resources, options);
    Ok(OptimizedPage { html, bundles, shorter, dependencies: needs.with_digests(resources), reports })
}

/// Combines style sheets. Returns the page, the bundles, the number of bytes that they are shorter than their parts, and
/// the report.
fn with_combined_styles(
    page: &PageResource,
    context: &PageContext<'_>,
) -> Result<(String, Vec<PageBundle>, usize, Vec<FilterReport>), String> {
    if !context.is_on(FilterName::CombineCss) {
        return Ok((context.page.to_owned(), Vec::new(), 0, Vec::new()));
    }
    if has_policy(page, context.tokens) {
        let mut report = FilterReport::new(FilterName::CombineCss);
        report.skip("page", &"it has a Content-Security-Policy");
        return Ok((context.page.to_owned(), Vec::new(), 0, vec![report]));
    }
    let mut combined = combine_styles(context);
    let html = edited(context.page, &combined.edits);
    let tokens = tokenize(&html, &context.options.limits).map_err(|refusal| refusal.to_string())?;
    let scanned = scan(&html, &tokens, context.url);
    combined.report.requests_saved = context.scan.urls().len().saturating_sub(scanned.urls().len());
    Ok((html, combined.bundles, combined.bytes_saved, vec![combined.report]))
}

fn with_image_attributes(html: &str, context: &PageContext<'_>) -> Result<ImageChanges, String> {
    let tokens = tokenize(html, &context.options.limits).map_err(|refusal| refusal.to_string())?;
    let scanned = scan(html, &tokens, context.url);
    let size_of =
        |url: &PageUrl| image_size(&context.resources.get(url)?.body).map(|size| (size.width, size.height));
    let images = PageImages { page: html, tokens: &tokens, scan: &scanned, scripts: context.scripts };
    Ok(order_loading(&images, &size_of, context.options))
}

fn with_less_whitespace(html: String, context: &PageContext<'_>) -> (String, FilterReport) {
    let mut report = FilterReport::new(FilterName::CollapseWhitespace);
    let exclude = &context.options.exclude;
    let excluded = context
        .tokens
        .iter()
        .filter(|token| matches!(&token.kind, HtmlKind::Start(tag) if exclude.covers_tag(tag)));
    match excluded.count() {
        0 => {}
        count => report.skip(counted(count, "element"), &EXCLUDED),
    }
    let collapsed = preserving_elements(context).and_then(|preserving| {
        collapse_whitespace(&html, &preserving, &|tag| exclude.covers_tag(tag), &context.options.limits)
            .map_err(|refusal| refusal.to_string())
    });
    match collapsed {
        Ok(collapsed) if collapsed.len() < html.len() => {
            report.change(html.len() - collapsed.len());
            return (collapsed, report);
        }
        Ok(_) => {}
        Err(reason) => report.skip("page", &reason),
    }
    (html, report)
}

/// Returns whether a policy restricts from where the page loads its style sheets.
fn has_policy(page: &PageResource, tokens: &[HtmlToken<'_>]) -> bool {
    page.has_policy
        || tokens.iter().any(|token| match &token.kind {
            HtmlKind::Start(tag) => {
                tag.name == "meta" && tag.has_word("http-equiv", "content-security-policy")
            }
            _ => false,
        })
}

/// Returns the texts of the scripts within the page, and of those from the same site.
fn script_texts<'a>(
    page: &'a str,
    scan: &PageScan,
    resources: &'a PageResources,
    url: &PageUrl,
) -> Vec<&'a str> {
    let inline = scan.inline_scripts.iter().map(|range| &page[range.clone()]);
    let own = scan.of_kind(ResourceKind::Script).filter_map(|resource| {
        let address = resource.url.as_ref().filter(|address| address.is_same_origin(url))?;
        str::from_utf8(&resources.get(address)?.body).ok()
    });
    inline.chain(own).collect()
}

/// Makes shorter bodies for style sheets or scripts whose URL stays the same.
fn shorten(
    context: &PageContext<'_>,
    kind: ResourceKind,
    except: &[&PageUrl],
    shorter: &mut Vec<(PageUrl, String)>,
) -> FilterReport {
    let is_css = kind == ResourceKind::StyleSheet;
    let mut report =
        FilterReport::new(if is_css { FilterName::RewriteCss } else { FilterName::RewriteJavascript });
    let mut seen: Vec<&PageUrl> = Vec::new();
    for url in context.scan.of_kind(kind).filter_map(|resource| resource.url.as_ref()) {
        let own = url.is_same_origin(context.url) && !except.contains(&url) && !seen.contains(&url);
        let Some(resource) = context.resources.get(url).filter(|resource| own && resource.is_ok()) else {
            continue;
        };
        seen.push(url);
        if is_excluded(context, url) {
            report.skip(url.to_string(), &EXCLUDED);
            continue;
        }
        if has_integrity(context, url) {
            report.skip(url.to_string(), &"the page names a digest of it (integrity)");
            continue;
        }
        let Some(text) = resource.text() else {
            report.skip(url.to_string(), &"not UTF-8");
            continue;
        };
        let result = if is_css {
            rewrite_css(text, &context.options.limits).map_err(|refusal| refusal.to_string())
        } else {
            rewrite_javascript(text, &context.options.limits).map_err(|refusal| refusal.to_string())
        };
        match result {
            Ok(result) if result.len() < text.len() => {
                report.change(text.len() - result.len());
                shorter.push((url.clone(), result));
            }
            Ok(_) => {}
            Err(reason) => report.skip(url.to_string(), &reason),
        }
    }
    report
}

/// Returns whether a URL, or an element that names it, is excluded.
fn is_excluded(context: &PageContext<'_>, url: &PageUrl) -> bool {
    let mut named = context.scan.resources.iter().filter(|resource| resource.url.as_ref() == Some(url));
    context.options.exclude.covers_url(url) || named.any(|resource| context.is_excluded[resource.token])
}

fn has_integrity(context: &PageContext<'_>, url: &PageUrl) -> bool {
    context.scan.resources.iter().filter(|resource| resource.url.as_ref() == Some(url)).any(|resource| {
        matches!(&context.tokens[resource.token].kind, HtmlKind::Start(tag) if tag.has("integrity"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(path: &str) -> PageUrl {
        PageUrl::parse(&format!("http://a.test{path}")).expect("absolute")
    }

    fn site(files: &[(&str, &str, &str)]) -> PageResources {
        files
            .iter()
            .map(|(path, kind, body)| (url(path), PageResource::sample(url(path), kind, body)))
            .collect()
    }

    fn optimized(html: &str, files: &[(&str, &str, &str)]) -> OptimizedPage {
        let page = PageResource::sample(url("/"), "text/html", html);
        optimize(&page, &site(files), &OptimizeOptions::default()).expect("unambiguous")
    }

    fn report(page: &OptimizedPage, name: FilterName) -> &FilterReport {
        page.reports.iter().find(|report| report.filter == name).expect("all filters")
    }

    const FILES: [(&str, &str, &str); 5] = [
        ("/a/1.css", "text/css", "a { b: url(i.png) }"),
        ("/2.css", "text/css", "/* 2 */ p { q: r }"),
        ("/3.css", "text/css", "@import 'x.css'; s { t: u }"),
        ("/x.css", "text/css", "x{}"),
        ("/j.js", "text/javascript", "f( 1 ); // 'named-css'"),
    ];

    #[test]
    fn adjacent_sheets_become_one() {
        let page = "<head><link rel=stylesheet href=/a/1.css>\n <!-- c --><link rel=icon href=i>\
                    <link rel='stylesheet' id='two-css' media='all' href='/2.css' type='text/css' /></head>  <p>";
        let result = optimized(page, &FILES);
        assert_eq!(result.bundles.len(), 1);
        let bundle = &result.bundles[0];
        assert_eq!(bundle.text, "a{b:url(/a/i.png)}\np{q:r}");
        assert!(
            bundle.path.starts_with("/_myriad/")
                && bundle.path.len() == "/_myriad/".len() + 32 + ".css".len(),
            "{}",
            bundle.path
        );
        let link = format!("<link rel=\"stylesheet\" href=\"{}\">", bundle.path);
        assert_eq!(result.html, format!("<head>{link}\n<!-- c --><link rel=icon href=i></head> <p>"));
        let combined = report(&result, FilterName::CombineCss);
        assert_eq!((combined.changed, combined.requests_saved), (1, 1));
        assert!(report(&result, FilterName::RewriteCss).bytes_saved > 0);
    }

    #[test]
    fn sheets_that_must_stay_apart_are_not_combined() {
        let one = "<link rel=stylesheet href=/a/1.css>";
        let two = "<link rel=stylesheet href=/2.css>";
        for between in [
            "<style>a{}</style>",
            "<script>x</script>",
            "text",
            "<link rel=stylesheet href=/no.css>",
            "<!--[if IE]><![endif]-->",
            "<noscript></noscript>",
            "<meta http-equiv=x>",
            "</head>",
            "<link rel=stylesheet href=//b.test/x.css>",
        ] {
            let result = optimized(&format!("{one}{between}{two}"), &FILES);
            assert!(result.bundles.is_empty(), "{between}");
        }
        for second in [
            "<link rel=stylesheet href=/2.css media=print>",
            "<link rel=stylesheet href=/2.css title=x>",
            "<link rel=stylesheet href=/2.css integrity=x>",
            "<link rel=stylesheet href=/2.css onload=x>",
            "<link rel=stylesheet href=/2.css id=named-css><script src=/j.js></script>",
            "<link rel=stylesheet href=/3.css>",
            "<link rel=stylesheet href=/2.css><script>document.styleSheets</script>",
            "<link rel=stylesheet href=/2.css><meta http-equiv=Content-Security-Policy content=x>",
        ] {
            let result = optimized(&format!("{one}{second}"), &FILES);
            assert!(result.bundles.is_empty(), "{second}");
        }
        // A sheet with imports may be the first.
        let result = optimized(&format!("<link rel=stylesheet href=/3.css>{two}"), &FILES);
        assert_eq!(result.bundles[0].text, "@import \"/x.css\";s{t:u}\np{q:r}");
    }

    #[test]
    fn sheets_are_not_combined_if_the_new_url_would_be_on_another_site() {
        let links =
            "<link rel=stylesheet href=http://a.test/a/1.css><link rel=stylesheet href=http://a.test/2.css>";
        for (base, count) in [("", 1), ("<base href=/x/>", 1), ("<base href=//b.test/>", 0)] {
            assert_eq!(optimized(&format!("{base}{links}"), &FILES).bundles.len(), count, "{base}");
        }
    }

    #[test]
    fn imported_sheets_are_read_once() {
        let importing = |name: &str| format!("@import '{name}';").repeat(1000);
        let (a, b, c, d) = (importing("b.css"), importing("c.css"), importing("d.css"), importing("a.css"));
        let files = [
            ("/a.css", "text/css", a.as_str()),
            ("/b.css", "text/css", b.as_str()),
            ("/c.css", "text/css", c.as_str()),
            ("/d.css", "text/css", d.as_str()),
        ];
        let result = optimized("<link rel=stylesheet href=/a.css><p>a  b", &files);
        assert_eq!(report(&result, FilterName::CollapseWhitespace).changed, 1);
    }

    #[test]
    fn encoding_of_sheets_is_that_of_the_page() {
        let page =
            |head: &str| format!("{head}<link rel=stylesheet href=/1.css><link rel=stylesheet href=/2.css>");
        let files = [("/1.css", "text/css", "a{content:'\u{e9}'}"), ("/2.css", "text/css", "b{}")];
        assert_eq!(optimized(&page("<meta charset=utf-8>"), &files).bundles.len(), 1);
        assert!(optimized(&page(""), &files).bundles.is_empty());
        let other = PageResource::sample(url("/"), "text/html", &page("<meta charset=iso-8859-1>"));
        assert!(optimize(&other, &site(&files), &OptimizeOptions::default()).is_err());
    }

    #[test]
    fn doubtful_responses_are_not_combined() {
        for (kind, body) in [("text/plain", "a{}"), ("text/css", "a{"), ("text/css", "a")] {
            let page = "<link rel=stylesheet href=/1.css><link rel=stylesheet href=/2.css>";
            let result = optimized(page, &[("/1.css", kind, body), ("/2.css", "text/css", "b{}")]);
            assert!(result.bundles.is_empty(), "{kind} {body}");
            assert_eq!(report(&result, FilterName::CombineCss).skipped.len(), 1);
        }
    }

    #[test]
    fn white_space_stays_if_a_sheet_may_show_it() {
        let page = |head: &str| format!("{head}<p>  a  </p><script src=/j.js></script>");
        let collapses =
            |head: &str| report(&optimized(&page(head), &FILES), FilterName::CollapseWhitespace).changed == 1;
        assert!(collapses("") && collapses("<style>.pre{white-space:pre}</style>"));
        assert!(collapses("<link rel=stylesheet href=https://fonts.googleapis.com/css?family=x>"));
        for head in [
            "<style>*{white-space:pre}</style>",
            "<style>.f{white-space:pre}</style>",
            "<style>@import 'missing.css';</style>",
            "<link rel=stylesheet href=//b.test/x.css>",
            "<link rel=stylesheet href=/missing.css>",
            "<style>a{</style>",
        ] {
            assert!(!collapses(head), "{head}");
        }
    }

    #[test]
    fn resources_keep_their_urls_when_they_become_shorter() {
        let page = "<link rel=stylesheet href=/2.css><script src=/j.js></script><script src=/j.js></script>";
        let result = optimized(page, &FILES);
        let shorter: Vec<_> = result.shorter.iter().map(|(url, text)| (url.path(), text.as_str())).collect();
        assert_eq!(shorter, [("/2.css", "p{q:r}"), ("/j.js", "f(1);")]);
        let guarded = optimized("<script src=/j.js integrity=sha256-x></script>", &FILES);
        assert!(guarded.shorter.is_empty());
    }

    fn with_options(html: &str, change: impl FnOnce(&mut OptimizeOptions)) -> OptimizedPage {
        let page = PageResource::sample(url("/"), "text/html", html);
        let mut options = OptimizeOptions::default();
        change(&mut options);
        optimize(&page, &site(&FILES), &options).expect("unambiguous")
    }

    /// Page that each filter changes.
    const ALL: &str = "<link rel=stylesheet href=/a/1.css><link rel=stylesheet href=/2.css><p class=x>  a  </p><script src=/j.js></script>\
        <img src=a width=300 height=300><img src=b width=99 height=99><img src=c width=99 height=99><img class=x src=d width=99 height=99>\
        <link media=print rel=stylesheet href=/2.css>";

    #[test]
    fn filter_that_is_off_leaves_no_trace() {
        for filter in FilterName::ALL {
            let on = with_options(ALL, |_| {});
            assert!(report(&on, filter).changed > 0, "{filter:?} {on:?}");
            let off = with_options(ALL, |options| options.filters = options.filters.without(filter));
            assert!(off.reports.iter().all(|report| report.filter != filter), "{off:?}");
            let all: Vec<_> = off.reports.iter().map(|report| report.filter).collect();
            assert!(all.is_sorted() && all.len() == FilterName::ALL.len() - 1, "{all:?}");
            let shorter: Vec<_> = off.shorter.iter().map(|(url, _)| url.path()).collect();
            let has_trace = match filter {
                FilterName::CollapseWhitespace => !off.html.contains("  a  "),
                FilterName::CombineCss => !off.bundles.is_empty(),
                FilterName::RewriteCss => {
                    shorter != ["/j.js"]
                        || off.bundles[0].text != "a { b: url(/a/i.png) }\n/* 2 */ p { q: r }"
                }
                FilterName::RewriteJavascript => shorter.contains(&"/j.js"),
                FilterName::LazyloadImages => off.html.contains("loading="),
                FilterName::DecodeImagesAsync => off.html.contains("decoding="),
                FilterName::PrioritizeLargestImage => off.html.contains("fetchpriority="),
            };
            assert!(!has_trace, "{filter:?} {off:?}");
        }
        let none = with_options(ALL, |options| options.filters = crate::FilterSet::none());
        assert_eq!((none.html.as_str(), none.bundles.len(), none.reports.len()), (ALL, 0, 0));
        assert!(none.shorter.is_empty() && none.dependencies.is_empty());
    }

    #[test]
    fn excluded_urls_and_elements_are_left_unchanged() {
        let excluding = |word: &str| with_options(ALL, |options| options.exclude.add(word).expect(word));
        let by_url = excluding("/2.css");
        assert!(by_url.bundles.is_empty() && by_url.shorter.iter().all(|(url, _)| url.path() != "/2.css"));
        assert_eq!(report(&by_url, FilterName::CombineCss).skipped[0].reason, EXCLUDED);
        assert_eq!(report(&by_url, FilterName::RewriteCss).skipped[0].reason, EXCLUDED);
        let by_element = excluding("[href='/2.css']");
        assert!(by_element.bundles.is_empty());
        let scripts = excluding("*.js");
        assert_eq!(report(&scripts, FilterName::RewriteJavascript).changed, 0);
        let images = excluding(".x");
        assert!(images.html.contains("<p class=x>  a  </p>") && images.html.contains("<img class=x src=d"));
        assert_eq!(report(&images, FilterName::CollapseWhitespace).skipped[0].subject, "2 elements");
        assert_eq!(report(&images, FilterName::LazyloadImages).skipped[0].reason, EXCLUDED);
        assert!(excluding("http://a.test/d").html.contains("<img class=x src=d"));
        let page = PageResource::sample(url("/"), "text/html", ALL);
        let mut options = OptimizeOptions::default();
        options.exclude.add("/").expect("valid");
        assert_eq!(optimize(&page, &site(&FILES), &options).expect_err("excluded"), EXCLUDED);
    }

    #[test]
    fn dependencies_are_the_resources_that_were_read() {
        let page = "<link rel=stylesheet href=/3.css><script src=/j.js></script><script src=/missing.js></script><p>";
        let result = optimized(page, &FILES);
        let found: Vec<_> = result.dependencies.iter().map(|(url, _)| url.path()).collect();
        assert_eq!(found, ["/3.css", "/j.js", "/x.css"]);
        let changed = [("/3.css", "text/css", "s{}"), ("/j.js", "text/javascript", FILES[4].2)];
        let other = optimized(page, &changed);
        assert_ne!(other.dependencies[0], result.dependencies[0]);
        assert_eq!(other.dependencies[1], result.dependencies[1]);
        let failed = PageResource { status: 404, ..PageResource::sample(url("/a"), "text/html", "x") };
        assert_eq!(failed.digest(), [0; 16]);
    }
}
