//! Style sheets of a page: combined (`combine_css`), made smaller (`rewrite_css`), or moved into the page
//! (`inline_css`).

use std::collections::HashSet;
use std::ops::Range;

use crate::PageUrl;
use crate::bundle::{BundleKind, PageBundle};
use crate::css::combine;
use crate::filter::{FilterName, FilterReport, is_worthwhile};
use crate::html::ResourceKind;
use crate::page_context::{OTHER_SITE, PageContext};
use crate::style_runs::{StyleRun, StyleRuns};

/// Maximum number of style sheets of a page; if it has more, none is changed.
const MAX_SHEETS: usize = 300;
/// Changes of a page by the filters for style sheets.
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
    let mut found = StyleRuns::of(context, changes.style_search.is_some());
    found.join(context, |run| changes.inlines(context, run));
    for (subject, reason) in &found.separate {
        changes.combined.skip(subject, reason);
    }
    let mut unchanged = HashSet::new();
    for sheet in &found.refused {
        unchanged.extend(&sheet.url);
        changes.combined.skip(&sheet.subject, &sheet.reason);
        if sheet.reason != OTHER_SITE {
            changes.rewritten.skip(&sheet.subject, &sheet.reason);
        }
    }
    for run in &found.runs {
        changes.replace(context, run, &unchanged);
    }
    changes.edits.sort_by_key(|(range, _)| range.start);
    changes
}

impl StyleChanges {
    /// Replaces the style sheets of a run by one element if they can be combined or moved into the page. Otherwise, and
    /// if `rewrite_css` is on, replaces each file by a smaller one if that is worthwhile. Does not replace the files in
    /// `unchanged` one by one.
    fn replace(&mut self, context: &PageContext<'_>, run: &StyleRun, unchanged: &HashSet<&PageUrl>) {
        let Some(first) = run.sheets.first() else { return };
        if run.is_one_file() {
            if self.may_inline(context, run, first.sheet.text()) {
                return self.replace_by(context, run, first.sheet.text().to_owned());
            }
        } else {
            let sheets: Vec<_> = run.sheets.iter().map(|sheet| &sheet.sheet).collect();
            match combine(&sheets, &context.options.limits) {
                Ok(text) => {
                    self.combined.changed += 1;
                    return self.replace_by(context, run, text);
                }
                Err(refusal) => self.combined.skip(run.subject(), &refusal),
            }
        }
        let files = run.sheets.iter().filter_map(|sheet| Some((sheet, sheet.url.as_ref()?)));
        for (sheet, url) in files.filter(|(_, url)| !unchanged.contains(url)) {
            let text = sheet.sheet.text();
            if context.is_on(FilterName::RewriteCss) && is_worthwhile(sheet.original_bytes, text.len()) {
                self.rewritten.change(sheet.original_bytes - text.len());
                let path = self.bundle(text.to_owned(), vec![url.clone()]);
                self.edits.extend(context.attribute_edit(sheet.tokens.start, "href", &path));
            }
        }
    }

    /// Replaces the elements of a run by one element.
    fn replace_by(&mut self, context: &PageContext<'_>, run: &StyleRun, text: String) {
        let before: usize = run.sheets.iter().map(|sheet| sheet.original_bytes).sum();
        if context.is_on(FilterName::RewriteCss) && text.len() < before {
            self.rewritten.change(before - text.len());
        }
        let media = match run.sheets[0].media.as_deref().unwrap_or_default() {
            "" => String::new(),
            media => format!(" media=\"{media}\""),
        };
        let element = if self.may_inline(context, run, &text) {
            self.inlined.change(0);
            format!("<style{media}>{text}</style>")
        } else {
            let path = self.bundle(text, run.sheets.iter().filter_map(|sheet| sheet.url.clone()).collect());
            format!("<link rel=\"stylesheet\" href=\"{path}\"{media}>")
        };
        for (index, sheet) in run.sheets.iter().enumerate() {
            let (first, last) = (&context.tokens[sheet.tokens.start], &context.tokens[sheet.tokens.end - 1]);
            let range = first.range.start..last.range.end;
            self.edits.push((range, if index == 0 { element.clone() } else { String::new() }));
        }
    }

    /// Adds a style sheet to the bundles, unless an equal one exists. `parts` are the URLs that it replaces. Returns
    /// the path of the bundle.
    fn bundle(&mut self, text: String, parts: Vec<PageUrl>) -> String {
        let bundle = PageBundle::new(BundleKind::Css, text, parts);
        let path = bundle.path.clone();
        if self.bundles.iter().all(|known| known.path != path) {
            self.bundles.push(bundle);
        }
        path
    }

    /// Returns whether a text becomes a `style` element in place of a run.
    fn may_inline(&mut self, context: &PageContext<'_>, run: &StyleRun, text: &str) -> bool {
        if !context.is_on(FilterName::InlineCss) || !run.is_short_enough(text.len()) {
            return false;
        }
        let refusal = self.inline_refusal(context, text);
        if let Some(reason) = &refusal {
            self.inlined.skip(run.subject(), reason);
        }
        refusal.is_none()
    }

    /// Returns whether a run may become a `style` element if its text is short enough.
    fn inlines(&self, context: &PageContext<'_>, run: &StyleRun) -> bool {
        context.is_on(FilterName::InlineCss)
            && run.sheets.iter().all(|sheet| {
                sheet.media.is_some() && self.inline_refusal(context, sheet.sheet.text()).is_none()
            })
    }

    /// Returns the reason why a text cannot become a `style` element.
    fn inline_refusal(&self, context: &PageContext<'_>, text: &str) -> Option<String> {
        let lower = text.to_ascii_lowercase();
        if let Some(search) = &self.style_search {
            Some(format!("a script searches for style elements ({search})"))
        } else if lower.contains("</style") || lower.contains("<!--") {
            Some("contains markup".to_owned())
        } else if lower.contains("@import") {
            Some("has an @import rule".to_owned())
        } else if !context.decodes(text) {
            Some("the encoding of the page is not declared".to_owned())
        } else {
            None
        }
    }
}
