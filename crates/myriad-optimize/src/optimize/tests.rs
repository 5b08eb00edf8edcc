//! Tests of all filters together.

use super::*;
use crate::{BundleKind, FilterSet};

fn url(path: &str) -> PageUrl {
    PageUrl::parse(&format!("http://a.test{path}")).expect("absolute")
}

fn site(files: &[(&str, &str, &str)]) -> PageResources {
    files.iter().map(|(path, kind, body)| (url(path), PageResource::sample(url(path), kind, body))).collect()
}

fn optimized(html: &str, files: &[(&str, &str, &str)]) -> OptimizedPage {
    let page = PageResource::sample(url("/"), "text/html", html);
    let filters = FilterSet::safe().without(FilterName::InlineCss);
    let options = OptimizeOptions { filters, ..OptimizeOptions::default() };
    optimize(&page, &site(files), &options).expect("unambiguous")
}

fn report(page: &OptimizedPage, name: FilterName) -> &FilterReport {
    page.reports.iter().find(|report| report.filter == name).expect("all filters")
}

const FILES: [(&str, &str, &str); 6] = [
    ("/a/1.css", "text/css", "a { b: url(i.png) }"),
    ("/2.css", "text/css", "/* 2 */ p { q: r }"),
    ("/3.css", "text/css", "@import 'x.css'; s { t: u }"),
    ("/x.css", "text/css", "x{}"),
    ("/j.js", "text/javascript", SCRIPT),
    ("/i.gif", "image/gif", "GIF89a\x05\0\x07\0"),
];

/// Script that becomes more than 512 bytes shorter.
const SCRIPT: &str = concat!(
    "f( 1 ); // 'named-css' ",
    "comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment"
);

