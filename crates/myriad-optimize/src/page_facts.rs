//! Facts of all style sheets of a page.

use std::collections::{BTreeSet, HashMap, HashSet};

use crate::PageUrl;
use crate::css::{ElementPattern, FontFamily, SheetFacts};
use crate::filter::FilterName;
use crate::html::{HtmlKind, HtmlTag, ResourceKind};
use crate::page_context::PageContext;

/// Filters that depend on [`PageFacts`].
pub(crate) const READ_FACTS: [FilterName; 3] =
    [FilterName::CollapseWhitespace, FilterName::InsertImageDimensions, FilterName::HintPreloadSubresources];
/// Hosts that serve style sheets with font declarations only.
const FONT_HOSTS: [&str; 4] =
    ["fonts.googleapis.com", "fonts.bunny.net", "use.typekit.net", "fonts.gstatic.com"];
/// Maximum number of different patterns of elements with retained white space; each tag is compared with all of them.
const MAX_PATTERNS: usize = 1000;
/// Maximum number of custom properties between a rule and the name of its font.
const MAX_VARIABLES: usize = 4;

/// Facts of all style sheets of a page, also imported ones.
pub(crate) struct PageFacts {
    sheets: Vec<SourceFacts>,
}

/// Facts of one style sheet of a page, which may be a file, a `style` element or imported.
struct SourceFacts {
    facts: SheetFacts,
    base: PageUrl,
    /// True if the sheet applies to all media, and browsers wait for it before they show the page.
    is_critical: bool,
}

impl PageFacts {
    /// Reads all style sheets of a page, also imported ones, except style sheets of font hosts. Returns an error text
    /// if a style sheet cannot be read.
    pub(crate) fn read(context: &PageContext<'_>) -> Result<Self, String> {
        let mut facts = Self { sheets: Vec::new() };
        let mut waiting: Vec<(PageUrl, bool)> = Vec::new();
        let mut seen = HashSet::new();
        let sheets: HashMap<usize, _> = context
            .scan
            .of_kind(ResourceKind::StyleSheet)
            .map(|resource| (resource.token, resource))
            .collect();
        // The sheets that the page names, in their order, then those that they import.
        for (index, token) in context.tokens.iter().enumerate() {
            if let Some(resource) = sheets.get(&index) {
                let url = resource.url.as_ref().ok_or("the URL of a style sheet is not understood")?;
                let is_critical = resource.is_blocking
                    && matches!(&token.kind, HtmlKind::Start(tag) if applies_always(tag));
                facts.sheet(context, url, is_critical, &mut seen, &mut waiting)?;
            }
            if token.kind == HtmlKind::RawText
                && let Some(HtmlKind::Start(tag)) =
                    index.checked_sub(1).map(|before| &context.tokens[before].kind)
                && tag.name == "style"
            {
                let base =
                    context.scan.base.as_ref().ok_or("the URL of the base element is not understood")?;
                let text = &context.page[token.range.clone()];
                facts.text(context, text, base, applies_always(tag), &mut waiting)?;
            }
        }
        while let Some((url, is_critical)) = waiting.pop() {
            facts.sheet(context, &url, is_critical, &mut seen, &mut waiting)?;
        }
        Ok(facts)
    }

    fn sheet(
        &mut self,
        context: &PageContext<'_>,
        url: &PageUrl,
        is_critical: bool,
        seen: &mut HashSet<PageUrl>,
        waiting: &mut Vec<(PageUrl, bool)>,
    ) -> Result<(), String> {
        if FONT_HOSTS.contains(&url.authority()) || !seen.insert(url.clone()) {
            return Ok(());
        }
        let (text, base) =
            context.sheet_text(url).map_err(|reason| format!("the style sheet {url}: {reason}"))?;
        self.text(context, text, base, is_critical, waiting)
    }

    fn text(
        &mut self,
        context: &PageContext<'_>,
        text: &str,
        base: &PageUrl,
        is_critical: bool,
        waiting: &mut Vec<(PageUrl, bool)>,
    ) -> Result<(), String> {
        let facts = SheetFacts::read(text, &context.options.limits)
            .map_err(|refusal| format!("a style sheet is {refusal}"))?;
        for import in &facts.imports {
            let url = import.as_ref().and_then(|import| base.join(import));
            // It may apply only to some media.
            waiting.push((url.ok_or("an @import rule is not understood")?, false));
        }
        self.sheets.push(SourceFacts { facts, base: base.clone(), is_critical });
        Ok(())
    }

    /// Returns patterns of the elements in which white space may be shown as written; an error text if a pattern
    /// matches every element, if there are too many patterns, or if a script names one of their classes.
    pub(crate) fn preserving_elements(
        &self,
        context: &PageContext<'_>,
    ) -> Result<Vec<ElementPattern>, String> {
        let found: BTreeSet<&ElementPattern> =
            self.sheets.iter().flat_map(|sheet| &sheet.facts.preserving).collect();
        if found.iter().any(|pattern| pattern.is_any()) {
            return Err("a style sheet may show white space of any element".to_owned());
        }
        if found.len() > MAX_PATTERNS {
            return Err("style sheets may show white space of too many elements".to_owned());
        }
        match found.iter().flat_map(|pattern| &pattern.classes).find(|class| context.scripts_name(class)) {
            Some(class) => Err(format!("a script names the class {class}, which shows white space")),
            None => Ok(found.into_iter().cloned().collect()),
        }
    }

