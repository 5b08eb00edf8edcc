//! The resources that a page loads.

use std::collections::HashSet;
use std::ops::Range;

use super::tokenizer::{HtmlKind, HtmlTag, HtmlToken};
use crate::PageUrl;
use crate::options::PLACE_MARKER;

/// Names of elements that may be in the head of a page; the start tag of any other element closes the head.
const HEAD: [&str; 12] = [
    "html", "head", "title", "base", "link", "meta", "style", "script", "noscript", "template", "bgsound",
    "basefont",
];

/// Number of bytes of a page in which browsers search for its encoding.
const ENCODING: usize = 1024;

/// Kind of a resource that a page loads, by the element that names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ResourceKind {
    /// `<link rel="stylesheet">`
    StyleSheet,
    /// `<script src>`
    Script,
    /// `<img>`
    Image,
    /// Font that the page preloads.
    Font,
    /// Other resource that the page preloads (`preload`, `modulepreload`).
    Preload,
}

/// Resource that a page loads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScannedResource {
    /// Kind of the resource.
    pub kind: ResourceKind,
    /// Index of the start tag in the tokens.
    pub token: usize,
    /// Absolute URL; `None` if the reference or the URL of the `base` element is not understood, or if the result is
    /// not an `http` or `https` URL.
    pub url: Option<PageUrl>,
    /// True if browsers show nothing of the page (or of what follows) before the resource is loaded.
    pub is_blocking: bool,
}

/// Image of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScannedImage {
    /// Index of the start tag in the tokens.
    pub token: usize,
    /// Absolute URL of `src`; `None` if `src` is missing or not understood, or is no `http` or `https` URL.
    pub url: Option<PageUrl>,
    /// Attributes `width` and `height` in pixels; `None` unless both are positive whole numbers.
    pub size: Option<(u32, u32)>,
}

/// Resources of a page, in their order.
#[derive(Clone, Debug, Default)]
pub struct PageScan {
    /// Resources that the page loads; one that it names twice is listed twice.
    pub resources: Vec<ScannedResource>,
    /// Images of the page, except those within `template` and those with an empty `src`.
    pub images: Vec<ScannedImage>,
    /// Ranges of the page that are texts of `script` elements without `src` that browsers run, also within `template`.
    pub inline_scripts: Vec<Range<usize>>,
    /// Ranges of the page that are texts of `style` elements, also within `template`.
    pub inline_styles: Vec<Range<usize>>,
    /// Number of `img`, `script` and `link` tags with an empty `src` or `href`, for which some browsers request the
    /// page again.
    pub empty_references: usize,
    /// Index of the end tag of the head; without that tag, index of the first token that is not part of the head. The
    /// number of tokens if the whole page is part of the head.
    pub head_end: usize,
    /// URL against which references are resolved; `None` if the URL of the `base` element is not understood.
    pub base: Option<PageUrl>,
}

impl PageScan {
    /// Returns the URLs that browsers request for the page, each once.
    pub(crate) fn urls(&self) -> HashSet<&PageUrl> {
        self.resources.iter().filter_map(|resource| resource.url.as_ref()).collect()
    }

    /// Returns the resources of `kind`, in the order of the page.
    pub fn of_kind(&self, kind: ResourceKind) -> impl Iterator<Item = &ScannedResource> {
        self.resources.iter().filter(move |resource| resource.kind == kind)
    }
}

