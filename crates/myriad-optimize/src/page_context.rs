//! Page and the data that its filters share.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

use crate::charset::is_utf8;
use crate::css::declared_charset;
use crate::element_search::element_search;
use crate::filter::FilterName;
use crate::html::{HtmlKind, HtmlToken, PageScan, ResourceKind};
use crate::{OptimizeOptions, PageResource, PageUrl};

/// Reason in reports for resources of other sites.
pub(crate) const OTHER_SITE: &str = "is from another site";

/// Resources of a page by their URL as the page names them.
pub type PageResources = HashMap<PageUrl, PageResource>;

/// Page and the data that its filters share.
pub(crate) struct PageContext<'a> {
    pub(crate) page: &'a str,
    pub(crate) url: &'a PageUrl,
    /// Declared encoding of the page in lower case; `None` if it is not declared.
    pub(crate) charset: Option<&'a str>,
    pub(crate) tokens: &'a [HtmlToken<'a>],
    pub(crate) scan: &'a PageScan,
    pub(crate) resources: &'a PageResources,
    /// Texts of the page's scripts that can be read.
    pub(crate) scripts: &'a [&'a str],
    /// Words of the page's scripts, collected at the first use.
    pub(crate) script_words: OnceCell<HashSet<&'a str>>,
    pub(crate) options: &'a OptimizeOptions,
    /// True if the page has a Content-Security-Policy.
    pub(crate) has_policy: bool,
    /// For each token, true if it is part of an excluded element.
    pub(crate) is_excluded: &'a [bool],
}

impl<'a> PageContext<'a> {
    /// Returns whether a filter is applied.
    pub(crate) fn is_on(&self, filter: FilterName) -> bool {
        self.options.filters.contains(filter)
    }

    /// Returns the reason why no style sheet or script of the page may get another URL; `None` if their URLs may
    /// change.
    pub(crate) fn fixed_urls(&self) -> Option<&'static str> {
        if self.has_policy {
            return Some("it has a Content-Security-Policy");
        }
        let is_own = self.scan.base.as_ref().is_some_and(|base| base.is_same_origin(self.url));
        (!is_own).then_some("its base element names another site")
    }

    /// Returns the reason why no style sheet or no script of the page (as `kind` selects) may change; `None` if they
    /// may. They may not if their URLs are fixed, if a script searches for elements called `element` or contains `list`
    /// (such as `document.scripts`), or if the page has more than `max`. `noun` is the plural that the reason contains.
    pub(crate) fn unchangeable(
        &self,
        kind: ResourceKind,
        (element, list): (&str, &str),
        (max, noun): (usize, &str),
    ) -> Option<String> {
        if let Some(reason) = self.fixed_urls() {
            return Some(reason.to_owned());
        }
        let uses_list = self.scripts.iter().any(|script| script.contains(list));
        if let Some(text) = self.search_for(element).or_else(|| uses_list.then_some(list)) {
            return Some(format!("a script searches for {noun} ({text})"));
        }
        self.scan.of_kind(kind).nth(max).map(|_| format!("it has more than {max} {noun}"))
    }

    /// Returns whether the page preloads a URL, other than as a font.
    pub(crate) fn is_preloaded(&self, url: &PageUrl) -> bool {
        self.scan.of_kind(ResourceKind::Preload).any(|resource| resource.url.as_ref() == Some(url))
    }

    /// Returns the edit that sets an attribute of a tag to a value without special characters; `None` if the tag has
    /// no such attribute.
    pub(crate) fn attribute_edit(
        &self,
        token: usize,
        name: &str,
        value: &str,
    ) -> Option<(Range<usize>, String)> {
        let HtmlKind::Start(tag) = &self.tokens[token].kind else { return None };
        let old = tag.attributes.iter().find(|attribute| attribute.name.eq_ignore_ascii_case(name))?;
        // The attribute is a part of the page.
        let start = old.text.as_ptr().addr() - self.page.as_ptr().addr();
        Some((start..start + old.text.len(), format!("{name}=\"{value}\"")))
    }

    /// Returns whether a script contains a word that is not part of a longer name.
    pub(crate) fn scripts_name(&self, word: &str) -> bool {
        if word.is_empty() || !word.chars().all(is_part_of_name) {
            return self.scripts.iter().any(|script| names_word(script, word));
        }
        let words = self.script_words.get_or_init(|| {
            self.scripts.iter().flat_map(|script| script.split(|c: char| !is_part_of_name(c))).collect()
        });
        words.contains(word)
    }

    /// Returns the part of a script by which it searches for elements with this name; `None` if none does.
    pub(crate) fn search_for(&self, element: &str) -> Option<&'a str> {
        self.scripts.iter().find_map(|script| element_search(script, element))
    }

    /// Returns the text of a style sheet that browsers apply, and the URL it was loaded from, or the reason why the
    /// text cannot be used.
    pub(crate) fn sheet_text(&self, url: &PageUrl) -> Result<(&'a str, &'a PageUrl), String> {
        self.resource_text(url, |media_type| media_type == "text/css", declared_charset)
    }

    /// Returns the text of a script that browsers run, and the URL it was loaded from, or the reason why the text
    /// cannot be used.
    pub(crate) fn script_text(&self, url: &PageUrl) -> Result<(&'a str, &'a PageUrl), String> {
        let is_script = |media_type: &str| {
            media_type.ends_with("/javascript")
                || media_type.ends_with("/x-javascript")
                || media_type.ends_with("/ecmascript")
        };
        self.resource_text(url, is_script, |_| None)
    }

    /// Returns whether browsers decode a text that declares no charset as UTF-8: it is ASCII, or the page declares UTF-8.
    pub(crate) fn decodes(&self, text: &str) -> bool {
        text.is_ascii() || self.charset.is_some_and(is_utf8)
    }

    /// Returns the text of a resource of this site with a type for which `is_valid` is true, and the URL it was loaded
    /// from. The text is ASCII, or its encoding is UTF-8 by a byte order mark, the response, the text (`declared`
    /// returns what it declares), or the page. The error is the reason why the text cannot be used, for example another
    /// site, a failed request or another encoding.
    fn resource_text(
        &self,
        url: &PageUrl,
        is_valid: impl FnOnce(&str) -> bool,
        declared: impl FnOnce(&str) -> Option<&str>,
    ) -> Result<(&'a str, &'a PageUrl), String> {
        if !url.is_same_origin(self.url) {
            return Err(OTHER_SITE.to_owned());
        }
        let resource = self.resources.get(url).ok_or("was not read")?;
        if !resource.is_ok() {
            return Err(format!("has status {}", resource.status));
        }
        if !is_valid(&resource.media_type) {
            return Err(format!("has the type \"{}\"", resource.media_type));
        }
        if !resource.url.is_same_origin(self.url) {
            return Err("redirects to another site".to_owned());
        }
        let text = resource.text().ok_or("not UTF-8")?;
        let is_known = text.starts_with('\u{feff}') || resource.charset.is_some();
        let declared = if is_known { None } else { declared(text) };
        let is_utf8 = declared.is_some_and(is_utf8);
        if let Some(name) = declared.filter(|_| !is_utf8) {
            return Err(format!("its encoding is {name}"));
        }
        let is_clear = is_known || is_utf8 || self.decodes(text);
        if is_clear { Ok((text, &resource.url)) } else { Err("its encoding is not declared".to_owned()) }
    }
}

fn is_part_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_') || !c.is_ascii()
}

/// Returns whether a text contains a word that is not part of a longer name.
fn names_word(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        !text[..at].ends_with(is_part_of_name) && !text[at + word.len()..].starts_with(is_part_of_name)
    })
}