#[test]
fn adjacent_sheets_become_one() {
    let page = "<head><link rel=stylesheet href=/a/1.css>\n <!-- c --><link rel=icon href=i>\
                <link rel='stylesheet' id='two-css' media='all' href='/2.css' type='text/css' /></head>  <p>";
    let result = optimized(page, &FILES);
    assert_eq!(result.bundles.len(), 1);
    let bundle = &result.bundles[0];
    assert_eq!(bundle.text, "a{b:url(/a/i.png)}\np{q:r}");
    assert!(
        bundle.path.starts_with("/_myriad/") && bundle.path.len() == "/_myriad/".len() + 32 + ".css".len(),
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
        assert!(result.bundles.iter().all(|bundle| bundle.kind != BundleKind::Css), "{second}");
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
    let ascii = PageResource::sample(url("/"), "text/html", &page("<meta charset=us-ascii>\u{e9}"));
    assert!(optimize(&ascii, &site(&files), &OptimizeOptions::default()).is_err());
}

#[test]
fn sheet_declares_its_encoding_by_its_first_bytes() {
    let links = "<link rel=stylesheet href=/1.css><link rel=stylesheet href=/2.css>";
    let combined = |page: &str, kind: &str, first: &str| {
        let result = optimized(page, &[("/1.css", kind, first), ("/2.css", "text/css", "b{}")]);
        result.bundles.first().map(|bundle| bundle.text.clone())
    };
    let in_utf8 = format!("<meta charset=utf-8>{links}");
    let (utf8, latin) = ("@charset \"utf-8\";a{b:'\u{e9}'}", "@charset \"iso-8859-1\";a{b:'\u{e9}'}");
    let expected = Some("a{b:'\u{e9}'}\nb{}".to_owned());
    assert_eq!(combined(links, "text/css", utf8), expected);
    assert_eq!(combined(&in_utf8, "text/css", latin), None);
    assert_eq!(combined(&in_utf8, "text/css", &format!(" {latin}")), expected, "not the first bytes");
    // The response and the byte order mark take precedence.
    assert_eq!(combined(links, "text/css; charset=utf-8", latin), expected);
    assert_eq!(combined(links, "text/css", &format!("\u{feff}{latin}")), expected);
    assert_eq!(combined(&in_utf8, "text/css; charset=us-ascii", utf8), None);
    let attribute = in_utf8.replace("href=/1.css", "href=/1.css charset=iso-8859-1");
    assert_eq!(combined(&attribute, "text/css", "a{b:'\u{e9}'}"), None);
}

#[test]
fn charset_rules_of_style_elements_are_ignored() {
    let page = "<script src=/j.js></script><script src=/j.js?2></script><link rel=stylesheet href=/a/1.css>\
                <style>@charset \"iso-8859-1\";e{}</style><link rel=stylesheet href=/2.css></head>";
    let files = [FILES[0], FILES[1], FILES[4], ("/j.js?2", "text/javascript", SCRIPT)];
    let result = optimized(page, &files);
    assert_eq!(result.bundles[0].text, "a{b:url(/a/i.png)}\ne{}\np{q:r}");
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

/// Style sheet that becomes more than 512 bytes shorter.
const SHEET: &str = concat!(
    "p { q: url(i.png) } /* ",
    "comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment comment */"
);

#[test]
fn single_files_become_shorter_under_another_url() {
    let files = [("/s/1.css", "text/css", SHEET), ("/j.js", "text/javascript", SCRIPT)];
    let page = "<link rel=stylesheet href=/s/1.css id=x-css title=t><p><link rel=stylesheet href=/s/1.css media=print>\
                <script id='j-js' src=/j.js defer></script><i><script src='/j.js'></script>";
    let result = optimized(page, &files);
    let bundles: Vec<_> = result.bundles.iter().map(|bundle| (bundle.kind, bundle.text.as_str())).collect();
    assert_eq!(bundles, [(BundleKind::Css, "p{q:url(/s/i.png)}"), (BundleKind::Js, "f(1);")]);
    let (css, js) = (&result.bundles[0].path, &result.bundles[1].path);
    assert_eq!(
        result.html,
        format!(
            "<link rel=stylesheet href=\"{css}\" id=x-css title=t><p><link rel=stylesheet href=\"{css}\" media=print>\
             <script id='j-js' src=\"{js}\" defer></script><i><script src=\"{js}\"></script>"
        )
    );
    assert_eq!(js.len(), "/_myriad/.js".len() + 32);
    assert_eq!(result.bundles[1].parts, [url("/j.js")]);
    // One file is one bundle, whatever else a page contains.
    let other = optimized("<script src=http://a.test/j.js></script>", &files);
    assert_eq!(other.bundles, result.bundles[1..]);
}

#[test]
fn sheets_that_may_depend_on_their_url_keep_it() {
    let files = [("/s.css", "text/css", SHEET), ("/j.js", "text/javascript", "f('named-css')")];
    let is_changed = |page: &str| !optimized(page, &files).bundles.is_empty();
    assert!(is_changed("<link rel=stylesheet href=/s.css>"));
    for page in [
        "<link rel=stylesheet href=/s.css integrity=x>",
        "<link rel=stylesheet href=/s.css crossorigin>",
        "<link rel='stylesheet preload' href=/s.css>",
        "<link rel=stylesheet href=/s.css id=named-css><script src=/j.js></script>",
        "<link rel=stylesheet href=/s.css><script>document.styleSheets</script>",
        "<link rel=preload as=style href=/s.css><link rel=stylesheet href=/s.css>",
        "<link rel=stylesheet href=/s.css><p><link rel=stylesheet href=/s.css integrity=x>",
        "<base href=//b.test/><link rel=stylesheet href=http://a.test/s.css>",
        "<meta http-equiv=Content-Security-Policy content=x><link rel=stylesheet href=/s.css>",
    ] {
        assert!(!is_changed(page), "{page}");
    }
}

#[test]
fn scripts_that_may_depend_on_their_url_keep_it() {
    let changed = |page: &str, script: &str| {
        let script = format!("{script}\n{SCRIPT}");
        let result = optimized(page, &[("/x/j.js", "text/javascript", &script)]);
        (!result.bundles.is_empty(), report(&result, FilterName::RewriteJavascript).clone())
    };
    let usual = "<script src=/x/j.js></script>";
    assert!(changed(usual, "g()").0);
    for (page, script) in [
        (usual, "document.currentScript"),
        (usual, "import('./a.js')"),
        (usual, "new Error().stack"),
        (usual, "document.getElementsByTagName('script')"),
        (usual, "document.querySelector('script[src*=j]')"),
        (usual, "f('/x/j.js')"),
        (usual, "a++ / b / c"),
        ("<script src=/x/j.js type=module></script>", ""),
        ("<script src=/x/j.js integrity=x></script>", ""),
        ("<script src=/x/j.js crossorigin></script>", ""),
        ("<script src=/x/j.js nonce=x></script>", ""),
        ("<script src=/x/j.js></script><script src=/x/j.js data-no-optimize></script>", ""),
        ("<script src=/x/j.js id=j-js></script><script>document.getElementById('j-js')</script>", ""),
        (usual, "/* j.js */ f('j.js')"),
        ("<script src=/x/j.js></script><script>var urls='\\/x\\/j.js'</script>", ""),
        ("<script src=/x/j.js></script><script>document.scripts</script>", ""),
        ("<link rel=preload as=script href=/x/j.js><script src=/x/j.js></script>", ""),
        ("<base href=//b.test/><script src=http://a.test/x/j.js></script>", ""),
        ("<meta http-equiv=Content-Security-Policy content=x><script src=/x/j.js></script>", ""),
    ] {
        let (is_changed, report) = changed(page, script);
        assert!(!is_changed && report.skipped.len() == 1, "{page} {script} {report:?}");
    }
    assert!(changed(usual, "/* File j.js */").0);
    let longer = "<script src=/x/j.js id=j-js></script><script>//# sourceURL=j-js-after</script>";
    assert!(changed(longer, "").0);
    let mut files = [("/x/j.js", "text/html", SCRIPT)];
    assert!(optimized(usual, &files).bundles.is_empty());
    // Less than 512 bytes, or less than a tenth.
    files = [("/x/j.js", "text/javascript", "f( 1 )")];
    assert!(optimized(usual, &files).bundles.is_empty());
    let long = format!("f('{}'); {SCRIPT}", "a".repeat(9000));
    assert!(optimized(usual, &[("/x/j.js", "text/javascript", &long)]).bundles.is_empty());
}

#[test]
fn small_critical_sheets_move_into_the_page() {
    let inlined = |page: &str, sheet: &str| {
        let files = [("/s/1.css", "text/css", sheet), FILES[1]];
        let page = PageResource::sample(url("/"), "text/html", page);
        optimize(&page, &site(&files), &OptimizeOptions::default()).expect("unambiguous")
    };
    let usual = "<head><link rel=stylesheet href=/s/1.css media=screen id=s-css></head>";
    let result = inlined(usual, "p { q: url(i.png) }");
    assert_eq!(result.html, "<head><style media=\"screen\">p{q:url(/s/i.png)}</style></head>");
    let moved = report(&result, FilterName::InlineCss);
    assert_eq!((moved.changed, moved.requests_saved, result.bundles.len()), (1, 1, 0));
    let both = "<link rel=stylesheet href=/s/1.css><link rel=stylesheet href=/2.css>";
    let result = inlined(both, "a{}");
    assert_eq!(result.html, "<style>a{}\np{q:r}</style>");
    let saved =
        [FilterName::CombineCss, FilterName::InlineCss].map(|name| report(&result, name).requests_saved);
    assert_eq!(saved, [1, 1]);
    let long = format!("a{{b:'{}'}}", "x".repeat(INLINE));
    for (page, sheet) in [
        (usual, "a{b:'</STYLE>'}"),
        (usual, "<!-- a{} -->"),
        (usual, "@import '/2.css';"),
        (usual, "a{content:'\u{e9}'}"),
        (usual, &long),
        ("<p><link rel=stylesheet href=/s/1.css>", "a{}"),
        ("<link rel=stylesheet href=/s/1.css media=print>", "a{}"),
        ("<link rel=stylesheet href=/s/1.css title=x>", "a{}"),
        ("<link rel=stylesheet href=/s/1.css><script>$('style')</script>", "a{}"),
        ("<link rel=stylesheet href=/s/1.css><script>document.styleSheets</script>", "a{}"),
        ("<meta http-equiv=Content-Security-Policy content=x><link rel=stylesheet href=/s/1.css>", "a{}"),
    ] {
        let result = inlined(page, sheet);
        assert!(!result.html.contains("<style"), "{page} {sheet}: {}", result.html);
    }
    let utf8 = inlined(&format!("<meta charset=utf-8>{usual}"), "a{content:'\u{e9}'}");
    assert!(utf8.html.contains("<style"));
}

#[test]
fn sizes_are_inserted_where_the_height_follows_from_the_width() {
    let with_size = |page: &str| {
        let result = optimized(page, &FILES);
        let report = report(&result, FilterName::InsertImageDimensions);
        assert_eq!(report.changed + report.skipped.len(), 1, "{page} {report:?}");
        assert_eq!(result.html.contains("width=\"5\" height=\"7\""), report.changed == 1);
        (
            report.changed == 1,
            report.skipped.first().map(|skipped| skipped.reason.clone()).unwrap_or_default(),
        )
    };
    let auto = "<style>img{max-width:100%;height:auto}</style>";
    for (head, image) in [
        ("", "<img src=/i.gif>"),
        ("", "<p class=a><a><IMG class=b src='/i.gif' alt=x></a>"),
        (".a{height:1px}p{height:1px}img{width:100%}", "<img src=/i.gif>"),
        (".c{display:flex;flex-direction:column}", "<body class=c><div><img src=/i.gif></div>"),
        (".c{flex-direction:column}", "<p class=c></p><img src=/i.gif>"),
        ("img.named{height:1px}", "<script>f('unnamed')</script><img src=/i.gif>"),
        ("img.\u{e9}t{height:1px}", "<script>f('\u{e9}te')</script><img src=/i.gif>"),
    ] {
        assert_eq!(
            with_size(&format!("{auto}<style>{head}</style>{image}")),
            (true, String::new()),
            "{head} {image}"
        );
    }
    for (head, image, reason) in [
        ("<style>.a img{height:auto}</style>", "<img src=/i.gif>", "no style sheet"),
        ("<style media=print>img{height:auto}</style>", "<img src=/i.gif>", "no style sheet"),
        ("<link rel=stylesheet href=/missing.css>", "<img src=/i.gif>", "missing.css"),
        (".b{height:1px}", "<img class='a B' src=/i.gif>", "a rule for .b"),
        ("#b{max-height:1px}", "<img id=b src=/i.gif>", "a rule for #b"),
        (".b{width:1px}", "<img class=b src=/i.gif>", "a rule for .b"),
        (".x img{height:1px}", "<img src=/i.gif>", "a rule for img"),
        ("[data-a]{height:1px}", "<img src=/i.gif>", "a rule for *"),
        (".b{height:1px}", "<img class=&eacute; src=/i.gif>", "a rule for"),
        (".c{flex-direction:column}", "<div class=c><a><img src=/i.gif></a></div>", "may stretch"),
        ("", "<p style='display: contents'><img src=/i.gif>", "may stretch"),
        ("", "<img style='max-height:3px' src=/i.gif>", "style attribute"),
        ("", "<img border=1 src=/i.gif>", "border"),
        ("*{box-sizing:border-box}.b{padding:9px}", "<img class=b src=/i.gif>", "a rule for .b"),
        ("", "<img srcset='/i.gif 1x' src=/i.gif>", "srcset"),
        ("", "<img data-src=x src=/i.gif>", "script"),
        ("", "<picture><source><img src=/i.gif></picture>", "picture"),
        ("", "<img src=/missing.gif>", "was not read"),
        ("", "<img src=/j.js>", "size of the file"),
        ("img.named{height:1px}", "<script>f('named')</script><img src=/i.gif>", "a script names"),
        ("img.\u{e9}t{height:1px}", "<script>f('\u{e9}t')</script><img src=/i.gif>", "a script names"),
    ] {
        let head = if head.contains('<') { head.to_owned() } else { format!("{auto}<style>{head}</style>") };
        let (is_changed, found) = with_size(&format!("{head}{image}"));
        assert!(!is_changed && found.contains(reason), "{head} {image}: {found}");
    }
    let given = optimized(&format!("{auto}<img src=/i.gif width=9><img src=/i.gif height=9>"), &FILES);
    let report = report(&given, FilterName::InsertImageDimensions);
    assert_eq!((report.changed, report.skipped.len()), (0, 0));
}

/// With a search of the scripts for each class, this takes minutes.
#[test]
fn scripts_are_read_once_for_all_classes() {
    let rules = (0..20_000).map(|n| format!("img.\u{e9}{n}{{height:1px}}")).collect::<Vec<_>>().concat();
    let script = "x ".repeat(1_000_000);
    let page = format!("<style>img{{height:auto}}{rules}</style><script>{script}</script><img src=/i.gif>");
    let start = std::time::Instant::now();
    let result = optimized(&page, &FILES);
    assert_eq!(report(&result, FilterName::InsertImageDimensions).changed, 1);
    assert!(start.elapsed() < std::time::Duration::from_secs(20), "{:?}", start.elapsed());
}

#[test]
fn fonts_of_the_page_are_preloaded() {
    let sheet = "@font-face{font-family:'A b';src:url(f.woff2?x=1&y=2) format('woff2')}\
        @font-face{font-family:c;src:url(c.woff2)}:root{--f:'A b',serif}body{font-family:var(--f)}";
    let preloaded = |page: &str, sheet: &str| {
        let result = optimized(page, &[("/s/1.css", "text/css", sheet)]);
        let html = result.html.replace("<link rel=\"preload\" href=\"/s/f.woff2?x=1&amp;y=2\" as=\"font\" type=\"font/woff2\" crossorigin>", "FONT");
        (report(&result, FilterName::HintPreloadSubresources).changed, html)
    };
    let link = "<link rel=stylesheet href=/s/1.css>";
    assert_eq!(preloaded(link, sheet), (1, format!("FONT{link}")));
    let after = preloaded(&format!("<script>1</script><meta charset=utf-8>{link}"), sheet);
    assert_eq!(after.1, format!("<script>1</script><meta charset=utf-8>FONT{link}"));
    for (page, sheet) in [
        ("<link rel=stylesheet media=print href=/s/1.css>", sheet.to_owned()),
        (link, format!("{sheet}body{{font-family:x}}")),
        (link, sheet.replace("body", ".body")),
        (link, sheet.replace("url(f", "url(//b.test/f")),
        (&format!("{link}<link rel=preload as=font href='/s/f.woff2?x=1&amp;y=2'>"), sheet.to_owned()),
        (&format!("{link}<link rel=stylesheet href=/missing.css>"), sheet.to_owned()),
        (&format!("<meta http-equiv=Content-Security-Policy content=x>{link}"), sheet.to_owned()),
    ] {
        let (changed, html) = preloaded(page, &sheet);
        assert!(changed == 0 && !html.contains("\"preload\""), "{page} {sheet}: {html}");
    }
}

#[test]
fn late_largest_image_is_preloaded() {
    let preload = |between: usize, image: &str| {
        let page = format!("<title>t</title><script>1</script><p>{}{image}", "x".repeat(between));
        let result = optimized(&page, &[]);
        let html = result.html;
        let (start, rest) = html.split_once("<script>").expect("script");
        assert_eq!(start.contains("\"preload\""), report_of(&result.reports).changed == 1, "{html}");
        assert!(rest.contains("<img"));
        start.strip_prefix("<title>t</title>").expect("title").to_owned()
    };
    let usual = "<img src='/i.jpg?a=1&amp;b' width=600 height=400>";
    assert_eq!(
        preload(9000, usual),
        "<link rel=\"preload\" href=\"/i.jpg?a=1&amp;b\" as=\"image\" fetchpriority=\"high\">"
    );
    let marked = "<img src=/i.jpg srcset='/i.jpg 600w, /j.jpg 300w' sizes=50vw fetchpriority=high>";
    assert_eq!(
        preload(9000, marked),
        "<link rel=\"preload\" imagesrcset=\"/i.jpg 600w, /j.jpg 300w\" imagesizes=\"50vw\" as=\"image\" fetchpriority=\"high\">"
    );
    for (between, image) in [
        (7000, usual.to_owned()),
        (9000, usual.replace("600", "60")),
        (9000, usual.replace("/i", "//b.test/i")),
        (9000, usual.replace("width", "loading=lazy width")),
        (9000, usual.replace("width", "crossorigin width")),
        (9000, usual.replace("width", "data-src=x width")),
        (9000, format!("<picture><source>{usual}</picture>")),
        (9000, format!("{usual}<link rel=preload as=image href='/i.jpg?a=1&amp;b'>")),
        (9000, format!("<base href=/x/>{marked}")),
    ] {
        assert_eq!(preload(between, &image), "", "{image}");
    }
}

fn report_of(reports: &[FilterReport]) -> &FilterReport {
    reports.iter().find(|report| report.filter == FilterName::HintPreloadSubresources).expect("on")
}

/// Returns the parts of a page that no filter but `collapse_whitespace` may change.
fn fixed_parts(page: &str) -> Vec<String> {
    let tokens = tokenize(page, &OptimizeOptions::default().limits).expect("unambiguous");
    let is_style = |name: &str| matches!(name, "link" | "style");
    let mut parts = Vec::new();
    for (index, token) in tokens.iter().enumerate() {
        let text = &page[token.range.clone()];
        match &token.kind {
            HtmlKind::Start(tag) if is_style(&tag.name) => {}
            HtmlKind::Start(tag) if matches!(tag.name.as_str(), "img" | "script") => {
                parts.push(tag.name.clone());
            }
            HtmlKind::End(name) if is_style(name) => {}
            HtmlKind::RawText if matches!(&tokens[index - 1].kind, HtmlKind::Start(tag) if tag.name == "style") =>
                {}
            _ => parts.push(text.to_owned()),
        }
    }
    parts
}

#[test]
fn random_pages_keep_their_parts() {
    let words = [
        "<link rel=stylesheet href=/a/1.css>",
        "<link rel=stylesheet href=/2.css media='all'/>",
        "<link rel=stylesheet href='/long.css' title=x>",
        "<link href=/3.css rel=stylesheet",
        "<link rel=preload as=style href=/2.css>",
        "<script src=/j.js></script>",
        "<script src='/j.js'async>",
        "<script>f()</script>",
        "</script>",
        "<style>img{height:auto}@font-face{font-family:f;src:url(f.woff2)}body{font-family:f}</style>",
        "<style>",
        "</style>",
        "<img src=/i.gif>",
        "<img src=/i.gif alt='>'/>",
        "<IMG src=x width=400 height=400",
        "<picture>",
        "</picture>",
        "<head>",
        "</head>",
        "<p>",
        "<!-- x -->",
        "<!--",
        "-->",
        "text ",
        ">",
        "'",
        "\"",
        "<svg>",
        "</svg>",
        "<template>",
        "</template>",
        "<noscript>",
        "</noscript>",
        "<base href=/x/>",
        "<meta charset=utf-8>",
    ];
    let long = SHEET.to_owned() + &"q{r:s}".repeat(500);
    let mut files = site(&FILES);
    files.insert(url("/long.css"), PageResource::sample(url("/long.css"), "text/css", &long));
    let filters = FilterSet::safe().without(FilterName::CollapseWhitespace);
    let options = OptimizeOptions { filters, ..OptimizeOptions::default() };
    let mut changed = 0;
    for seed in 0..3000 {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut html: String = (0..random.usize(..16)).filter_map(|_| random.choice(words)).collect();
        if random.u8(..8) == 0 {
            html.push_str(&"\u{e9}".repeat(5000));
            html.extend((0..5).filter_map(|_| random.choice(words)));
        }
        let page = PageResource::sample(url("/"), "text/html", &html);
        let Ok(result) = optimize(&page, &files, &options) else { continue };
        changed += usize::from(result.html != html);
        assert_eq!(fixed_parts(&result.html), fixed_parts(&html), "seed {seed}: {html}");
    }
    assert!(changed > 500, "{changed}");
}

/// Length from which a style sheet stays a file.
const INLINE: usize = 2048;

fn with_options(html: &str, change: impl FnOnce(&mut OptimizeOptions)) -> OptimizedPage {
    let page = PageResource::sample(url("/"), "text/html", html);
    let mut options = OptimizeOptions::default();
    change(&mut options);
    optimize(&page, &site(&FILES), &options).expect("unambiguous")
}

/// Page that each filter changes.
const ALL: &str = "<style>img{height:auto}@font-face{font-family:f;src:url(f.woff2)}body{font-family:f}</style><link rel=stylesheet href=/a/1.css><link rel=stylesheet href=/2.css><p class=x>  a  </p><script src=/j.js></script>\
    <img src=a width=300 height=300><img src=b width=99 height=99><img src=c width=99 height=99><img class=x src=d width=99 height=99>\
    <link media=print rel=stylesheet href=/2.css><img src=/i.gif>";

#[test]
fn filter_that_is_off_leaves_no_trace() {
    let of_images = [FilterName::ConvertJpegToWebp, FilterName::ConvertToWebpLossless];
    let of_pages = || FilterName::ALL.into_iter().filter(|filter| !of_images.contains(filter));
    for filter in of_pages() {
        let on = with_options(ALL, |_| {});
        assert!(report(&on, filter).changed > 0, "{filter:?} {on:?}");
        let off = with_options(ALL, |options| options.filters = options.filters.without(filter));
        assert!(off.reports.iter().all(|report| report.filter != filter), "{off:?}");
        let all: Vec<_> = off.reports.iter().map(|report| report.filter).collect();
        assert!(all.is_sorted() && all.len() == of_pages().count() - 1, "{all:?}");
        let has_bundle = |kind| off.bundles.iter().any(|bundle| bundle.kind == kind);
        let has_trace = match filter {
            FilterName::CollapseWhitespace => !off.html.contains("  a  "),
            FilterName::CombineCss => !off.html.contains("<style>p{q:r}</style>"),
            FilterName::InlineCss => off.html.contains("<style>a"),
            FilterName::RewriteCss => {
                !off.html.contains("<style>a { b: url(/a/i.png) }\n/* 2 */ p { q: r }</style>")
            }
            FilterName::RewriteJavascript => has_bundle(BundleKind::Js),
            FilterName::InsertImageDimensions => off.html.contains("width=\""),
            FilterName::LazyloadImages => off.html.contains("loading="),
            FilterName::DecodeImagesAsync => off.html.contains("decoding="),
            FilterName::HintPreloadSubresources => off.html.contains("rel=\"preload\""),
            FilterName::PrioritizeLargestImage => off.html.contains("fetchpriority="),
            FilterName::ConvertJpegToWebp | FilterName::ConvertToWebpLossless => unreachable!(),
        };
        assert!(!has_trace, "{filter:?} {off:?}");
    }
    let none = with_options(ALL, |options| options.filters = FilterSet::none());
    assert_eq!((none.html.as_str(), none.bundles.len(), none.reports.len()), (ALL, 0, 0));
    assert!(none.dependencies.is_empty());
}

#[test]
fn excluded_urls_and_elements_are_left_unchanged() {
    let excluding = |word: &str| with_options(ALL, |options| options.exclude.add(word).expect(word));
    let by_url = excluding("/2.css");
    assert!(by_url.html.contains("<style>a{b:url(/a/i.png)}</style><link rel=stylesheet href=/2.css>"));
    assert_eq!(report(&by_url, FilterName::CombineCss).skipped[0].reason, EXCLUDED);
    assert_eq!(report(&by_url, FilterName::RewriteCss).skipped[0].reason, EXCLUDED);
    let by_element = excluding("[href='/2.css']");
    assert!(by_element.html.contains("<link rel=stylesheet href=/2.css>"));
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
    let page =
        "<link rel=stylesheet href=/3.css><script src=/j.js></script><script src=/missing.js></script><p>";
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
