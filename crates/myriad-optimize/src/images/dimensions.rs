//! Width and height of images that have neither (`insert_image_dimensions`).

use std::collections::HashMap;
use std::ops::Range;

use super::attributes::is_sensitive;
use super::image_size;
use crate::exclude::EXCLUDED;
use crate::filter::{FilterName, FilterReport};
use crate::html::{HtmlKind, HtmlTag, HtmlToken, ScannedImage, VOID};
use crate::page_context::PageContext;
use crate::page_facts::{PageFacts, PatternIndex};

/// Names of elements that are closed only by their own end tag or by the end tag of an element around them.
const CLOSED_EXPLICITLY: [&str; 11] =
    ["body", "div", "section", "article", "main", "header", "footer", "aside", "nav", "figure", "blockquote"];
/// Attributes other than `width` and `height` that select another file than `src`, or change the size.
const SIZING_ATTRIBUTES: [&str; 4] = ["srcset", "sizes", "is", "border"];
/// Maximum number of images without a size on a page; if it has more, none is changed.
const MAX_IMAGES: usize = 500;

/// Adds `width` and `height` to images if their size is known from their file, so that browsers reserve the space.
/// Images are left unchanged unless the style sheets derive the height of an image from its width, because they could
/// be shown in another size. Returns edits of the page and the report. If `facts` is an error, no image is changed.
pub(crate) fn insert_image_dimensions(
    context: &PageContext<'_>,
    facts: &Result<PageFacts, String>,
) -> (Vec<(Range<usize>, String)>, FilterReport) {
    let mut report = FilterReport::new(FilterName::InsertImageDimensions);
    let is_candidate = |image: &&ScannedImage| matches!(&context.tokens[image.token].kind, HtmlKind::Start(tag) if !tag.has("width") && !tag.has("height"));
    let candidates: Vec<&ScannedImage> = context.scan.images.iter().filter(is_candidate).collect();
    if candidates.is_empty() {
        return (Vec::new(), report);
    }
    let rules = match facts {
        Err(reason) => Err(reason.clone()),
        Ok(facts) if !facts.has_auto_height() => {
            Err("no style sheet sets height: auto for all images".to_owned())
        }
        Ok(_) if candidates.len() > MAX_IMAGES => {
            Err(format!("it has more than {MAX_IMAGES} images without a size"))
        }
        Ok(facts) => {
            let sized = facts.sized_elements();
            match sized.image_class(|class| context.scripts_name(class)) {
                Some(class) => Err(format!("a script names the class {class}, which sizes images")),
                None => Ok(ImageRules { sized, stretching: facts.stretching_elements() }),
            }
        }
    };
    let rules = match rules {
        Ok(rules) => rules,
        Err(reason) => {
            report.skip("page", &reason);
            return (Vec::new(), report);
        }
    };
    let mut edits = Vec::new();
    let mut parents = OpenElements::new(context.tokens);
    for image in candidates {
        let HtmlKind::Start(tag) = &context.tokens[image.token].kind else { continue };
        let parents = parents.at(image.token);
        match size_without_distortion(context, &rules, image, tag, parents) {
            Ok((width, height)) => {
                let at = context.tokens[image.token].range.start + 1 + tag.name.len();
                edits.push((at..at, format!(" width=\"{width}\" height=\"{height}\"")));
                report.change(0);
            }
            Err(reason) => {
                let subject = image.url.as_ref().map_or_else(|| "image".to_owned(), ToString::to_string);
                report.skip(subject, &reason);
            }
        }
    }
    (edits, report)
}

/// Rules of the page's style sheets that may distort images.
struct ImageRules<'f> {
    sized: PatternIndex<'f>,
    stretching: PatternIndex<'f>,
}

