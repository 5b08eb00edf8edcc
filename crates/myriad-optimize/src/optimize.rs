//! All filters, applied to a page.

use crate::css::rewrite_css;
use crate::edit::edited;
use crate::filter::{FilterName, FilterReport};
use crate::html::{
    HtmlKind, HtmlToken, PageScan, ResourceKind, collapse_whitespace, declared_encoding, scan, tokenize,
};
use crate::images::{image_size, order_loading};
use crate::js::rewrite_javascript;
use crate::page_styles::{CssBundle, PageContext, PageResources, combine_styles, preserving_elements};
use crate::{OptimizeLimits, PageResource, PageUrl};

/// Equivalent, smaller form of a page.
#[derive(Clone, Debug)]
pub struct OptimizedPage {
    /// Page.
    pub html: String,
    /// New style sheets that the page names.
    pub bundles: Vec<CssBundle>,
    /// Shorter bodies of resources whose URLs stay the same, in the order of the page.
    pub shorter: Vec<(PageUrl, String)>,
    /// Report of each filter, in the order of [`FilterName`].
    pub reports: Vec<FilterReport>,
}

/// Applies all filters. Returns an error text if the page cannot be read; the original is then used.
pub fn optimize(
    page: &PageResource,
    resources: &PageResources,
    limits: &OptimizeLimits,
) -> Result<OptimizedPage, String> {
    let text = page.text().ok_or("the page is not UTF-8")?;
    let tokens = tokenize(text, limits).map_err(|refusal| refusal.to_string())?;
    let scanned = scan(text, &tokens, &page.url);
    let charset = page.charset.clone().or_else(|| declared_encoding(&tokens));
    if charset.as_deref().is_some_and(|charset| !matches!(charset, "utf-8" | "utf8" | "us-ascii")) {
        return Err("the page is not UTF-8".to_owned());
    }
    let scripts = script_texts(text, &scanned, resources, &page.url);
    let context = PageContext {
        page: text,
        url: &page.url,
        charset: charset.as_deref(),
        tokens: &tokens,
        scan: &scanned,
        resources,
        scripts: &scripts,
        limits,
    };
    let mut combined = if has_policy(page, &tokens) {
        let mut report = FilterReport::new(FilterName::CombineCss);
        report.skip("page", &"it has a Content-Security-Policy");
        crate::page_styles::CombinedStyles { edits: Vec::new(), bundles: Vec::new(), report, bytes_saved: 0 }
    } else {
        combine_styles(&context)
    };
    let combined_html = edited(text, &combined.edits);
    let combined_tokens = tokenize(&combined_html, limits).map_err(|refusal| refusal.to_string())?;
    let combined_scan = scan(&combined_html, &combined_tokens, &page.url);
    combined.report.requests_saved = scanned.urls().len().saturating_sub(combined_scan.urls().len());
    let mut shorter = Vec::new();
    let combined_urls: Vec<&PageUrl> = combined.bundles.iter().flat_map(|bundle| &bundle.parts).collect();
    let mut css = shorten(&context, ResourceKind::StyleSheet, &combined_urls, &mut shorter);
    css.bytes_saved += combined.bytes_saved as u64;
    css.changed += combined.bundles.len();
    let js = shorten(&context, ResourceKind::Script, &[], &mut shorter);
    let size_of = |url: &PageUrl| image_size(&resources.get(url)?.body).map(|size| (size.width, size.height));
    let images = order_loading(&combined_html, &combined_tokens, &combined_scan, &size_of, &scripts);
    let mut html = images.page;
    let mut whitespace = FilterReport::new(FilterName::CollapseWhitespace);
    match preserving_elements(&context).and_then(|preserving| {
        collapse_whitespace(&html, &preserving, limits).map_err(|refusal| refusal.to_string())
    }) {
        Ok(collapsed) if collapsed.len() < html.len() => {
            whitespace.change(html.len() - collapsed.len());
            html = collapsed;
        }
        Ok(_) => {}
        Err(reason) => whitespace.skip("page", &reason),
    }
    let bundles = std::mem::take(&mut combined.bundles);
    let mut reports = vec![whitespace, combined.report, css, js];
    reports.extend(images.reports);
    Ok(OptimizedPage { html, bundles, shorter, reports })
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
        if has_integrity(context, url) {
            report.skip(url.to_string(), &"the page names a digest of it (integrity)");
            continue;
        }
        let Some(text) = resource.text() else {
            report.skip(url.to_string(), &"not UTF-8");
            continue;
        };
        let result = if is_css {
            rewrite_css(text, context.limits).map_err(|refusal| refusal.to_string())
        } else {
            rewrite_javascript(text, context.limits).map_err(|refusal| refusal.to_string())
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
        optimize(&page, &site(files), &OptimizeLimits::default()).expect("unambiguous")
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
        assert!(optimize(&other, &site(&files), &OptimizeLimits::default()).is_err());
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
}
