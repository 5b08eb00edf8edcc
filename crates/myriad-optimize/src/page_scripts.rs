//! Scripts of a page, which become smaller (`rewrite_javascript`).

use std::collections::HashSet;
use std::ops::Range;

use crate::PageUrl;
use crate::bundle::{BundleKind, PageBundle};
use crate::exclude::EXCLUDED;
use crate::filter::{FilterName, FilterReport, is_worthwhile};
use crate::html::{HtmlKind, HtmlTag, ResourceKind, is_module};
use crate::js::{reads_own_url, rewrite_javascript};
use crate::page_context::{OTHER_SITE, PageContext};

/// Attributes that prevent a change of a script's URL: attributes that bind its content, and attributes by which authors
/// exclude the script from optimizers.
const FIXING_ATTRIBUTES: [&str; 10] = [
    "integrity",
    "crossorigin",
    "nonce",
    "charset",
    "event",
    "for",
    "data-no-optimize",
    "data-no-minify",
    "data-pagespeed-no-transform",
    "data-pagespeed-no-defer",
];
/// Maximum number of scripts of a page; if it has more, none is changed. Each is compared with the texts of all.
const MAX_SCRIPTS: usize = 300;

/// Changes of a page by the filter `rewrite_javascript`.
pub(crate) struct ScriptChanges {
    /// New texts for ranges of the page, in their order.
    pub(crate) edits: Vec<(Range<usize>, String)>,
    pub(crate) bundles: Vec<PageBundle>,
    pub(crate) report: FilterReport,
}

/// Replaces scripts by smaller ones. Each element remains at its position, with all attributes other than `src`
/// unchanged.
pub(crate) fn change_scripts(context: &PageContext<'_>) -> ScriptChanges {
    let mut changes = ScriptChanges {
        edits: Vec::new(),
        bundles: Vec::new(),
        report: FilterReport::new(FilterName::RewriteJavascript),
    };
    let reason =
        context.unchangeable(ResourceKind::Script, ("script", "document.scripts"), (MAX_SCRIPTS, "scripts"));
    if let Some(reason) = reason {
        changes.report.skip("page", &reason);
        return changes;
    }
    let mut seen = HashSet::new();
    for url in context.scan.of_kind(ResourceKind::Script).filter_map(|resource| resource.url.as_ref()) {
        if !seen.insert(url) {
            continue;
        }
        match shorter_script(context, url) {
            Ok(Some((before, text))) => {
                changes.report.change(before - text.len());
                let bundle = PageBundle::new(BundleKind::Js, text, vec![url.clone()]);
                for (token, _) in elements_of(context, url) {
                    changes.edits.extend(context.attribute_edit(token, "src", &bundle.path));
                }
                if changes.bundles.iter().all(|known| known.path != bundle.path) {
                    changes.bundles.push(bundle);
                }
            }
            Ok(None) => {}
            Err(reason) if reason == OTHER_SITE => {}
            Err(reason) => changes.report.skip(url.to_string(), &reason),
        }
    }
    changes.edits.sort_by_key(|(range, _)| range.start);
    changes
}

/// Returns the script elements that load a URL, with their tokens.
fn elements_of<'c>(
    context: &'c PageContext<'_>,
    url: &'c PageUrl,
) -> impl Iterator<Item = (usize, &'c HtmlTag<'c>)> {
    let named =
        context.scan.of_kind(ResourceKind::Script).filter(|resource| resource.url.as_ref() == Some(url));
    named.filter_map(|resource| match &context.tokens[resource.token].kind {
        HtmlKind::Start(tag) => Some((resource.token, tag)),
        _ => None,
    })
}

/// Returns the length of a script and its shorter text; `None` if that is not worth another URL, an error text if the
/// script must stay as it is.
fn shorter_script(context: &PageContext<'_>, url: &PageUrl) -> Result<Option<(usize, String)>, String> {
    let (text, _) = context.script_text(url)?;
    if context.options.exclude.covers_url(url) {
        return Err(EXCLUDED.to_owned());
    }
    for (token, tag) in elements_of(context, url) {
        if context.is_excluded[token] {
            return Err(EXCLUDED.to_owned());
        }
        if let Some(name) = FIXING_ATTRIBUTES.iter().find(|name| tag.has(name)) {
            return Err(format!("has the attribute {name}"));
        }
        if is_module(tag) {
            return Err("is a module".to_owned());
        }
        if let Some(id) = tag.raw("id")
            && context.scripts_name(id)
        {
            return Err(format!("a script names its id {id}"));
        }
    }
    if context.is_preloaded(url) {
        return Err("the page preloads it".to_owned());
    }
    let shorter = rewrite_javascript(text, &context.options.limits).map_err(|refusal| refusal.to_string())?;
    if !is_worthwhile(text.len(), shorter.len()) {
        return Ok(None);
    }
    if let Some(word) = reads_own_url(text) {
        return Err(format!("may depend on its URL ({word})"));
    }
    let name = url.path().rsplit('/').next().unwrap_or_default();
    if name.is_empty() || is_file_named(context, name, text, &shorter) {
        return Err("a script names its URL".to_owned());
    }
    Ok(Some((text.len(), shorter)))
}

/// Returns whether a script contains the name of a file with the text `own`; in this file, comments do not count.
fn is_file_named(context: &PageContext<'_>, name: &str, own: &str, own_without_comments: &str) -> bool {
    let mut words = name.split(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '-' | '_'));
    let others = || context.scripts.iter().filter(|script| !std::ptr::eq(**script, own));
    words.all(|word| word.is_empty() || context.scripts_name(word))
        && (own_without_comments.contains(name) || others().any(|script| script.contains(name)))
}
