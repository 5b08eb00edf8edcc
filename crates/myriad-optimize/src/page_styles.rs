//! Style sheets of a page: those that can be combined (`combine_css`), and facts of all.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;

use crate::bundle::{BundleKind, PageBundle};
use crate::css::{CssRefusal, ElementPattern, SheetFacts, SheetSource, combine};
use crate::exclude::EXCLUDED;
use crate::filter::{FilterName, FilterReport};
use crate::html::{HtmlKind, HtmlTag, HtmlToken, PageScan, ResourceKind};
use crate::{OptimizeLimits, OptimizeOptions, PageResource, PageUrl};

/// Attributes of a `link` that combination preserves.
const KNOWN_ATTRIBUTES: [&str; 5] = ["rel", "href", "media", "type", "id"];
/// Hosts whose style sheets only declare fonts.
const FONT_HOSTS: [&str; 4] =
    ["fonts.googleapis.com", "fonts.bunny.net", "use.typekit.net", "fonts.gstatic.com"];
/// Texts of scripts that search for style sheets.
const SEARCHING: [&str; 5] =
    ["styleSheets", "link[rel", "link[id", "getElementsByTagName(\"link\")", "getElementsByTagName('link')"];
/// Maximum number of style sheets of a page that are combined.
const MAX_SHEETS: usize = 300;
/// Maximum number of different elements whose white space is retained; each tag is compared with all of them.
const MAX_PATTERNS: usize = 1000;

/// Resources of a page by their URL as the page names them.
pub type PageResources = HashMap<PageUrl, PageResource>;

/// Page and what its filters need to know.
pub(crate) struct PageContext<'a> {
    pub(crate) page: &'a str,
    pub(crate) url: &'a PageUrl,
    /// Declared encoding of the page.
    pub(crate) charset: Option<&'a str>,
    pub(crate) tokens: &'a [HtmlToken<'a>],
    pub(crate) scan: &'a PageScan,
    pub(crate) resources: &'a PageResources,
    /// Texts of the page's scripts that can be read.
    pub(crate) scripts: &'a [&'a str],
    pub(crate) options: &'a OptimizeOptions,
    /// For each token, true if it is part of an excluded element.
    pub(crate) is_excluded: &'a [bool],
}

impl PageContext<'_> {
    /// Returns whether a filter is applied.
    pub(crate) fn is_on(&self, filter: FilterName) -> bool {
        self.options.filters.contains(filter)
    }
}

/// Style sheet of a `link` that can be combined.
struct CombinableLink {
    token: usize,
    url: PageUrl,
    media: String,
    sheet: SheetSource,
    original_bytes: usize,
}

/// Result of `combine_css`.
pub(crate) struct CombinedStyles {
    /// New texts for ranges of the page, in their order.
    pub(crate) edits: Vec<(Range<usize>, String)>,
    pub(crate) bundles: Vec<PageBundle>,
    pub(crate) report: FilterReport,
    /// Bytes that the combined sheets are shorter than their parts.
    pub(crate) bytes_saved: usize,
}

/// Combines adjacent style sheets of the same media. Between them, only white space, comments and elements without effect
/// on styles are allowed.
pub(crate) fn combine_styles(context: &PageContext<'_>) -> CombinedStyles {
    let mut combined = CombinedStyles {
        edits: Vec::new(),
        bundles: Vec::new(),
        report: FilterReport::new(FilterName::CombineCss),
        bytes_saved: 0,
    };
    if let Some(word) =
        SEARCHING.iter().find(|word| context.scripts.iter().any(|script| script.contains(**word)))
    {
        combined.report.skip("page", &format!("a script searches for style sheets ({word})"));
        return combined;
    }
    if context.scan.of_kind(ResourceKind::StyleSheet).nth(MAX_SHEETS).is_some() {
        combined.report.skip("page", &format!("it has more than {MAX_SHEETS} style sheets"));
        return combined;
    }
    if !context.scan.base.as_ref().is_some_and(|base| base.is_same_origin(context.url)) {
        combined.report.skip("page", &"its base element names another site");
        return combined;
    }
    let mut run: Vec<CombinableLink> = Vec::new();
    for (index, token) in context.tokens.iter().enumerate() {
        let text = &context.page[token.range.clone()];
        let is_neutral = match &token.kind {
            HtmlKind::Text => text.bytes().all(crate::html::is_blank),
            HtmlKind::Comment => !text.starts_with("<!--[") && !text.starts_with("<!["),
            HtmlKind::Start(tag) if is_sheet(context.scan, index) => {
                match combinable(context, index, tag) {
                    Ok(link) => {
                        let bytes: usize = run.iter().map(|link| link.sheet.text().len() + 1).sum();
                        let joins = run.last().is_none_or(|last| {
                            last.media == link.media
                                && !link.sheet.must_be_first()
                                && bytes + link.sheet.text().len() < context.options.limits.bundle_bytes
                        });
                        if !joins {
                            combined.finish(context, &mut run);
                        }
                        run.push(link);
                    }
                    Err(reason) => {
                        combined.finish(context, &mut run);
                        combined.report.skip(subject(tag), &reason);
                    }
                }
                continue;
            }
            HtmlKind::Start(tag) => match tag.name.as_str() {
                "link" => !tag.has_word("rel", "stylesheet"),
                "meta" => !tag.has("http-equiv"),
                _ => false,
            },
            _ => false,
        };
        if !is_neutral {
            combined.finish(context, &mut run);
        }
    }
    combined.finish(context, &mut run);
    combined
}