/// Returns the size of an image in pixels, or why its tag does not get it.
fn size_without_distortion(
    context: &PageContext<'_>,
    rules: &ImageRules<'_>,
    image: &ScannedImage,
    tag: &HtmlTag<'_>,
    parents: &[&HtmlTag<'_>],
) -> Result<(u32, u32), String> {
    let url = image.url.as_ref().ok_or("its URL is not understood")?;
    if context.is_excluded[image.token] || context.options.exclude.covers_url(url) {
        return Err(EXCLUDED.to_owned());
    }
    if is_sensitive(tag) {
        return Err("a script may manage it".to_owned());
    }
    if let Some(name) = SIZING_ATTRIBUTES.iter().find(|name| tag.has(name)) {
        return Err(format!("has the attribute {name}"));
    }
    let is_sizing = |tag: &HtmlTag<'_>, words: &[&str]| {
        let style = tag.raw("style").unwrap_or_default().to_ascii_lowercase();
        style.contains(['\\', '&']) || words.iter().any(|word| style.contains(word))
    };
    if is_sizing(
        tag,
        &["width", "height", "size", "ratio", "self", "flex", "zoom", "anim", "all", "padding", "border"],
    ) {
        return Err("its style attribute may set a size".to_owned());
    }
    if let Some(pattern) = rules.sized.find(tag) {
        return Err(format!("a rule for {pattern} may set a size"));
    }
    for parent in parents.iter().rev() {
        if parent.name == "picture" {
            return Err("is one of several files of a picture element".to_owned());
        }
        if let Some(pattern) = rules.stretching.find(parent) {
            return Err(format!("a rule for {pattern} may stretch it"));
        }
        if is_sizing(parent, &["column", "contents", "stretch", "vertical"]) {
            return Err("a style attribute may stretch it".to_owned());
        }
        if CLOSED_EXPLICITLY.contains(&parent.name.as_str()) {
            break;
        }
    }
    let resource = context.resources.get(url).filter(|resource| resource.is_ok()).ok_or("was not read")?;
    let size = image_size(&resource.body).ok_or("the size of the file is not known")?;
    Ok((size.width, size.height))
}

/// Elements that are open at a token. Elements that browsers close without an end tag may still be listed.
struct OpenElements<'c> {
    tokens: &'c [HtmlToken<'c>],
    open: Vec<&'c HtmlTag<'c>>,
    /// Number of elements in `open` by their names, so that end tags without an element take no search.
    counts: HashMap<&'c str, usize>,
    /// Index of the first token that was not read.
    next: usize,
}

impl<'c> OpenElements<'c> {
    fn new(tokens: &'c [HtmlToken<'c>]) -> Self {
        Self { tokens, open: Vec::new(), counts: HashMap::new(), next: 0 }
    }

    /// Returns the elements that are open before a token, the innermost last. Tokens must not decrease.
    fn at(&mut self, token: usize) -> &[&'c HtmlTag<'c>] {
        for index in self.next..token {
            match &self.tokens[index].kind {
                HtmlKind::Start(tag) if !VOID.contains(&tag.name.as_str()) => {
                    *self.counts.entry(&tag.name).or_default() += 1;
                    self.open.push(tag);
                }
                HtmlKind::End(name) if self.counts.get(name.as_str()).is_some_and(|count| *count > 0) => {
                    while let Some(tag) = self.open.pop() {
                        *self.counts.entry(&tag.name).or_default() -= 1;
                        if tag.name == *name {
                            break;
                        }
                    }
                }
                _ => {}
            }
        }
        self.next = self.next.max(token);
        &self.open
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OptimizeLimits;
    use crate::html::tokenize;

    #[test]
    fn open_elements_are_listed() {
        for (page, expected) in [
            ("<div><p><a></a><img>", "div p"),
            ("<div><p><a></div><i><img>", "i"),
            ("</p><b></i></b></b><br><img>", ""),
            ("<b><b></b><img>", "b"),
        ] {
            let tokens = tokenize(page, &OptimizeLimits::default()).expect(page);
            let mut elements = OpenElements::new(&tokens);
            let names = |tags: &[&HtmlTag<'_>]| tags.iter().map(|tag| tag.name.clone()).collect::<Vec<_>>();
            assert_eq!(names(elements.at(tokens.len() - 1)).join(" "), expected, "{page}");
        }
    }

    /// With a search of all open elements for each end tag, this takes minutes.
    #[test]
    fn end_tags_without_an_element_take_no_search() {
        let page = "<b>".repeat(100_000) + &"</i>".repeat(100_000) + "<img>";
        let tokens = tokenize(&page, &OptimizeLimits::default()).expect("within the limits");
        let start = std::time::Instant::now();
        assert_eq!(OpenElements::new(&tokens).at(tokens.len() - 1).len(), 100_000);
        assert!(start.elapsed() < std::time::Duration::from_secs(5), "{:?}", start.elapsed());
    }
}
