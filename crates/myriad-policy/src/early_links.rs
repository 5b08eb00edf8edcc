//! Resources that an HTML page loads: links for 103 Early Hints (RFC 8297), and assets to keep (`cache_keep_assets`).
//!
//! Tags are parsed like in the tokenizer of the HTML standard, as far as necessary: comments, quoted values, and
//! elements with raw text. Unsupported syntax yields no link or asset: the resource is then neither announced nor kept.

use std::ops::ControlFlow;

use memchr::memchr;
use memchr::memmem;

/// Number of bytes of a page that are searched for resources to announce by early hints (103). A longer head loads
/// slowly for other reasons.
const READ_AT_MOST: usize = 64 << 10;
/// Maximum number of resources that are taken from the HTML of a page for early hints; browsers fetch about six
/// resources at a time. `Link` fields of the response are not counted.
const LINKS: usize = 10;
/// Number of bytes of a page that are searched for assets (style sheets and scripts).
const ASSETS_READ_AT_MOST: usize = 1 << 20;
/// Maximum number of assets (style sheets and scripts) per page.
const ASSETS: usize = 64;
/// Maximum length of the address of a resource, in bytes; longer addresses are ignored.
const LONGEST: usize = 512;

/// Returns values of `Link` fields for resources that the head of the page loads: style sheets, blocking scripts,
/// preloads (also of modules) and preconnects, in the first 64 KB. At most ten; none if a `<base>` precedes the tenth
/// link and the end of the head.
///
/// ```
/// let page = b"<head><link rel='stylesheet' href='/a.css?ver=1&#038;x'><script src=/b.js></script></head>";
/// let links = myriad_policy::early_links(page);
/// assert_eq!(links, ["</a.css?ver=1&x>; rel=preload; as=style", "</b.js>; rel=preload; as=script"]);
/// ```
pub fn early_links(html: &[u8]) -> Vec<String> {
    let (mut links, mut has_base) = (Vec::new(), false);
    each_tag(&html[..html.len().min(READ_AT_MOST)], |name, tag| {
        let link = match name {
            b"/head" | b"body" => return ControlFlow::Break(()),
            // `Link` fields of the early response are not relative to `<base>`.
            b"base" => {
                has_base = true;
                return ControlFlow::Break(());
            }
            b"link" => link_target(tag),
            b"script" => script(tag),
            _ => None,
        };
        if let Some(link) = link.filter(|link| !links.contains(link)) {
            links.push(link);
        }
        if links.len() == LINKS { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    if has_base { Vec::new() } else { links }
}

/// Returns the addresses of the style sheets and scripts that a page loads, in the order of the page and without
/// duplicates; at most 64, from the first 1 MB. Addresses are absolute URLs or start with `/`; other addresses, and
/// those that are longer than 512 bytes or contain characters that are not valid in a URL, are skipped.
pub fn page_assets(html: &[u8]) -> Vec<String> {
    let mut assets = Vec::new();
    each_tag(&html[..html.len().min(ASSETS_READ_AT_MOST)], |name, tag| {
        let is_style = |rel: &[u8]| {
            rel.split(u8::is_ascii_whitespace).any(|word| word.eq_ignore_ascii_case(b"stylesheet"))
        };
        let value = match name {
            b"link" if tag.rel.is_some_and(is_style) => tag.href,
            b"script" => tag.src,
            _ => None,
        };
        if let Some(asset) = value.and_then(asset_url).filter(|asset| !assets.contains(asset)) {
            assets.push(asset);
        }
        if assets.len() == ASSETS { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assets
}

/// Calls `show` with the lower-case name (`/head` for a closing tag) and the attributes of each tag, until `show`
/// returns `Break` or a tag is incomplete. Tags in comments and in elements with raw text (such as `script`, `noscript`
/// and `template`) are skipped.
fn each_tag<'a>(html: &'a [u8], mut show: impl FnMut(&[u8], &TagAttributes<'a>) -> ControlFlow<()>) {
    let mut rest = html;
    while let Some(at) = memchr(b'<', rest) {
        rest = &rest[at + 1..];
        if let Some(comment) = rest.strip_prefix(b"!--") {
            let Some(end) = memmem::find(comment, b"-->") else { break };
            rest = &comment[end + 3..];
            continue;
        }
        let name = rest.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'/').count();
        let (name, attributes) = rest.split_at(name);
        let name = name.to_ascii_lowercase();
        if name.is_empty() {
            continue;
        }
        let Some((tag, after)) = TagAttributes::read(attributes) else { break };
        rest = after;
        if show(&name, &tag).is_break() {
            break;
        }
        if matches!(&*name, b"script" | b"style" | b"title" | b"noscript" | b"template" | b"textarea") {
            let Some(after) = skip_element_text(rest, &name) else { break };
            rest = after;
        }
    }
}

/// Returns whether the value of a `Link` response field contains `preload` or `preconnect`.
pub fn loads_early(value: &[u8]) -> bool {
    let value = value.to_ascii_lowercase();
    [&b"preload"[..], b"preconnect"].iter().any(|word| memmem::find(&value, word).is_some())
}

/// Skips the text of an element whose content is not parsed as tags, up to the name of its closing tag; `None` if the
/// tag is missing.
fn skip_element_text<'a>(text: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let mut rest = text;
    loop {
        rest = &rest[memmem::find(rest, b"</")? + 2..];
        if rest.get(..name.len()).is_some_and(|end| end.eq_ignore_ascii_case(name)) {
            return Some(&rest[name.len()..]);
        }
    }
}

/// Attributes of an HTML tag that are evaluated; of duplicates the first, as in browsers.
#[derive(Default)]
struct TagAttributes<'a> {
    href: Option<&'a [u8]>,
    src: Option<&'a [u8]>,
    rel: Option<&'a [u8]>,
    destination: Option<&'a [u8]>,
    kind: Option<&'a [u8]>,
    media: Option<&'a [u8]>,
    crossorigin: Option<&'a [u8]>,
    /// True if the tag has an attribute that excludes its resource from early hints: it is not loaded, loaded later,
    /// only by some browsers, or only with a matching digest, or another resource may be loaded instead.
    is_special: bool,
}

impl<'a> TagAttributes<'a> {
    /// Parses the attributes of a tag up to the closing `>` and returns them with the bytes after the tag; `None` if
    /// the tag is incomplete.
    fn read(mut rest: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let mut tag = Self::default();
        loop {
            let blanks = rest.iter().take_while(|byte| byte.is_ascii_whitespace() || **byte == b'/').count();
            rest = &rest[blanks..];
            if let Some(after) = rest.strip_prefix(b">") {
                return Some((tag, after));
            }
            // A leading equals sign is part of the name.
            let ends = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'=' | b'>' | b'/');
            let length = 1 + rest.get(1..)?.iter().position(ends)?;
            let name = &rest[..length];
            rest = rest[length..].trim_ascii_start();
            let mut value: &[u8] = b"";
            if let Some(after) = rest.strip_prefix(b"=") {
                (value, rest) = attribute_value(after.trim_ascii_start())?;
            }
            tag.set(name, value);
        }
    }

    fn set(&mut self, name: &[u8], value: &'a [u8]) {
        let place = match &*name.to_ascii_lowercase() {
            b"href" => &mut self.href,
            b"src" => &mut self.src,
            b"rel" => &mut self.rel,
            b"as" => &mut self.destination,
            b"type" => &mut self.kind,
            b"media" => &mut self.media,
            b"crossorigin" => &mut self.crossorigin,
            b"async" | b"defer" | b"nomodule" | b"integrity" | b"disabled" | b"imagesrcset" => {
                self.is_special = true;
                return;
            }
            _ => return,
        };
        place.get_or_insert(value);
    }
}

fn attribute_value(rest: &[u8]) -> Option<(&[u8], &[u8])> {
    if let quote @ (b'"' | b'\'') = rest.first()? {
        let end = memchr(*quote, &rest[1..])?;
        return Some((&rest[1..=end], &rest[end + 2..]));
    }
    let end = rest.iter().position(|byte| byte.is_ascii_whitespace() || *byte == b'>')?;
    Some(rest.split_at(end))
}

fn link_target(tag: &TagAttributes<'_>) -> Option<String> {
    let words = || tag.rel.unwrap_or_default().split(u8::is_ascii_whitespace);
    let is = |name: &[u8]| words().any(|word| word.eq_ignore_ascii_case(name));
    let for_screens = |media: &[u8]| {
        media.is_empty() || media.eq_ignore_ascii_case(b"all") || media.eq_ignore_ascii_case(b"screen")
    };
    if tag.is_special || is(b"alternate") || !tag.media.is_none_or(for_screens) {
        return None;
    }
    let address = asset_url(tag.href?)?;
    let how = if is(b"stylesheet") {
        "rel=preload; as=style".to_owned()
    } else if is(b"preconnect") {
        "rel=preconnect".to_owned()
    } else if is(b"modulepreload") {
        "rel=modulepreload".to_owned()
    } else if is(b"preload") {
        let destination =
            tag.destination.filter(|word| !word.is_empty() && word.iter().all(u8::is_ascii_alphabetic))?;
        format!("rel=preload; as={}", str::from_utf8(destination).ok()?.to_ascii_lowercase())
    } else {
        return None;
    };
    Some(format!("<{address}>; {how}{}", crossorigin(tag)))
}

fn script(tag: &TagAttributes<'_>) -> Option<String> {
    let classic = |kind: &[u8]| kind.is_empty() || kind.eq_ignore_ascii_case(b"text/javascript");
    if tag.is_special || !tag.kind.is_none_or(classic) {
        return None;
    }
    Some(format!("<{}>; rel=preload; as=script{}", asset_url(tag.src?)?, crossorigin(tag)))
}

/// Returns the `crossorigin` parameter for a link to the tag's resource. A preload whose credentials mode differs from
/// the actual load is fetched twice.
fn crossorigin(tag: &TagAttributes<'_>) -> &'static str {
    match tag.crossorigin {
        None => "",
        Some(word) if word.eq_ignore_ascii_case(b"use-credentials") => "; crossorigin=use-credentials",
        Some(_) => "; crossorigin=anonymous",
    }
}

/// Returns the address in an attribute value, with `&` decoded; `None` if it is relative, too long, has other character
/// references, or contains bytes that are not valid in a URL, which could end the `Link` field or inject a value.
fn asset_url(value: &[u8]) -> Option<String> {
    let value = value.trim_ascii();
    let known = value.starts_with(b"/") || value.starts_with(b"https://") || value.starts_with(b"http://");
    let plain = |byte: &u8| byte.is_ascii_graphic() && !matches!(byte, b'<' | b'>' | b'"' | b'\\' | b'`');
    if !known || value.len() > LONGEST || !value.iter().all(plain) {
        return None;
    }
    let value = str::from_utf8(value).ok()?;
    let decoded =
        ["&amp;", "&#038;", "&#38;"].iter().fold(value.to_owned(), |text, name| text.replace(name, "&"));
    // Other character references are not decoded.
    let referring = decoded.split('&').skip(1).any(|part| {
        part.starts_with('#')
            || part
                .split_once(';')
                .is_some_and(|(name, _)| name.bytes().all(|byte| byte.is_ascii_alphanumeric()))
    });
    (!referring).then_some(decoded)
}

#[cfg(test)]
mod tests {
    use super::{ASSETS, early_links, page_assets};

    #[test]
    fn render_blocking_resources_become_early_links() {
        let page = br#"<!doctype html><html><head><title><link rel=stylesheet href=/no></title>
            <LINK REL="StyleSheet" HREF="https://a.example/style.css?ver=6&amp;x=1" media='all' />
            <link href=/b.css rel=stylesheet>
            <link rel="preload" as="font" href="/f.woff2" type="font/woff2" crossorigin>
            <link rel=preconnect href=https://cdn.example crossorigin=use-credentials>
            <script src='/j.js' id="j"></script>
            <script>document.write("<link rel=stylesheet href=/no>")</script>
            </head><body><link rel=stylesheet href=/late.css>"#;
        assert_eq!(
            early_links(page),
            [
                "<https://a.example/style.css?ver=6&x=1>; rel=preload; as=style",
                "</b.css>; rel=preload; as=style",
                "</f.woff2>; rel=preload; as=font; crossorigin=anonymous",
                "<https://cdn.example>; rel=preconnect; crossorigin=use-credentials",
                "</j.js>; rel=preload; as=script",
            ]
        );
    }

    #[test]
    fn deferred_conditional_or_unsafe_links_are_omitted() {
        for tag in [
            "<link rel=stylesheet href=/p.css media=print>",
            "<link rel='alternate stylesheet' href=/p.css>",
            "<link rel=stylesheet href=/p.css integrity=sha384-x>",
            "<link rel=stylesheet href=relative.css>",
            "<link rel=stylesheet href='/a.css?x=&eacute;'>",
            "<link rel=stylesheet href='/a.css?x=&#60;'>",
            "<link rel=stylesheet href='/a b.css'>",
            "<link rel=stylesheet href='/a>; rel=preconnect'>",
            "<link rel=stylesheet href='/a\r\nSet-Cookie: x=1'>",
            "<link rel=stylesheet href=javascript:alert(1)>",
            "<link rel=icon href=/favicon.ico>",
            "<link rel=preload href=/x>",
            "<link rel=preload as='x; y' href=/x>",
            "<script src=/j.js async></script>",
            "<script src=/j.js type=module></script>",
            "<script></script>",
            "<!-- <link rel=stylesheet href=/p.css> -->",
            "<noscript><link rel=stylesheet href=/p.css></noscript>",
            "<base href=/other/><link rel=stylesheet href=/p.css>",
            "<link rel=stylesheet href='/open",
            "<link rel=stylesheet",
            "<!-- <link rel=stylesheet href=/p.css>",
            "<style><link rel=stylesheet href=/p.css>",
        ] {
            assert_eq!(early_links(tag.as_bytes()), [""; 0], "{tag}");
        }
    }

    #[test]
    fn early_links_are_limited_and_unique() {
        let once = b"<link rel=stylesheet href=/a.css><link rel=stylesheet href=/a.css>";
        assert_eq!(early_links(once).len(), 1);
        let many: Vec<String> = (0..50).map(|number| format!("<script src=/{number}></script>")).collect();
        assert_eq!(early_links(many.concat().as_bytes()).len(), 10);
    }

    #[test]
    fn all_that_a_page_loads_is_named_wherever_it_stands() {
        let page = br#"<head><link rel="stylesheet" media=print href="/a.css?ver=1&amp;b"><link rel=icon href=/i.ico>
            <script async src='https://a.test/b.js'></script></head><body><!-- <script src=/no.js></script> -->
            <script>"<script src=/no.js>"</script><script type=module src=/c.mjs></script>
            <link rel='preload stylesheet' href=/d.css><link rel=stylesheet href=relative.css><script src=/c.mjs></script>"#;
        assert_eq!(page_assets(page), ["/a.css?ver=1&b", "https://a.test/b.js", "/c.mjs", "/d.css"]);
        let many: Vec<String> =
            (0..200).map(|number| format!("<script src=/{number}.js></script>")).collect();
        assert_eq!(page_assets(many.concat().as_bytes()).len(), ASSETS);
    }
}
