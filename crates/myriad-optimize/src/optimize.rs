//! All filters, applied to a page.

use std::cell::OnceCell;

use crate::bundle::PageBundle;
use crate::charset::may_be_utf8;
use crate::edit::edited;
use crate::exclude::EXCLUDED;
use crate::filter::{FilterName, FilterReport, counted};
use crate::hints::hint_preload_subresources;
use crate::html::{
    HtmlKind, HtmlToken, PageScan, ResourceKind, collapse_whitespace, declared_encoding, scan, tokenize,
};
use crate::images::{PageImages, image_size, insert_image_dimensions, order_loading};
use crate::needed::{CHANGE_SHEETS, ResourceNeeds};
use crate::page_context::{PageContext, PageResources};
use crate::page_facts::{PageFacts, READ_FACTS};
use crate::page_scripts::change_scripts;
use crate::page_styles::change_styles;
use crate::{OptimizeOptions, PageResource, PageUrl};

/// Equivalent, smaller form of a page.
#[derive(Clone, Debug)]
pub struct OptimizedPage {
    /// HTML of the optimized page.
    pub html: String,
    /// Style sheets and scripts that the optimizer generated and that the optimized page refers to.
    pub bundles: Vec<PageBundle>,
    /// Same-origin resources on which the result depends, each with its digest ([`PageResource::digest`]). If one
    /// changes, the page must be optimized again.
    pub dependencies: Vec<(PageUrl, [u8; 16])>,
    /// Report of each filter that is on and changes pages, in the order of [`FilterName`].
    pub reports: Vec<FilterReport>,
}

/// Applies the filters that are on. Returns an error text if the page is excluded or cannot be read; the original is
/// then used.
pub fn optimize(
    page: &PageResource,
    resources: &PageResources,
    options: &OptimizeOptions,
) -> Result<OptimizedPage, String> {
    if options.exclude.covers_url(&page.url) {
        return Err(EXCLUDED.to_owned());
    }
    let text = page.text().ok_or("the page is not UTF-8")?;
    let tokens = tokenize(text, &options.limits).map_err(|refusal| refusal.to_string())?;
    let scanned = scan(text, &tokens, &page.url);
    let charset = page.charset.clone().or_else(|| declared_encoding(&tokens));
    if !may_be_utf8(charset.as_deref(), text.as_bytes()) {
        return Err("the page is not UTF-8".to_owned());
    }
    let context = PageContext {
        page: text,
        url: &page.url,
        charset: charset.as_deref(),
        tokens: &tokens,
        scan: &scanned,
        resources,
        scripts: &script_texts(text, &scanned, resources, &page.url),
        script_words: OnceCell::new(),
        options,
        has_policy: has_policy(page, &tokens),
        is_excluded: &options.exclude.tokens(&tokens),
    };
    let reads_facts = options.filters.contains_any(&READ_FACTS);
    let facts = if reads_facts { PageFacts::read(&context) } else { Err(String::new()) };
    let (html, bundles, mut reports) = with_new_elements(&context, &facts)?;
    let (mut html, loading_reports) = with_loading_order(&html, &context, &facts)?;
    reports.extend(loading_reports);
    if context.is_on(FilterName::CollapseWhitespace) {
        let (collapsed, report) = with_less_whitespace(html, &context, &facts);
        html = collapsed;
        reports.push(report);
    }
    reports.retain(|report| context.is_on(report.filter));
    reports.sort_by_key(|report| report.filter);
    let needs = ResourceNeeds::of(text, &scanned, &page.url, resources, options);
    Ok(OptimizedPage { html, bundles, dependencies: needs.with_digests(resources), reports })
}