/// Lists the resources that a page loads, without elements in `template` and style sheets that are alternate or
/// disabled. `url` is the URL of the page; a `base` element changes the base of relative URLs.
pub fn scan(page: &str, tokens: &[HtmlToken<'_>], url: &PageUrl) -> PageScan {
    let mut scanner = Scanner {
        scan: PageScan { base: base_of(tokens, url), head_end: tokens.len(), ..PageScan::default() },
        is_in_head: true,
        templates: 0,
    };
    for (index, token) in tokens.iter().enumerate() {
        match &token.kind {
            HtmlKind::Start(tag) => scanner.start(index, tag),
            HtmlKind::End(name) => match name.as_str() {
                "template" => scanner.templates = scanner.templates.saturating_sub(1),
                "head" => scanner.leave_head(index),
                _ => {}
            },
            HtmlKind::Text if !is_text_of_head(&page[token.range.clone()]) => scanner.leave_head(index),
            HtmlKind::RawText => scanner.raw_text(&tokens[index - 1], token.range.clone()),
            _ => {}
        }
    }
    scanner.scan
}

/// Returns whether a text may be part of the head: it contains only white space, and markers of places where nothing is
/// inserted for most visitors.
fn is_text_of_head(text: &str) -> bool {
    text.split(|c: char| c.is_ascii_whitespace())
        .all(|word| word.is_empty() || word.starts_with(PLACE_MARKER))
}

/// Returns the encoding that a page declares in a `meta` element in its first 1024 bytes, in lower case; `None` if it
/// declares none there.
pub(crate) fn declared_encoding(tokens: &[HtmlToken<'_>]) -> Option<String> {
    tokens.iter().take_while(|token| token.range.end <= ENCODING).find_map(|token| {
        let HtmlKind::Start(tag) = &token.kind else { return None };
        if tag.name != "meta" {
            return None;
        }
        let name = tag.raw("charset").map(str::to_owned).or_else(|| {
            let content = tag
                .raw("content")
                .filter(|_| tag.has_word("http-equiv", "content-type"))?
                .to_ascii_lowercase();
            content.split_once("charset=").map(|(_, name)| name.to_owned())
        })?;
        Some(name.trim().trim_matches(['"', '\'']).to_ascii_lowercase())
    })
}

/// Returns the URL against which references are resolved; `None` if the URL of the `base` element is not understood.
fn base_of(tokens: &[HtmlToken<'_>], url: &PageUrl) -> Option<PageUrl> {
    let base = tokens.iter().find_map(|token| match &token.kind {
        HtmlKind::Start(tag) if tag.name == "base" && tag.has("href") => Some(tag.value("href")),
        _ => None,
    });
    match base {
        None => Some(url.clone()),
        Some(reference) => url.join(&reference?),
    }
}

struct Scanner {
    scan: PageScan,
    is_in_head: bool,
    templates: usize,
}

impl Scanner {
    fn leave_head(&mut self, index: usize) {
        if self.is_in_head && self.templates == 0 {
            self.is_in_head = false;
            self.scan.head_end = index;
        }
    }

    fn start(&mut self, index: usize, tag: &HtmlTag<'_>) {
        if !HEAD.contains(&tag.name.as_str()) {
            self.leave_head(index);
        }
        if tag.name == "template" {
            self.templates += 1;
        }
        if self.templates > 0 {
            return;
        }
        if matches!(tag.name.as_str(), "img" | "script")
            && tag.raw("src").is_some_and(|src| src.trim().is_empty())
            || tag.name == "link" && tag.raw("href").is_some_and(|href| href.trim().is_empty())
        {
            self.scan.empty_references += 1;
            return;
        }
        match tag.name.as_str() {
            "link" => self.link(index, tag),
            "script" => self.script(index, tag),
            "img" => self.image(index, tag),
            _ => {}
        }
    }

    fn push(&mut self, kind: ResourceKind, token: usize, reference: Option<String>, is_blocking: bool) {
        let url = reference.zip(self.scan.base.as_ref()).and_then(|(reference, base)| base.join(&reference));
        self.scan.resources.push(ScannedResource { kind, token, url, is_blocking });
    }

    fn link(&mut self, index: usize, tag: &HtmlTag<'_>) {
        if !tag.has("href") {
            return;
        }
        let href = tag.value("href");
        if tag.has_word("rel", "stylesheet") {
            if tag.has_word("rel", "alternate") || tag.has("disabled") {
                return;
            }
            let media = tag.raw("media").unwrap_or_default().trim();
            let is_for_screens = media.is_empty()
                || media.split(',').any(|query| {
                    let query = query.trim().to_ascii_lowercase();
                    !["print", "speech", "not all"].iter().any(|other| query.starts_with(other))
                });
            self.push(ResourceKind::StyleSheet, index, href, is_for_screens);
        } else if tag.has_word("rel", "preload") {
            let kind = if tag.has_word("as", "font") { ResourceKind::Font } else { ResourceKind::Preload };
            self.push(kind, index, href, false);
        } else if tag.has_word("rel", "modulepreload") {
            self.push(ResourceKind::Preload, index, href, false);
        }
    }

    fn script(&mut self, index: usize, tag: &HtmlTag<'_>) {
        if !tag.has("src") || !is_script(tag) {
            return;
        }
        let is_deferred = tag.has("async") || tag.has("defer") || tag.has("nomodule") || is_module(tag);
        self.push(ResourceKind::Script, index, tag.value("src"), self.is_in_head && !is_deferred);
    }

    fn image(&mut self, index: usize, tag: &HtmlTag<'_>) {
        let pixels =
            |name: &str| tag.raw(name).and_then(|value| value.trim().parse().ok()).filter(|size| *size > 0);
        let url = tag.value("src").zip(self.scan.base.as_ref()).and_then(|(src, base)| base.join(&src));
        if url.is_some() {
            self.scan.resources.push(ScannedResource {
                kind: ResourceKind::Image,
                token: index,
                url: url.clone(),
                is_blocking: false,
            });
        }
        self.scan.images.push(ScannedImage {
            token: index,
            url,
            size: pixels("width").zip(pixels("height")),
        });
    }

    fn raw_text(&mut self, before: &HtmlToken<'_>, range: Range<usize>) {
        let HtmlKind::Start(tag) = &before.kind else { return };
        match tag.name.as_str() {
            "script" if !tag.has("src") && is_script(tag) => self.scan.inline_scripts.push(range),
            "style" => self.scan.inline_styles.push(range),
            _ => {}
        }
    }
}

/// Returns whether browsers run a script, rather than treating it as data.
pub(crate) fn is_script(tag: &HtmlTag<'_>) -> bool {
    tag.raw("type").is_none_or(|kind| {
        let kind = kind.trim().to_ascii_lowercase();
        kind.is_empty() || kind == "module" || kind.ends_with("/javascript") || kind.ends_with("/ecmascript")
    })
}

/// Returns whether a script is a module.
pub(crate) fn is_module(tag: &HtmlTag<'_>) -> bool {
    tag.raw("type").is_some_and(|kind| kind.trim().eq_ignore_ascii_case("module"))
}

#[cfg(test)]
mod tests {
    use super::super::tokenize;
    use super::*;
    use crate::OptimizeLimits;

    fn scanned(page: &str) -> PageScan {
        let tokens = tokenize(page, &OptimizeLimits::default()).expect("unambiguous");
        scan(page, &tokens, &PageUrl::parse("https://a.test/b/").expect("absolute"))
    }

    fn listed(page: &str) -> Vec<String> {
        let name = |resource: &ScannedResource| {
            let url = resource.url.as_ref().map_or("?".to_owned(), PageUrl::to_string);
            format!("{:?} {url}{}", resource.kind, if resource.is_blocking { " blocks" } else { "" })
        };
        scanned(page).resources.iter().map(name).collect()
    }

    #[test]
    fn resources_are_listed_with_their_effect_on_rendering() {
        let page = "<!doctype html><html><head><title><link rel=stylesheet href=no></title>\
            <link rel='stylesheet' href='s.css?a&#038;b' media=all><link rel=stylesheet href=p.css media=print>\
            <link rel='alternate stylesheet' href=no><link rel=icon href=i.ico><link rel=stylesheet href='&eacute;.css'>\
            <link rel=preload as=font href=/f.woff2 crossorigin><link rel=modulepreload href=//b.test/m.js>\
            <script src=a.js></script><script src=d.js defer></script><script type=module src=m.js></script>\
            <script type='application/ld+json' src=no></script><noscript><link rel=stylesheet href=no></noscript>\
            <template><img src=no></template><!-- <script src=no></script> --></head>\
            <body><script src=e.js></script><img src=i.png width=3 height=4><img src='' ><img data-src=no>\
            <link rel=stylesheet href=late.css><img src=data:x></body>";
        assert_eq!(
            listed(page),
            [
                "StyleSheet https://a.test/b/s.css?a&b blocks",
                "StyleSheet https://a.test/b/p.css",
                "StyleSheet ? blocks",
                "Font https://a.test/f.woff2",
                "Preload https://b.test/m.js",
                "Script https://a.test/b/a.js blocks",
                "Script https://a.test/b/d.js",
                "Script https://a.test/b/m.js",
                "Script https://a.test/b/e.js",
                "Image https://a.test/b/i.png",
                "StyleSheet https://a.test/b/late.css blocks",
            ]
        );
        let scan = scanned(page);
        assert_eq!((scan.empty_references, scan.images.len(), scan.images[0].size), (1, 3, Some((3, 4))));
    }

    #[test]
    fn encoding_is_declared_at_the_start() {
        let declared =
            |page: &str| declared_encoding(&tokenize(page, &OptimizeLimits::default()).expect("unambiguous"));
        assert_eq!(declared("<!doctype html><meta charset=UTF-8>").as_deref(), Some("utf-8"));
        let old = "<meta http-equiv=Content-Type content='text/html; charset=ISO-8859-1'>";
        assert_eq!(declared(old).as_deref(), Some("iso-8859-1"));
        assert_eq!(declared(&format!("{}{old}", " ".repeat(1024))), None);
        assert_eq!(declared("<meta name=x content='charset=y'>"), None);
    }

    #[test]
    fn base_and_end_of_the_head_are_respected() {
        assert_eq!(listed("<img src=i><base href='/c/'>"), ["Image https://a.test/c/i"]);
        assert_eq!(listed("<base href='&eacute;'><script src=s></script>"), ["Script ? blocks"]);
        assert_eq!(listed("<p><script src=s></script>"), ["Script https://a.test/b/s"]);
        assert_eq!(listed("text<script src=s></script>"), ["Script https://a.test/b/s"]);
        assert_eq!((scanned("<head><link></head><p>").head_end, scanned("<title>").head_end), (2, 1));
        assert_eq!(scanned("<head> myriadhole0x0beginmyriadhole0x0end <link></head><p>").head_end, 3);
        assert_eq!(scanned("<head>myriadhole0x0begin a<link></head><p>").head_end, 1);
        let scan = scanned(
            "<style>a</style><script>b</script><script type=text/template>c</script><script src=d>e</script>",
        );
        assert_eq!((scan.inline_styles.len(), scan.inline_scripts.len()), (1, 1));
    }
}
