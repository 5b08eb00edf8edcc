//! Time for a page with many style sheets and scripts. The following command prints it:
//! `cargo test --release -p myriad-optimize --test speed -- --nocapture`.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use myriad_optimize::{OptimizeOptions, PageResource, PageResources, PageUrl, optimize};

const ELEMENT: &str = "<div class=\"entry is-layout-flow\" id=\"main\">\n   <p class=\"has-text\">Lorem ipsum   dolor sit amet,\n      \
    <a href=\"/x\">consectetur</a> elit.</p>\n  <img src=\"/i.png\" alt=\"\" class=\"a b\">\n</div>\n";
const RULE: &str = "/* Comment */\n.entry .number > a:hover , p {\n    margin: 0 auto;\n    height: 10px;\n    background: url( img/a.png ) ;\n}\n";
const FUNCTION: &str = "function number( a, b ) {\n    // Comment\n    if ( a > b ) {\n        return document.querySelector( '.entry' );\n    }\n    \
    return a / b + /x+/.test( a );\n}\n";

fn response(path: &str, media_type: &str, body: String) -> PageResource {
    let url = PageUrl::parse(&format!("http://a.test{path}")).expect("absolute");
    PageResource::new(url, &format!("{media_type}; charset=utf-8"), body.into_bytes())
}

/// Returns the time for a page of 5 KB with one style sheet and one script of 20 KB each, all `factor` times.
fn time(factor: usize) -> Duration {
    let mut resources = PageResources::new();
    let mut head = "<!doctype html><meta charset=utf-8>".to_owned();
    let mut foot = String::new();
    for number in 0..factor {
        // Different names, so that there are many different rules.
        let of_size = |text: &str| {
            (0..20_000 / text.len())
                .map(|rule| text.replace("number", &format!("n{number}-{rule}")))
                .collect::<String>()
        };
        let _ = writeln!(head, "<link rel=stylesheet href=/{number}.css><meta>");
        let _ = writeln!(foot, "<script src=/s{number}.js></script>");
        let script =
            of_size(FUNCTION).replace("n-", "n_").replace(&format!("n{number}-"), &format!("n{number}_"));
        for found in [
            response(&format!("/{number}.css"), "text/css", of_size(RULE)),
            response(&format!("/s{number}.js"), "text/javascript", script),
        ] {
            resources.insert(found.url.clone(), found);
        }
    }
    let page = response("/", "text/html", head + &ELEMENT.repeat(factor * 5000 / ELEMENT.len()) + &foot);
    let start = Instant::now();
    let optimized = optimize(&page, &resources, &OptimizeOptions::default()).expect("readable");
    let time = start.elapsed();
    assert!(optimized.bundles.len() > factor, "{:?}", optimized.reports);
    time
}

#[test]
fn work_is_linear() {
    let of = |factor| (0..3).map(|_| time(factor)).min().unwrap_or_default();
    let (small, large) = (of(3), of(24));
    println!(
        "page of 15 KB, 3 style sheets, 3 scripts: {small:?}; 8 times of each: {large:?}; 100 KB, 20, 20: {:?}",
        of(20)
    );
    assert!(large < small * 24, "{small:?} {large:?}");
}