fn is_sheet(scan: &PageScan, token: usize) -> bool {
    scan.of_kind(ResourceKind::StyleSheet).any(|resource| resource.token == token)
}

fn subject(tag: &HtmlTag<'_>) -> String {
    tag.raw("href").unwrap_or("style sheet").to_owned()
}

impl CombinedStyles {
    /// Replaces the style sheets of a run by a combined one.
    fn finish(&mut self, context: &PageContext<'_>, run: &mut Vec<CombinableLink>) {
        let run = std::mem::take(run);
        let Some(first) = run.first() else { return };
        // Browsers request a style sheet once, however often the page names it.
        if run.iter().all(|link| link.url == first.url) {
            return;
        }
        let sheets: Vec<_> = run.iter().map(|link| &link.sheet).collect();
        let text = match combine(&sheets, &context.options.limits) {
            Ok(text) => text,
            Err(refusal) => return self.report.skip(first.url.to_string(), &refusal),
        };
        let parts: Vec<_> = run.iter().map(|link| link.url.clone()).collect();
        let before: usize = run.iter().map(|link| link.original_bytes).sum();
        self.bytes_saved += before.saturating_sub(text.len());
        let bundle = PageBundle::new(BundleKind::Css, text, parts);
        let media =
            if first.media.is_empty() { String::new() } else { format!(" media=\"{}\"", first.media) };
        let link = format!("<link rel=\"stylesheet\" href=\"{}\"{media}>", bundle.path);
        for (index, part) in run.iter().enumerate() {
            let range = context.tokens[part.token].range.clone();
            self.edits.push((range, if index == 0 { link.clone() } else { String::new() }));
        }
        self.report.changed += 1;
        self.bundles.push(bundle);
    }
}

/// Prepares the style sheet of a `link`, or returns why it is left alone.
fn combinable(context: &PageContext<'_>, token: usize, tag: &HtmlTag<'_>) -> Result<CombinableLink, String> {
    let found = context.scan.of_kind(ResourceKind::StyleSheet).find(|resource| resource.token == token);
    let url = found.and_then(|resource| resource.url.clone()).ok_or("its URL is not understood")?;
    if context.is_excluded[token] || context.options.exclude.covers_url(&url) {
        return Err(EXCLUDED.to_owned());
    }
    let unknown = tag
        .attributes
        .iter()
        .find(|attribute| !KNOWN_ATTRIBUTES.iter().any(|known| attribute.name.eq_ignore_ascii_case(known)));
    if let Some(attribute) = unknown {
        return Err(format!("has the attribute {}", attribute.name));
    }
    if !tag.raw("rel").unwrap_or_default().trim().eq_ignore_ascii_case("stylesheet") {
        return Err("has several link types".to_owned());
    }
    let media = tag.raw("media").unwrap_or_default().trim().to_ascii_lowercase();
    if !media.bytes().all(|byte| byte.is_ascii_alphanumeric() || b" ,():-.".contains(&byte)) {
        return Err("has an unusual media query".to_owned());
    }
    if let Some(id) = tag.raw("id")
        && (id.len() < 3 || context.scripts.iter().any(|script| script.contains(id)))
    {
        return Err(format!("a script names its id {id}"));
    }
    let (text, base) = sheet_text(context, &url)?;
    let sheet =
        SheetSource::prepare(text, base, context.is_on(FilterName::RewriteCss), &context.options.limits)
            .map_err(|refusal| refusal.to_string())?;
    let media = if media == "all" { String::new() } else { media };
    Ok(CombinableLink { token, url, media, sheet, original_bytes: text.len() })
}

