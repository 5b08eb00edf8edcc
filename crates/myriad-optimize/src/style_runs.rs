//! Runs of style sheets of a page that one style sheet can replace.

use std::collections::HashMap;
use std::ops::Range;

use crate::PageUrl;
use crate::css::SheetSource;
use crate::exclude::EXCLUDED;
use crate::filter::FilterName;
use crate::html::{
    HtmlKind, HtmlTag, HtmlToken, ResourceKind, ScannedResource, is_blank, is_module, is_script,
};
use crate::page_context::PageContext;

/// Length in bytes below which a style sheet is moved into the page, as in mod_pagespeed.
const INLINE_BYTES: usize = 2048;
/// Length in bytes below which a style sheet is moved into the page if too many requests block the first paint.
const MAX_INLINE_BYTES: usize = 8192;
/// Attributes of a `link` that combination preserves.
const KNOWN_ATTRIBUTES: [&str; 5] = ["rel", "href", "media", "type", "id"];
/// Attributes of a `style` element that combination preserves.
const KNOWN_STYLE_ATTRIBUTES: [&str; 4] = ["media", "type", "id", "class"];
/// Attributes that prevent a change of the URL of a `link`.
const FIXING_ATTRIBUTES: [&str; 2] = ["integrity", "crossorigin"];
/// Number of requests that block the first paint up to which style sheets with `style` elements between them remain separate
/// files. The text of such elements often differs between pages, and so would the combined style sheet.
const MAX_BLOCKING: usize = 2;

/// Style sheet of a page: that of a `link` element with a URL that may change, or the text of a `style` element.
pub(crate) struct PageSheet {
    /// Index range of the tokens of the `link` or `style` element.
    pub(crate) tokens: Range<usize>,
    /// URL of the style sheet; `None` for a `style` element.
    pub(crate) url: Option<PageUrl>,
    pub(crate) sheet: SheetSource,
    pub(crate) original_bytes: usize,
    /// Media query of a sheet that may be combined with others or moved into the page; `None` for other sheets.
    pub(crate) media: Option<String>,
    /// True if the sheet is in the head and browsers wait for it before they show the page.
    pub(crate) is_critical: bool,
}

/// Adjacent style sheets of a page that one style sheet can replace.
pub(crate) struct StyleRun {
    /// Style sheets of the run, in the order of the page. The first and the last are files, not `style` elements.
    pub(crate) sheets: Vec<PageSheet>,
    /// The `style` elements between the previous run and this one, if one style sheet can replace both runs and these
    /// elements; otherwise `None`.
    before: Option<Vec<PageSheet>>,
    /// Length in bytes of the combined text below which the run is moved into the page.
    inline_bytes: usize,
}

impl StyleRun {
    /// Returns whether all sheets have the same URL, which browsers request once.
    pub(crate) fn is_one_file(&self) -> bool {
        let first = self.sheets.first().map(|sheet| &sheet.url);
        self.sheets.iter().all(|sheet| sheet.url.is_some() && Some(&sheet.url) == first)
    }

    /// Returns whether a text of `length` bytes may replace the run as a `style` element: the first sheet blocks the
    /// first paint and may be combined, and the text is shorter than the limit of the run.
    pub(crate) fn is_short_enough(&self, length: usize) -> bool {
        self.sheets[0].is_critical && self.sheets[0].media.is_some() && length < self.inline_bytes
    }

    /// Returns the URL of the first style sheet of the run, which names the run in reports.
    pub(crate) fn subject(&self) -> String {
        self.sheets[0].url.as_ref().map_or_else(|| "style".to_owned(), ToString::to_string)
    }

    /// Returns the length in bytes of the combined text of the run's style sheets.
    fn bytes(&self) -> usize {
        bytes_of(&self.sheets)
    }
}

/// Returns the length in bytes of the combined text of `sheets`, with one byte between two sheets.
fn bytes_of(sheets: &[PageSheet]) -> usize {
    let lengths = sheets.iter().map(|sheet| sheet.sheet.text().len() + 1);
    lengths.sum::<usize>().saturating_sub(1)
}

/// Style sheets of a page.
#[derive(Default)]
pub(crate) struct StyleRuns {
    pub(crate) runs: Vec<StyleRun>,
    /// Style sheets that stay as they are, with the reasons.
    pub(crate) refused: Vec<RefusedSheet>,
    /// Style sheets that may become smaller, but are not combined, with the reasons.
    pub(crate) separate: Vec<(String, String)>,
}

