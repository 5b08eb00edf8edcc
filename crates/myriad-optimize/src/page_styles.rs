//! Style sheets of a page: combined (`combine_css`), made smaller (`rewrite_css`), or moved into the page
//! (`inline_css`).

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use crate::PageUrl;
use crate::bundle::{BundleKind, PageBundle};
use crate::css::{SheetSource, combine};
use crate::exclude::EXCLUDED;
use crate::filter::{FilterName, FilterReport, is_worthwhile};
use crate::html::{HtmlKind, HtmlTag, HtmlToken, ResourceKind, ScannedResource, is_blank};
use crate::page_context::{OTHER_SITE, PageContext};

/// Attributes of a `link` that combination preserves.
const KNOWN_ATTRIBUTES: [&str; 5] = ["rel", "href", "media", "type", "id"];
/// Attributes with which a `link` keeps its URL.
const FIXING_ATTRIBUTES: [&str; 2] = ["integrity", "crossorigin"];
/// Maximum number of style sheets of a page that are changed.
const MAX_SHEETS: usize = 300;
/// Length in bytes below which a style sheet is moved into the page, as in mod_pagespeed.
const INLINE_BYTES: usize = 2048;

/// Style sheet of a `link` whose URL may change.
struct PageSheet {
    token: usize,
    url: PageUrl,
    sheet: SheetSource,
    original_bytes: usize,
    /// Media query of a sheet that may be combined with others or moved into the page; `None` for other sheets.
    media: Option<String>,
    /// True if the sheet is in the head and browsers wait for it before they show the page.
    is_critical: bool,
}

/// Result of the filters for style sheets.
pub(crate) struct StyleChanges {
    /// New texts for ranges of the page, in their order.
    pub(crate) edits: Vec<(Range<usize>, String)>,
    pub(crate) bundles: Vec<PageBundle>,
    pub(crate) combined: FilterReport,
    pub(crate) rewritten: FilterReport,
    pub(crate) inlined: FilterReport,
    /// Text with which a script of the page searches for `style` elements; `None` if no script does.
    style_search: Option<String>,
}

/// Combines adjacent style sheets of the same media, moves small ones into the page, and makes others smaller.
pub(crate) fn change_styles(context: &PageContext<'_>) -> StyleChanges {
    let mut changes = StyleChanges {
        edits: Vec::new(),
        bundles: Vec::new(),
        combined: FilterReport::new(FilterName::CombineCss),
        rewritten: FilterReport::new(FilterName::RewriteCss),
        inlined: FilterReport::new(FilterName::InlineCss),
        style_search: context.search_for("style").map(str::to_owned),
    };
    let reason =
        context.unchangeable(ResourceKind::StyleSheet, ("link", "styleSheets"), (MAX_SHEETS, "style sheets"));
    if let Some(reason) = reason {
        for report in [&mut changes.combined, &mut changes.rewritten, &mut changes.inlined] {
            report.skip("page", &reason);
        }
        return changes;
    }
    let (runs, unchanged) = changes.runs(context);
    for run in &runs {
        changes.replace(context, run, &unchanged);
    }
    changes.edits.sort_by_key(|(range, _)| range.start);
    changes
}