/// Returns the text of a style sheet that browsers apply, and the URL it was loaded from.
fn sheet_text<'a>(context: &PageContext<'a>, url: &PageUrl) -> Result<(&'a str, &'a PageUrl), String> {
    if !url.is_same_origin(context.url) {
        return Err("is from another site".to_owned());
    }
    let resource = context.resources.get(url).ok_or("was not read")?;
    if !resource.is_ok() {
        return Err(format!("has status {}", resource.status));
    }
    if resource.media_type != "text/css" {
        return Err(format!("has the type \"{}\"", resource.media_type));
    }
    if !resource.url.is_same_origin(context.url) {
        return Err("redirects to another site".to_owned());
    }
    let text = resource.text().ok_or_else(|| CssRefusal::NotUtf8.to_string())?;
    let is_clear = text.is_ascii()
        || text.starts_with('\u{feff}')
        || resource.charset.is_some()
        || context.charset.is_some_and(|charset| matches!(charset, "utf-8" | "utf8"));
    if is_clear { Ok((text, &resource.url)) } else { Err("its encoding is not declared".to_owned()) }
}

/// Returns the elements whose white space may be shown as written; an error text if a style sheet cannot be read.
pub(crate) fn preserving_elements(context: &PageContext<'_>) -> Result<Vec<ElementPattern>, String> {
    let mut sheets = SheetQueue::default();
    for range in &context.scan.inline_styles {
        let base = context.scan.base.as_ref().ok_or("the URL of the base element is not understood")?;
        sheets.read(&context.page[range.clone()], base, &context.options.limits)?;
    }
    for resource in context.scan.of_kind(ResourceKind::StyleSheet) {
        sheets.waiting.push(resource.url.clone().ok_or("the URL of a style sheet is not understood")?);
    }
    let mut seen = HashSet::new();
    while let Some(url) = sheets.waiting.pop() {
        if FONT_HOSTS.contains(&url.authority()) || !seen.insert(url.clone()) {
            continue;
        }
        let (text, base) =
            sheet_text(context, &url).map_err(|reason| format!("the style sheet {url}: {reason}"))?;
        sheets.read(text, base, &context.options.limits)?;
    }
    let found = sheets.preserving;
    if found.iter().any(ElementPattern::is_any) {
        return Err("a style sheet may show white space of any element".to_owned());
    }
    if found.len() > MAX_PATTERNS {
        return Err("style sheets may show white space of too many elements".to_owned());
    }
    let class_named = |class: &String| context.scripts.iter().any(|script| names_word(script, class));
    match found.iter().flat_map(|pattern| &pattern.classes).find(|class| class_named(class)) {
        Some(class) => Err(format!("a script names the class {class}, which shows white space")),
        None => Ok(found.into_iter().collect()),
    }
}

/// Style sheets of a page, also imported ones.
#[derive(Default)]
struct SheetQueue {
    /// Style sheets that are still to be read.
    waiting: Vec<PageUrl>,
    /// Elements whose white space may be shown as written, of the style sheets that were read.
    preserving: BTreeSet<ElementPattern>,
}

impl SheetQueue {
    fn read(&mut self, text: &str, base: &PageUrl, limits: &OptimizeLimits) -> Result<(), String> {
        let facts =
            SheetFacts::read(text, limits).map_err(|refusal| format!("a style sheet is {refusal}"))?;
        self.preserving.extend(facts.preserving);
        for import in facts.imports {
            let url = import.and_then(|import| base.join(&import));
            self.waiting.push(url.ok_or("an @import rule is not understood")?);
        }
        Ok(())
    }
}

/// Returns whether a text contains a word that is not part of a longer name.
fn names_word(text: &str, word: &str) -> bool {
    let is_part =
        |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(byte));
    memchr::memmem::find_iter(text.as_bytes(), word.as_bytes()).any(|at| {
        let bytes = text.as_bytes();
        !is_part(at.checked_sub(1).and_then(|before| bytes.get(before)))
            && !is_part(bytes.get(at + word.len()))
    })
}