/// Style sheet that the filters leave unchanged, with the reason.
pub(crate) struct RefusedSheet {
    /// URL of the style sheet as the page names it.
    pub(crate) subject: String,
    pub(crate) url: Option<PageUrl>,
    pub(crate) reason: String,
    is_critical: bool,
}

impl StyleRuns {
    /// Returns the runs of a page. Between the sheets of a run, there are only white space, comments and elements without
    /// effect on styles. `keeps_styles` is true if `style` elements must remain as they are.
    pub(crate) fn of(context: &PageContext<'_>, keeps_styles: bool) -> Self {
        let sheets: HashMap<usize, &ScannedResource> = context
            .scan
            .of_kind(ResourceKind::StyleSheet)
            .map(|resource| (resource.token, resource))
            .collect();
        let mut found = Self::default();
        // The `style` elements after the last run; `None` after anything else that must stay between two sheets.
        let mut gap: Option<Vec<PageSheet>> = None;
        let mut index = 0;
        while let Some(token) = context.tokens.get(index) {
            let next = element_end(context.tokens, index);
            match (&token.kind, sheets.get(&index)) {
                (HtmlKind::Start(tag), Some(resource)) => gap = found.link(context, resource, tag, gap),
                (HtmlKind::Start(tag), None) if tag.name == "style" => {
                    let style = read_style(context, index..next, tag).filter(|_| !keeps_styles);
                    gap = gap.zip(style).map(|(mut styles, style)| {
                        styles.push(style);
                        styles
                    });
                }
                _ if is_neutral(context.page, token) => {}
                _ => gap = None,
            }
            index = next;
        }
        found
    }

    /// Adds the style sheet of a `link` that follows the `style` elements in `gap`. Returns the new gap.
    fn link(
        &mut self,
        context: &PageContext<'_>,
        resource: &ScannedResource,
        tag: &HtmlTag<'_>,
        gap: Option<Vec<PageSheet>>,
    ) -> Option<Vec<PageSheet>> {
        let subject = tag.raw("href").unwrap_or("style sheet").to_owned();
        let (sheet, not_combinable) = match read_sheet(context, resource, tag) {
            Ok(read) => read,
            Err(reason) => {
                let (url, is_critical) = (resource.url.clone(), is_critical(context, resource));
                self.refused.push(RefusedSheet { subject, url, reason, is_critical });
                return None;
            }
        };
        if let Some(reason) = not_combinable {
            self.separate.push((subject, reason));
        }
        let last = self.runs.last_mut();
        let between =
            gap.filter(|styles| last.as_ref().is_some_and(|run| joins(context, run, styles, &sheet)));
        match (last, between) {
            (Some(run), Some(styles)) if styles.is_empty() => run.sheets.push(sheet),
            (_, before) => {
                self.runs.push(StyleRun { sheets: vec![sheet], before, inline_bytes: INLINE_BYTES });
            }
        }
        Some(Vec::new())
    }

    /// Reduces the requests that block the first paint to [`MAX_BLOCKING`], if possible: first moves runs of less than
    /// [`MAX_INLINE_BYTES`] into the page, the shortest first; then combines pairs of runs with the `style` elements
    /// between them, starting with the shortest text between. `may_inline` returns whether a run can be moved into the
    /// page if it is short.
    pub(crate) fn join(&mut self, context: &PageContext<'_>, may_inline: impl Fn(&StyleRun) -> bool) {
        let scripts = context.scan.of_kind(ResourceKind::Script).filter(|script| script.is_blocking).count();
        let refused = self.refused.iter().filter(|sheet| sheet.is_critical).count();
        let blocks = |run: &StyleRun| {
            run.sheets[0].is_critical && !(run.is_short_enough(run.bytes()) && may_inline(run))
        };
        loop {
            let blocking = self.runs.iter().filter(|run| blocks(run)).count();
            if blocking < 2 || scripts + refused + blocking <= MAX_BLOCKING {
                return;
            }
            let short = self.runs.iter_mut().filter(|run| blocks(run) && may_inline(run));
            if let Some(run) =
                short.min_by_key(|run| run.bytes()).filter(|run| run.bytes() < MAX_INLINE_BYTES)
            {
                run.inline_bytes = MAX_INLINE_BYTES;
                continue;
            }
            let Some(index) = self.shortest_gap(context, blocks) else { return };
            let second = self.runs.remove(index);
            let first = &mut self.runs[index - 1].sheets;
            first.extend(second.before.into_iter().flatten());
            first.extend(second.sheets);
        }
    }