/// Applies the filters that replace style sheets and scripts, and the one for sizes of images. Returns the page, the
/// bundles and the reports, or an error text if the changed page cannot be read.
fn with_new_elements(
    context: &PageContext<'_>,
    facts: &Result<PageFacts, String>,
) -> Result<(String, Vec<PageBundle>, Vec<FilterReport>), String> {
    let (mut edits, mut bundles, mut reports) = (Vec::new(), Vec::new(), Vec::new());
    if context.options.filters.contains_any(&CHANGE_SHEETS) {
        let mut styles = change_styles(context);
        let html = edited(context.page, &styles.edits);
        let tokens = tokenize(&html, &context.options.limits).map_err(|refusal| refusal.to_string())?;
        let scanned = scan(&html, &tokens, context.url);
        let saved = context.scan.urls().len().saturating_sub(scanned.urls().len());
        styles.inlined.requests_saved = styles.inlined.changed.min(saved);
        styles.combined.requests_saved = saved - styles.inlined.requests_saved;
        edits = styles.edits;
        bundles = styles.bundles;
        reports = vec![styles.combined, styles.rewritten, styles.inlined];
    }
    if context.is_on(FilterName::RewriteJavascript) {
        let scripts = change_scripts(context);
        edits.extend(scripts.edits);
        bundles.extend(scripts.bundles);
        reports.push(scripts.report);
    }
    if context.is_on(FilterName::InsertImageDimensions) {
        let (sizes, report) = insert_image_dimensions(context, facts);
        edits.extend(sizes);
        reports.push(report);
    }
    edits.sort_by_key(|(range, _)| range.start);
    Ok((edited(context.page, &edits), bundles, reports))
}

/// Applies the filters that order the loading of images and fonts. Returns the page and the reports, or an error text
/// if the page cannot be read.
fn with_loading_order(
    html: &str,
    context: &PageContext<'_>,
    facts: &Result<PageFacts, String>,
) -> Result<(String, Vec<FilterReport>), String> {
    let tokens = tokenize(html, &context.options.limits).map_err(|refusal| refusal.to_string())?;
    let scanned = scan(html, &tokens, context.url);
    let size_of =
        |url: &PageUrl| image_size(&context.resources.get(url)?.body).map(|size| (size.width, size.height));
    let is_excluded = context.options.exclude.tokens(&tokens);
    let images =
        PageImages { tokens: &tokens, scan: &scanned, scripts: context.scripts, is_excluded: &is_excluded };
    let mut changes = order_loading(&images, &size_of, context.options);
    if context.is_on(FilterName::HintPreloadSubresources) {
        let (hints, report) = hint_preload_subresources(&images, changes.largest, context, facts);
        changes.edits.extend(hints);
        changes.edits.sort_by_key(|(range, _)| range.start);
        changes.reports.push(report);
    }
    Ok((edited(html, &changes.edits), changes.reports))
}

fn with_less_whitespace(
    html: String,
    context: &PageContext<'_>,
    facts: &Result<PageFacts, String>,
) -> (String, FilterReport) {
    let mut report = FilterReport::new(FilterName::CollapseWhitespace);
    let exclude = &context.options.exclude;
    let excluded = context
        .tokens
        .iter()
        .filter(|token| matches!(&token.kind, HtmlKind::Start(tag) if exclude.covers_tag(tag)));
    match excluded.count() {
        0 => {}
        count => report.skip(counted(count, "element"), &EXCLUDED),
    }
    let collapsed = facts
        .as_ref()
        .map_err(String::clone)
        .and_then(|facts| facts.preserving_elements(context))
        .and_then(|preserving| {
            collapse_whitespace(&html, &preserving, &|tag| exclude.covers_tag(tag), &context.options.limits)
                .map_err(|refusal| refusal.to_string())
        });
    match collapsed {
        Ok(collapsed) if collapsed.len() < html.len() => {
            report.change(html.len() - collapsed.len());
            return (collapsed, report);
        }
        Ok(_) => {}
        Err(reason) => report.skip("page", &reason),
    }
    (html, report)
}

/// Returns whether the page has a Content-Security-Policy, in its response or in a `meta` element. The policy is not
/// evaluated.
fn has_policy(page: &PageResource, tokens: &[HtmlToken<'_>]) -> bool {
    page.has_policy
        || tokens.iter().any(|token| match &token.kind {
            HtmlKind::Start(tag) => {
                tag.name == "meta" && tag.has_word("http-equiv", "content-security-policy")
            }
            _ => false,
        })
}

/// Returns the texts of the scripts within the page, and of the external scripts from the same site that are in
/// `resources` and are valid UTF-8.
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

#[cfg(test)]
mod tests;