impl StyleChanges {
    /// Returns runs of style sheets that can be combined, and the URLs of style sheets that stay as they are. A run
    /// may also be empty, or a single sheet that cannot be combined. Between the sheets of a run, there are only
    /// white space, comments and elements without effect on styles.
    fn runs<'c>(&mut self, context: &PageContext<'c>) -> (Vec<Vec<PageSheet>>, HashSet<&'c PageUrl>) {
        let sheets: HashMap<usize, &ScannedResource> = context
            .scan
            .of_kind(ResourceKind::StyleSheet)
            .map(|resource| (resource.token, resource))
            .collect();
        let (mut runs, mut run): (Vec<Vec<PageSheet>>, Vec<PageSheet>) = (Vec::new(), Vec::new());
        let mut unchanged = HashSet::new();
        for (index, token) in context.tokens.iter().enumerate() {
            let (HtmlKind::Start(tag), Some(resource)) = (&token.kind, sheets.get(&index)) else {
                if !run.is_empty() && !is_neutral(context.page, token) {
                    runs.push(std::mem::take(&mut run));
                }
                continue;
            };
            let subject = tag.raw("href").unwrap_or("style sheet");
            match read_sheet(context, resource, tag) {
                Ok((sheet, not_combinable)) => {
                    if let Some(reason) = not_combinable {
                        self.combined.skip(subject, &reason);
                    }
                    if !joins(context, &run, &sheet) {
                        runs.push(std::mem::take(&mut run));
                    }
                    run.push(sheet);
                }
                Err(reason) => {
                    runs.push(std::mem::take(&mut run));
                    unchanged.extend(&resource.url);
                    self.combined.skip(subject, &reason);
                    if reason != OTHER_SITE {
                        self.rewritten.skip(subject, &reason);
                    }
                }
            }
        }
        runs.push(run);
        (runs, unchanged)
    }

    /// Replaces the style sheets of a run by one element if they can be combined or moved into the page, otherwise
    /// each by a smaller file if that is worthwhile.
    fn replace(&mut self, context: &PageContext<'_>, run: &[PageSheet], unchanged: &HashSet<&PageUrl>) {
        let Some(first) = run.first() else { return };
        // Browsers request a style sheet once, however often the page names it.
        if run.iter().all(|sheet| sheet.url == first.url) {
            let text = first.sheet.text();
            if first.media.is_some() && self.may_inline(context, first, text) {
                return self.replace_by(context, run, text.to_owned());
            }
        } else {
            let sheets: Vec<_> = run.iter().map(|sheet| &sheet.sheet).collect();
            match combine(&sheets, &context.options.limits) {
                Ok(text) => {
                    self.combined.changed += 1;
                    return self.replace_by(context, run, text);
                }
                Err(refusal) => self.combined.skip(first.url.to_string(), &refusal),
            }
        }
        for sheet in run.iter().filter(|sheet| !unchanged.contains(&sheet.url)) {
            let text = sheet.sheet.text();
            if context.is_on(FilterName::RewriteCss) && is_worthwhile(sheet.original_bytes, text.len()) {
                self.rewritten.change(sheet.original_bytes - text.len());
                let path = self.bundle(text.to_owned(), vec![sheet.url.clone()]);
                self.edits.extend(context.attribute_edit(sheet.token, "href", &path));
            }
        }
    }

    /// Replaces style sheets by one element.
    fn replace_by(&mut self, context: &PageContext<'_>, run: &[PageSheet], text: String) {
        let before: usize = run.iter().map(|sheet| sheet.original_bytes).sum();
        if context.is_on(FilterName::RewriteCss) && text.len() < before {
            self.rewritten.change(before - text.len());
        }
        let first = &run[0];
        let media = match first.media.as_deref().unwrap_or_default() {
            "" => String::new(),
            media => format!(" media=\"{media}\""),
        };
        let element = if self.may_inline(context, first, &text) {
            self.inlined.change(0);
            format!("<style{media}>{text}</style>")
        } else {
            let path = self.bundle(text, run.iter().map(|sheet| sheet.url.clone()).collect());
            format!("<link rel=\"stylesheet\" href=\"{path}\"{media}>")
        };
        for (index, sheet) in run.iter().enumerate() {
            let range = context.tokens[sheet.token].range.clone();
            self.edits.push((range, if index == 0 { element.clone() } else { String::new() }));
        }
    }

    /// Adds a bundle and returns its path.
    fn bundle(&mut self, text: String, parts: Vec<PageUrl>) -> String {
        let bundle = PageBundle::new(BundleKind::Css, text, parts);
        let path = bundle.path.clone();
        if self.bundles.iter().all(|known| known.path != path) {
            self.bundles.push(bundle);
        }
        path
    }

    /// Returns whether a text becomes a `style` element in place of a style sheet.
    fn may_inline(&mut self, context: &PageContext<'_>, sheet: &PageSheet, text: &str) -> bool {
        if !context.is_on(FilterName::InlineCss) || !sheet.is_critical || text.len() >= INLINE_BYTES {
            return false;
        }
        let lower = text.to_ascii_lowercase();
        let is_decoded = text.is_ascii() || matches!(context.charset, Some("utf-8" | "utf8"));
        let reason = if let Some(search) = &self.style_search {
            format!("a script searches for style elements ({search})")
        } else if lower.contains("</style") || lower.contains("<!--") {
            "contains markup".to_owned()
        } else if lower.contains("@import") {
            "has an @import rule".to_owned()
        } else if !is_decoded {
            "the encoding of the page is not declared".to_owned()
        } else {
            return true;
        };
        self.inlined.skip(sheet.url.to_string(), &reason);
        false
    }
}