    /// Returns the index of the run to combine with the run before it: of all pairs that can be combined and both block
    /// the first paint, the one with the shortest text of `style` elements between them. `None` if there is no such
    /// pair.
    fn shortest_gap(&self, context: &PageContext<'_>, blocks: impl Fn(&StyleRun) -> bool) -> Option<usize> {
        let pairs = (1..self.runs.len()).filter_map(|index| {
            let (first, second) = (&self.runs[index - 1], &self.runs[index]);
            let between = bytes_of(second.before.as_deref()?);
            let is_short = first.bytes() + between + second.bytes() + 2 < context.options.limits.bundle_bytes;
            (is_short && blocks(first) && blocks(second)).then_some((between, index))
        });
        pairs.min().map(|(_, index)| index)
    }
}

/// Returns whether `combine_css` is on, and `sheet` can be combined with the sheets of `run` and with `styles`, the
/// `style` elements between them, without exceeding the size limit.
fn joins(context: &PageContext<'_>, run: &StyleRun, styles: &[PageSheet], sheet: &PageSheet) -> bool {
    let first = &run.sheets[0];
    context.is_on(FilterName::CombineCss)
        && (styles.is_empty() || sheet.is_critical)
        && styles.iter().chain([sheet]).all(|other| {
            other.media.is_some()
                && other.media == first.media
                && other.is_critical == first.is_critical
                && !other.sheet.must_be_first()
        })
        && run.bytes() + bytes_of(styles) + sheet.sheet.text().len() + 2 < context.options.limits.bundle_bytes
}

