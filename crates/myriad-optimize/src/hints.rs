//! Preloads of the font and the image of the first screen (`hint_preload_subresources`).

use std::fmt::Write as _;
use std::ops::Range;

use crate::exclude::EXCLUDED;
use crate::filter::{FilterName, FilterReport};
use crate::html::{ElementRegions, HtmlKind, HtmlTag, HtmlToken};
use crate::images::{PageImages, is_sensitive};
use crate::page_context::{OTHER_SITE, PageContext};
use crate::page_facts::PageFacts;

/// Maximum number of fonts that are preloaded.
const MAX_FONTS: usize = 2;
/// Offset in bytes from which an image is preloaded: browsers find earlier ones soon enough.
const LATE_BYTES: usize = 8 << 10;

/// Adds preloads to the head of a page: files of the font in which the text of the page is shown, and the image with
/// the highest priority (index `largest`) if it follows the head at offset [`LATE_BYTES`] or later. Returns the edit of
/// the page (`None` if no preload is added) and the report.
pub(crate) fn hint_preload_subresources(
    images: &PageImages<'_>,
    largest: Option<usize>,
    context: &PageContext<'_>,
    facts: &Result<PageFacts, String>,
) -> (Option<(Range<usize>, String)>, FilterReport) {
    let mut report = FilterReport::new(FilterName::HintPreloadSubresources);
    if let Some(reason) = context.fixed_urls() {
        report.skip("page", &reason);
        return (None, report);
    }
    let Some(at) = place(images) else { return (None, report) };
    let mut hints = String::new();
    match facts {
        Ok(facts) => fonts(images, facts, context, &mut hints, &mut report),
        Err(reason) => report.skip("fonts", reason),
    }
    if let Some(index) = largest {
        match image(images, index, context) {
            Ok(Some(hint)) => {
                hints.push_str(&hint);
                report.change(0);
            }
            Ok(None) => {}
            Err(reason) => {
                let url = images.scan.images[index].url.as_ref();
                report.skip(url.map_or_else(|| "image".to_owned(), ToString::to_string), &reason);
            }
        }
    }
    (Some((at..at, hints)).filter(|(_, hints)| !hints.is_empty()), report)
}

/// Returns the offset before the first style sheet or script of the head, and after the declaration of the encoding;
/// `None` if the head has neither style sheets nor scripts.
fn place(images: &PageImages<'_>) -> Option<usize> {
    let head = &images.tokens[..images.scan.head_end];
    let is_first = |token: &&HtmlToken<'_>| match &token.kind {
        HtmlKind::Start(tag) => {
            matches!(tag.name.as_str(), "style" | "script")
                || tag.name == "link" && tag.has_word("rel", "stylesheet")
        }
        _ => false,
    };
    let is_encoding = |token: &&HtmlToken<'_>| match &token.kind {
        HtmlKind::Start(tag) => {
            tag.name == "meta" && (tag.has("charset") || tag.has_word("http-equiv", "content-type"))
        }
        _ => false,
    };
    let first = head.iter().find(is_first)?.range.start;
    Some(head.iter().rfind(is_encoding).map_or(first, |token| first.max(token.range.end)))
}

fn fonts(
    images: &PageImages<'_>,
    facts: &PageFacts,
    context: &PageContext<'_>,
    hints: &mut String,
    report: &mut FilterReport,
) {
    for url in facts.page_fonts().into_iter().take(MAX_FONTS) {
        let is_known = images.scan.resources.iter().any(|resource| resource.url.as_ref() == Some(&url));
        if is_known || !url.is_same_origin(context.url) {
            continue;
        }
        if context.options.exclude.covers_url(&url) {
            report.skip(url.to_string(), &EXCLUDED);
            continue;
        }
        let Some(path) = attribute_value(&url.path_and_query()) else { continue };
        let _ = write!(
            hints,
            "<link rel=\"preload\" href=\"{path}\" as=\"font\" type=\"font/woff2\" crossorigin>"
        );
        report.change(0);
    }
}

/// Returns the preload of an image; `None` if browsers find the image early or the page preloads it. The error is the
/// reason why the image is not preloaded.
fn image(images: &PageImages<'_>, index: usize, context: &PageContext<'_>) -> Result<Option<String>, String> {
    let found = &images.scan.images[index];
    let token = &images.tokens[found.token];
    let HtmlKind::Start(tag) = &token.kind else { return Ok(None) };
    if token.range.start < LATE_BYTES || found.token < images.scan.head_end {
        return Ok(None);
    }
    let url = found.url.as_ref().ok_or("its URL is not understood")?;
    if context.is_preloaded(url) {
        return Ok(None);
    }
    if !url.is_same_origin(context.url) {
        return Err(OTHER_SITE.to_owned());
    }
    if context.options.exclude.covers_url(url) || images.is_excluded[found.token] {
        return Err(EXCLUDED.to_owned());
    }
    if let Some(name) = ["loading", "crossorigin", "referrerpolicy"].iter().find(|name| tag.has(name)) {
        return Err(format!("has the attribute {name}"));
    }
    if is_sensitive(tag) {
        return Err("a script may manage it".to_owned());
    }
    let mut pictures = ElementRegions::default();
    let is_in_picture = |token: &HtmlToken<'_>| pictures.next(&token.kind, |tag| tag.name == "picture");
    if images.tokens[..=found.token].iter().map(is_in_picture).last() == Some(true) {
        return Err("is one of several files of a picture element".to_owned());
    }
    let source = if tag.has("srcset") {
        candidates(images, tag)?
    } else {
        let path = attribute_value(&url.path_and_query()).ok_or("its URL is not understood")?;
        format!(" href=\"{path}\"")
    };
    Ok(Some(format!("<link rel=\"preload\"{source} as=\"image\" fetchpriority=\"high\">")))
}

/// Returns the attributes that select one of several files as the image does; or the reason why they cannot be used
/// in the head.
fn candidates(images: &PageImages<'_>, tag: &HtmlTag<'_>) -> Result<String, String> {
    // Before the element, references would be resolved against another base.
    let is_base = |token: &HtmlToken<'_>| matches!(&token.kind, HtmlKind::Start(tag) if tag.name == "base");
    if images.tokens.iter().any(is_base) {
        return Err("the page has a base element".to_owned());
    }
    let (srcset, sizes) = (tag.raw("srcset").unwrap_or_default(), tag.raw("sizes").unwrap_or_default());
    if srcset.contains('"') || sizes.contains('"') {
        return Err("its candidates are not understood".to_owned());
    }
    let sizes = if sizes.is_empty() { String::new() } else { format!(" imagesizes=\"{sizes}\"") };
    Ok(format!(" imagesrcset=\"{srcset}\"{sizes}"))
}

/// Returns a URL as the value of an attribute in double quotes; `None` if it contains special characters.
fn attribute_value(url: &str) -> Option<String> {
    (!url.contains(['"', '<', '>'])).then(|| url.replace('&', "&amp;"))
}