/// Returns whether a sheet can be combined with those of a run.
fn joins(context: &PageContext<'_>, run: &[PageSheet], sheet: &PageSheet) -> bool {
    let Some(last) = run.last() else { return true };
    let bytes: usize = run.iter().map(|sheet| sheet.sheet.text().len() + 1).sum();
    context.is_on(FilterName::CombineCss)
        && sheet.media.is_some()
        && last.media == sheet.media
        && last.is_critical == sheet.is_critical
        && !sheet.sheet.must_be_first()
        && bytes + sheet.sheet.text().len() < context.options.limits.bundle_bytes
}

/// Returns whether a token between two style sheets has no effect on styles.
fn is_neutral(page: &str, token: &HtmlToken<'_>) -> bool {
    let text = &page[token.range.clone()];
    match &token.kind {
        HtmlKind::Text => text.bytes().all(is_blank),
        HtmlKind::Comment => !text.starts_with("<!--[") && !text.starts_with("<!["),
        HtmlKind::Start(tag) => match tag.name.as_str() {
            "link" => !tag.has_word("rel", "stylesheet"),
            "meta" => !tag.has("http-equiv"),
            _ => false,
        },
        _ => false,
    }
}

/// Prepares the style sheet of a `link`, with the reason if it cannot be combined; or returns why it is left alone.
fn read_sheet(
    context: &PageContext<'_>,
    resource: &ScannedResource,
    tag: &HtmlTag<'_>,
) -> Result<(PageSheet, Option<String>), String> {
    let url = resource.url.as_ref().ok_or("its URL is not understood")?;
    if context.is_excluded[resource.token] || context.options.exclude.covers_url(url) {
        return Err(EXCLUDED.to_owned());
    }
    if let Some(name) = FIXING_ATTRIBUTES.iter().find(|name| tag.has(name)) {
        return Err(format!("has the attribute {name}"));
    }
    if !tag.raw("rel").unwrap_or_default().trim().eq_ignore_ascii_case("stylesheet") {
        return Err("has several link types".to_owned());
    }
    if let Some(id) = tag.raw("id")
        && context.scripts_name(id)
    {
        return Err(format!("a script names its id {id}"));
    }
    if context.is_preloaded(url) {
        return Err("the page preloads it".to_owned());
    }
    let (text, base) = context.sheet_text(url)?;
    let sheet =
        SheetSource::prepare(text, base, context.is_on(FilterName::RewriteCss), &context.options.limits)
            .map_err(|refusal| refusal.to_string())?;
    let (media, reason) = match combinable_media(tag) {
        Ok(media) => (Some(media), None),
        Err(reason) => (None, Some(reason)),
    };
    let is_critical = resource.is_blocking && resource.token < context.scan.head_end;
    let (token, url) = (resource.token, url.clone());
    Ok((PageSheet { token, url, sheet, original_bytes: text.len(), media, is_critical }, reason))
}

/// Returns the media query of a style sheet that another element may replace, empty for all media; or the reason why
/// no other element may replace it.
fn combinable_media(tag: &HtmlTag<'_>) -> Result<String, String> {
    let unknown = tag
        .attributes
        .iter()
        .find(|attribute| !KNOWN_ATTRIBUTES.iter().any(|known| attribute.name.eq_ignore_ascii_case(known)));
    if let Some(attribute) = unknown {
        return Err(format!("has the attribute {}", attribute.name));
    }
    let media = tag.raw("media").unwrap_or_default().trim().to_ascii_lowercase();
    if !media.bytes().all(|byte| byte.is_ascii_alphanumeric() || b" ,():-.".contains(&byte)) {
        return Err("has an unusual media query".to_owned());
    }
    Ok(if media == "all" { String::new() } else { media })
}