    /// Returns whether a rule for all images, which always applies, sets `height: auto`.
    pub(crate) fn has_auto_height(&self) -> bool {
        self.sheets.iter().any(|sheet| sheet.is_critical && sheet.facts.has_auto_height)
    }

    /// Returns patterns of elements: if such an element is an image, its height may not follow from its width.
    pub(crate) fn sized_elements(&self) -> PatternIndex<'_> {
        PatternIndex::new(self.sheets.iter().flat_map(|sheet| &sheet.facts.sized))
    }

    /// Returns patterns of the elements that may stretch an image within them.
    pub(crate) fn stretching_elements(&self) -> PatternIndex<'_> {
        PatternIndex::new(self.sheets.iter().flat_map(|sheet| &sheet.facts.stretching))
    }

    /// Returns the files of the font that the page sets for its text; empty if the font is not known or has no
    /// suitable file. Rules for parts of the page may set other fonts.
    pub(crate) fn page_fonts(&self) -> Vec<PageUrl> {
        let critical = || self.sheets.iter().filter(|sheet| sheet.is_critical);
        let families = || critical().flat_map(|sheet| &sheet.facts.fonts.families);
        let of_body = families().rfind(|(is_body, _)| *is_body);
        let Some((_, first)) = of_body.or_else(|| families().next_back()) else { return Vec::new() };
        let mut family = first;
        let variables: HashMap<&str, &FontFamily> = critical()
            .flat_map(|sheet| &sheet.facts.fonts.variables)
            .map(|(name, family)| (name.as_str(), family))
            .collect();
        for _ in 0..MAX_VARIABLES {
            let FontFamily::Variable(name) = family else { break };
            let Some(value) = variables.get(name.as_str()) else { break };
            family = value;
        }
        let FontFamily::Name(family) = family else { return Vec::new() };
        let faces =
            critical().flat_map(|sheet| sheet.facts.fonts.faces.iter().map(|face| (face, &sheet.base)));
        let mut fonts: Vec<PageUrl> = faces
            .filter(|(face, _)| face.family == *family)
            .filter_map(|(face, base)| base.join(&face.reference))
            .collect();
        fonts.dedup();
        fonts
    }
}

/// Returns whether a style sheet applies to all media, whatever style set a visitor chooses. Returns false for an
/// element with `onload`, which may change the media.
fn applies_always(tag: &HtmlTag<'_>) -> bool {
    let media = tag.raw("media").unwrap_or_default().trim();
    let kind = tag.raw("type").unwrap_or_default().trim();
    (media.is_empty() || media.eq_ignore_ascii_case("all"))
        && (kind.is_empty() || kind.eq_ignore_ascii_case("text/css"))
        && !tag.has("title")
        && !tag.has("onload")
}

/// Index of element patterns by their first ID or class, for a search by start tags.
pub(crate) struct PatternIndex<'f> {
    /// Patterns by their first ID, otherwise by their first class, in lower case; patterns with neither are under the
    /// empty text.
    patterns: HashMap<String, BTreeSet<&'f ElementPattern>>,
}

impl<'f> PatternIndex<'f> {
    fn new(all: impl Iterator<Item = &'f ElementPattern>) -> Self {
        let mut patterns: HashMap<String, BTreeSet<&ElementPattern>> = HashMap::new();
        for pattern in all {
            let name = pattern.ids.first().or(pattern.classes.first()).map(|name| name.to_ascii_lowercase());
            patterns.entry(name.unwrap_or_default()).or_default().insert(pattern);
        }
        Self { patterns }
    }

    /// Returns a pattern that an element may match; `None` if it matches none.
    pub(crate) fn find(&self, tag: &HtmlTag<'_>) -> Option<&'f ElementPattern> {
        let value = |name: &str| if tag.has(name) { tag.value(name) } else { Some(String::new()) };
        let (Some(class), Some(id)) = (value("class"), value("id")) else {
            // A value that is not understood may match any pattern.
            return self.patterns.values().flatten().next().copied();
        };
        let names = class.split_ascii_whitespace().chain([id.as_str(), ""]);
        let mut found = names.filter_map(|name| self.patterns.get(&name.to_ascii_lowercase())).flatten();
        found.find(|pattern| pattern.matches(&tag.name, &class, id.trim())).copied()
    }

    /// Returns a class in a pattern for `img` elements for which `is_named` is true; `None` if there is none.
    pub(crate) fn image_class(&self, is_named: impl Fn(&str) -> bool) -> Option<&'f str> {
        let images = self.patterns.values().flatten().filter(|pattern| pattern.tag.as_deref() == Some("img"));
        images.flat_map(|pattern| &pattern.classes).map(String::as_str).find(|class| is_named(class))
    }
}