/// Returns the index after the last token of a complete element with raw text (`script`, `style`, `title`), otherwise
/// after the token.
fn element_end(tokens: &[HtmlToken<'_>], start: usize) -> usize {
    let HtmlKind::Start(tag) = &tokens[start].kind else { return start + 1 };
    let is_raw = matches!(tag.name.as_str(), "script" | "style" | "title");
    let text = tokens.get(start + 1).is_some_and(|token| token.kind == HtmlKind::RawText);
    let end = start + 1 + usize::from(text);
    let is_closed =
        tokens.get(end).is_some_and(|token| matches!(&token.kind, HtmlKind::End(name) if *name == tag.name));
    if is_raw && is_closed { end + 1 } else { start + 1 }
}

/// Returns whether a token, or the element with raw text that it starts, has no effect on styles and runs no script
/// before the style sheets after it are loaded.
fn is_neutral(page: &str, token: &HtmlToken<'_>) -> bool {
    let text = &page[token.range.clone()];
    match &token.kind {
        HtmlKind::Text => text.bytes().all(is_blank),
        HtmlKind::Comment => !text.starts_with("<!--[") && !text.starts_with("<!["),
        HtmlKind::Start(tag) => match tag.name.as_str() {
            "link" => !tag.has_word("rel", "stylesheet"),
            "meta" => !tag.has("http-equiv"),
            "title" => true,
            // Data, and scripts that run later.
            "script" => {
                !is_script(tag) || is_module(tag) || tag.has("src") && (tag.has("defer") || tag.has("async"))
            }
            _ => false,
        },
        _ => false,
    }
}

fn is_critical(context: &PageContext<'_>, resource: &ScannedResource) -> bool {
    resource.is_blocking && resource.token < context.scan.head_end
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
    // The attribute may be the encoding of the sheet (it is obsolete, and not all browsers ignore it).
    if tag.has("charset") && !text.is_ascii() {
        return Err("has the attribute charset".to_owned());
    }
    let sheet =
        SheetSource::prepare(text, base, context.is_on(FilterName::RewriteCss), &context.options.limits)
            .map_err(|refusal| refusal.to_string())?;
    let (media, reason) = match combinable_media(tag, &KNOWN_ATTRIBUTES) {
        Ok(media) => (Some(media), None),
        Err(reason) => (None, Some(reason)),
    };
    let tokens = resource.token..resource.token + 1;
    let (url, is_critical) = (Some(url.clone()), is_critical(context, resource));
    Ok((PageSheet { tokens, url, sheet, original_bytes: text.len(), media, is_critical }, reason))
}

/// Prepares the text of a `style` element for a combined style sheet; `None` if the element must stay where it is.
fn read_style(context: &PageContext<'_>, tokens: Range<usize>, tag: &HtmlTag<'_>) -> Option<PageSheet> {
    let text = match tokens.len() {
        2 => "",
        3 => &context.page[context.tokens[tokens.start + 1].range.clone()],
        _ => return None,
    };
    let media = combinable_media(tag, &KNOWN_STYLE_ATTRIBUTES).ok()?;
    let classes = tag.raw("class").unwrap_or_default().split_ascii_whitespace();
    let is_css = tag.raw("type").is_none_or(|kind| matches!(kind.trim(), "" | "text/css"));
    let is_named = tag.raw("id").into_iter().chain(classes).any(|name| context.scripts_name(name));
    let holds_marker = context.options.marker.as_deref().is_some_and(|marker| text.contains(marker));
    if context.is_excluded[tokens.start] || !is_css || !context.decodes(text) || is_named || holds_marker {
        return None;
    }
    let base = context.scan.base.as_ref()?;
    let is_minified = context.is_on(FilterName::RewriteCss);
    let sheet = SheetSource::prepare(text, base, is_minified, &context.options.limits).ok()?;
    let is_critical = tokens.start < context.scan.head_end;
    Some(PageSheet { tokens, url: None, sheet, original_bytes: text.len(), media: Some(media), is_critical })
}

/// Returns the media query of the style sheet of `tag`, empty for all media. Returns the reason as an error if no other
/// element may replace the element, for example because it has attributes other than `known`.
fn combinable_media(tag: &HtmlTag<'_>, known: &[&str]) -> Result<String, String> {
    let unknown = tag
        .attributes
        .iter()
        .find(|attribute| !known.iter().any(|known| attribute.name.eq_ignore_ascii_case(known)));
    if let Some(attribute) = unknown {
        return Err(format!("has the attribute {}", attribute.name));
    }
    let media = tag.raw("media").unwrap_or_default().trim().to_ascii_lowercase();
    if !media.bytes().all(|byte| byte.is_ascii_alphanumeric() || b" ,():-.".contains(&byte)) {
        return Err("has an unusual media query".to_owned());
    }
    Ok(if media == "all" { String::new() } else { media })
}

#[cfg(test)]
mod tests {
    use crate::{FilterName, FilterSet, OptimizeOptions, PageResource, PageResources, PageUrl, optimize};

    const A: &str = "<link rel=stylesheet href=/a.css>";
    const B: &str = "<link rel=stylesheet href=/b.css>";
    const C: &str = "<link rel=stylesheet href=/c.css>";

    fn url(path: &str) -> PageUrl {
        PageUrl::parse(&format!("http://a.test{path}")).expect("absolute")
    }

    /// Style sheets with one rule, repeated up to a length.
    fn files(lengths: &[(&str, usize)]) -> PageResources {
        let file = |(name, length): &(&str, usize)| {
            let rule = format!("{name}{{b:url(i)}}");
            let text = rule.repeat(length.div_ceil(rule.len()).max(1));
            let url = url(&format!("/{name}.css"));
            (url.clone(), PageResource::sample(url, "text/css", &text))
        };
        lengths.iter().map(file).collect()
    }

    /// Returns the page and its bundles, without the start of their paths, after the filters for style sheets.
    fn optimized(html: &str, resources: &PageResources, marker: Option<&str>) -> (String, Vec<String>) {
        let filters = [FilterName::CombineCss, FilterName::InlineCss, FilterName::RewriteCss];
        let filters = filters.into_iter().fold(FilterSet::none(), FilterSet::with);
        let options =
            OptimizeOptions { filters, marker: marker.map(str::to_owned), ..OptimizeOptions::default() };
        let page = PageResource::sample(url("/p/"), "text/html", html);
        let result = optimize(&page, resources, &options).expect("unambiguous");
        (result.html, result.bundles.into_iter().map(|bundle| bundle.text).collect())
    }

    /// Files that are too long for the page.
    fn long_files() -> PageResources {
        files(&[("a", 9000), ("b", 9000), ("c", 9000)])
    }

    #[test]
    fn style_elements_are_combined_in_order_if_too_many_requests_block() {
        let page = format!(
            "<head>{A}<style id=x class=y>s {{ c: url(i) }} s{{}}</style>\n{B}<style>t{{}}</style>{C}<style>u{{}}</style></head>"
        );
        let (html, bundles) = optimized(&page, &long_files(), None);
        // The shortest text is combined, and two files remain.
        assert_eq!(html.matches("<link").count(), 2, "{html}");
        assert!(html.contains("<style id=x class=y>s { c: url(i) } s{}</style>"), "{html}");
        assert!(!html.contains("t{}") && html.contains("<style>u{}</style>"), "{html}");
        let combined = bundles.iter().find(|text| text.contains("t{}")).expect("combined");
        assert!(
            combined.starts_with("b{b:url(/i)}") && combined.contains("\nt{}\nc{b:url(/i)}"),
            "{combined}"
        );
        // With a script that blocks, one style sheet remains. URLs of `style` elements are relative to the page.
        let (html, bundles) =
            optimized(&page.replace("<head>", "<head><script src=/j.js></script>"), &long_files(), None);
        assert_eq!(html.matches("<link").count(), 1, "{html}");
        assert!(bundles[0].contains("\ns{c:url(/p/i)}s{}\nb{b:url(/i)}"), "{}", bundles[0]);
    }

    #[test]
    fn style_elements_that_must_stay_keep_sheets_apart() {
        for style in [
            "<style media=print>t{}</style>",
            "<style title=x>t{}</style>",
            "<style nonce=x>t{}</style>",
            "<style type=text/less>t{}</style>",
            "<style>@import '/b.css';</style>",
            "<style>t{</style>",
            "<style>t{b:c</style>",
            "<style>@namespace x url(y);</style>",
            "<style>t{--b:url(i)}</style>",
            "<style>\u{e9}{}</style>",
            "<style>t{} .hole1{}</style>",
            "<style id=named>t{}</style><script defer src=/j.js></script>",
            "<style class='x named'>t{}</style><script defer src=/j.js></script>",
            "<style>t{}</style><script>x</script>",
            "<style>t{}</style><script src=/j.js></script>",
        ] {
            let mut resources = long_files();
            let script = PageResource::sample(url("/j.js"), "text/javascript", "f('named')");
            resources.insert(url("/j.js"), script);
            let page = format!("<head>{A}{style}{B}{style}{C}</head>");
            let (html, bundles) = optimized(&page, &resources, Some("hole"));
            assert_eq!((html.matches("<link").count(), bundles.len()), (3, 0), "{style}: {html}");
        }
        let searching =
            format!("<head>{A}<style></style>{B}<style></style>{C}<script>$('style')</script></head>");
        let (html, _) = optimized(&searching, &long_files(), None);
        assert_eq!(html.matches("<style>").count(), 2, "{html}");
    }

    #[test]
    fn elements_without_effect_on_styles_do_not_keep_sheets_apart() {
        for between in [
            "<title>a</title>",
            "<script type=application/ld+json>{}</script>",
            "<script type=importmap>{}</script>",
            "<script type=module>x</script>",
            "<script src=/j.js defer></script>",
            "<script src=/j.js async></script>",
        ] {
            let (html, bundles) = optimized(&format!("<head>{A}{between}{B}</head>"), &long_files(), None);
            assert_eq!((html.matches("<link").count(), bundles.len()), (1, 1), "{between}: {html}");
            assert!(html.ends_with(&format!("\">{between}</head>")), "{html}");
        }
    }

    #[test]
    fn longer_sheets_are_moved_into_the_page_if_too_many_requests_block() {
        let resources = files(&[("a", 3000), ("b", 4000), ("c", 9000)]);
        let style = "<style title=x></style>";
        let (html, _) = optimized(&format!("<head>{A}{style}{B}{style}{C}</head>"), &resources, None);
        // The shortest one is moved, and two files remain.
        assert!(html.starts_with("<head><style>a{b:url(/i)}a{"), "{html}");
        assert_eq!(html.matches("<link").count(), 2, "{html}");
        let (html, _) = optimized(&format!("<head>{A}{style}{B}</head>"), &resources, None);
        assert_eq!(html.matches("<link").count(), 2, "{html}");
    }
}
