//! Pages: tokens, resources, and collapse of white space. An independent parser (html5ever) builds the same tree from the
//! result, except for white space in texts.
#![no_main]

use html5ever::tendril::TendrilSink;
use libfuzzer_sys::fuzz_target;
use markup5ever_rcdom::{Handle, NodeData, RcDom};
use myriad_optimize::html::{ResourceKind, collapse_whitespace, scan, tokenize};
use myriad_optimize::{OptimizeOptions, PageResource, PageResources, PageUrl, optimize};

/// Writes the tree, with runs of white space as one space.
fn written(node: &Handle, out: &mut String, depth: usize) {
    if depth > 200 {
        return;
    }
    match &node.data {
        NodeData::Text { contents } => {
            out.push('"');
            for c in contents.borrow().chars() {
                let c = if matches!(c, '\t' | '\n' | '\r') { ' ' } else { c };
                if c != ' ' || !out.ends_with(' ') {
                    out.push(c);
                }
            }
        }
        NodeData::Element { name, attrs, .. } => {
            out.push_str(&format!("<{:?} {:?}>", name, attrs.borrow()));
        }
        NodeData::Comment { contents } => out.push_str(&format!("<!--{contents}-->")),
        _ => {}
    }
    for child in node.children.borrow().iter() {
        written(child, out, depth + 1);
    }
    out.push('/');
}

fn tree(page: &str) -> String {
    let options = html5ever::ParseOpts {
        tree_builder: html5ever::tree_builder::TreeBuilderOpts { scripting_enabled: true, ..Default::default() },
        ..Default::default()
    };
    let dom = html5ever::parse_document(RcDom::default(), options).one(page);
    let mut out = String::new();
    written(&dom.document, &mut out, 0);
    out
}

fuzz_target!(|bytes: &[u8]| {
    // A page, and the body of each of its resources.
    let (bytes, body) = match bytes.iter().position(|byte| *byte == 0) {
        Some(at) => (&bytes[..at], &bytes[at + 1..]),
        None => (bytes, &b""[..]),
    };
    let Ok(page) = str::from_utf8(bytes) else { return };
    let options = OptimizeOptions::default();
    let limits = &options.limits;
    let Ok(tokens) = tokenize(page, limits) else { return };
    let mut end = 0;
    for token in &tokens {
        assert_eq!(token.range.start, end);
        end = token.range.end;
    }
    assert_eq!(end, page.len());
    let url = PageUrl::parse("http://a.test/b/").expect("absolute");
    let mut resources = PageResources::new();
    for resource in scan(page, &tokens, &url).resources {
        let text = resource.url.as_ref().map_or(String::new(), |url| url.to_string());
        assert!(text.bytes().all(|byte| byte.is_ascii_graphic()), "{text}");
        let media_type = match resource.kind {
            ResourceKind::StyleSheet => "text/css",
            ResourceKind::Script => "text/javascript",
            _ => "image/png",
        };
        if let Some(url) = resource.url {
            resources.insert(url.clone(), response(url, media_type, body));
        }
    }
    if let Ok(shorter) = collapse_whitespace(page, &[], &|_| false, limits) {
        assert_eq!(tree(page), tree(&shorter), "{page:?} {shorter:?}");
        assert_eq!(collapse_whitespace(&shorter, &[], &|_| false, limits).as_deref(), Ok(shorter.as_str()));
    }
    let _ = optimize(&response(url, "text/html", bytes), &resources, &options);
});

fn response(url: PageUrl, media_type: &str, body: &[u8]) -> PageResource {
    PageResource {
        url,
        status: 200,
        media_type: media_type.to_owned(),
        charset: None,
        encoding: String::new(),
        fresh_s: None,
        has_validator: false,
        transfer_bytes: 0,
        redirects: 0,
        has_policy: false,
        body: body.to_vec(),
    }
}
