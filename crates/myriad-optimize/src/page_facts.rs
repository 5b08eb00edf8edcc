//! Facts of all style sheets of a page.

use std::collections::{BTreeSet, HashSet};

use crate::css::{ElementPattern, SheetFacts};
use crate::html::ResourceKind;
use crate::page_context::PageContext;
use crate::{OptimizeLimits, PageUrl};

/// Hosts whose style sheets only declare fonts.
const FONT_HOSTS: [&str; 4] =
    ["fonts.googleapis.com", "fonts.bunny.net", "use.typekit.net", "fonts.gstatic.com"];
/// Maximum number of different elements whose white space is retained; each tag is compared with all of them.
const MAX_PATTERNS: usize = 1000;

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
            context.sheet_text(&url).map_err(|reason| format!("the style sheet {url}: {reason}"))?;
        sheets.read(text, base, &context.options.limits)?;
    }
    let found = sheets.preserving;
    if found.iter().any(ElementPattern::is_any) {
        return Err("a style sheet may show white space of any element".to_owned());
    }
    if found.len() > MAX_PATTERNS {
        return Err("style sheets may show white space of too many elements".to_owned());
    }
    match found.iter().flat_map(|pattern| &pattern.classes).find(|class| context.scripts_name(class)) {
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
