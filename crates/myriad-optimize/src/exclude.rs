//! URLs and elements that the optimizer leaves unchanged.

use myriad_policy::{PurgeSubject, Wildcard};

use crate::PageUrl;
use crate::html::{ElementRegions, HtmlTag, HtmlToken};

/// Reason that reports state for a URL or element that the configuration excludes.
pub(crate) const EXCLUDED: &str = "excluded by the configuration";

/// URLs and elements that are left unchanged: neither rewritten nor combined.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exclusions {
    urls: Vec<Wildcard>,
    selectors: Vec<ElementSelector>,
}

impl Exclusions {
    /// Adds a URL pattern or a selector.
    ///
    /// | word | excludes |
    /// |---|---|
    /// | `/shop/*` | URLs with this path; `*` matches any characters, and a pattern without `?` matches all queries |
    /// | `*.min.js` | URLs whose path ends with it |
    /// | `https://cdn.example.org/*`, `cdn.example.org/*` | URLs of another host |
    /// | `.slider`, `#top`, `video`, `a.button`, `[data-id]`, `[role=main]` | elements with all that they contain |
    ///
    /// Selectors consist of one element name, classes, IDs and attributes; others are an error.
    ///
    /// ```
    /// let mut exclude = myriad_optimize::Exclusions::default();
    /// assert!(exclude.add("/wp-content/plugins/slider/*").is_ok() && exclude.add("div.slider[data-speed=\"2\"]").is_ok());
    /// assert!(exclude.add("div .slider").expect_err("combinator").contains("combinators"));
    /// ```
    pub fn add(&mut self, word: &str) -> Result<(), String> {
        let before_attributes = word.split('[').next().unwrap_or_default();
        if before_attributes.contains(['/', '*']) {
            // A pattern without a host applies to all hosts.
            let has_host = word.contains('/') && !word.starts_with(['/', '*']);
            let pattern = if has_host || word.starts_with('/') || word.contains("://") {
                word.to_owned()
            } else {
                format!("/{word}")
            };
            self.urls.push(Wildcard::parse(pattern.as_bytes(), b"*"));
        } else {
            self.selectors.push(ElementSelector::parse(word)?);
        }
        Ok(())
    }

    /// Returns whether any URL patterns were added.
    pub fn has_urls(&self) -> bool {
        !self.urls.is_empty()
    }

    /// Returns whether a URL is excluded.
    pub fn covers_url(&self, url: &PageUrl) -> bool {
        if self.urls.is_empty() {
            return false;
        }
        let target = url.path_and_query();
        let subject =
            PurgeSubject::new(url.scheme().as_bytes(), url.authority().as_bytes(), target.as_bytes());
        self.urls.iter().any(|pattern| pattern.covers(&subject))
    }

    /// Returns whether an element is excluded, by its start tag.
    pub(crate) fn covers_tag(&self, tag: &HtmlTag<'_>) -> bool {
        self.selectors.iter().any(|selector| selector.matches(tag))
    }

    /// Returns for each token of a page if it is part of an excluded element.
    pub(crate) fn tokens(&self, tokens: &[HtmlToken<'_>]) -> Vec<bool> {
        if self.selectors.is_empty() {
            return vec![false; tokens.len()];
        }
        let mut regions = ElementRegions::default();
        tokens.iter().map(|token| regions.next(&token.kind, |tag| self.covers_tag(tag))).collect()
    }
}

/// Selector of one compound: element name, classes, IDs and attributes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct ElementSelector {
    /// Name that the element must have, in lower case; `None` for any name.
    tag: Option<String>,
    /// Names and values of attributes; `None` for any value. Classes and IDs are not included.
    attributes: Vec<(String, Option<String>)>,
    classes: Vec<String>,
    id: Option<String>,
}

impl ElementSelector {
    fn parse(text: &str) -> Result<Self, String> {
        let is_name = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_') || !c.is_ascii();
        let error = |reason: &str| format!("selector \"{text}\": {reason}");
        let mut selector = Self::default();
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            if first == '[' {
                let (attribute, after) = attribute(&rest[1..])
                    .ok_or_else(|| error("use [name], [name=value] or [name=\"value\"]"))?;
                selector.attributes.push(attribute);
                rest = after;
                continue;
            }
            let mark = usize::from(matches!(first, '.' | '#'));
            let length = rest[mark..].find(|c| !is_name(c)).unwrap_or(rest.len() - mark);
            let (name, after) = rest[mark..].split_at(length);
            match first {
                ' ' | '>' | '+' | '~' => {
                    return Err(error("combinators are not supported; use the last part alone"));
                }
                ',' => return Err(error("lists are not supported; add each selector separately")),
                ':' => return Err(error("pseudo-classes are not supported")),
                _ if name.is_empty() => return Err(error("use a name, .class, #id or [attribute]")),
                '.' => selector.classes.push(name.to_owned()),
                '#' if selector.id.replace(name.to_owned()).is_some() => {
                    return Err(error("an element has only one ID"));
                }
                '#' => {}
                _ if rest.len() < text.len() => return Err(error("the element name must be the first part")),
                _ => selector.tag = Some(name.to_ascii_lowercase()),
            }
            rest = after;
        }
        if selector == Self::default() { Err(error("it is empty")) } else { Ok(selector) }
    }

    /// Returns whether an element matches. Case is ignored, as in quirks mode; a value that cannot be decoded matches.
    fn matches(&self, tag: &HtmlTag<'_>) -> bool {
        let has_value = |name: &str, expected: &dyn Fn(&str) -> bool| {
            tag.has(name) && tag.value(name).is_none_or(|value| expected(&value))
        };
        let has_class = |class: &String| {
            has_value("class", &|value| {
                value.split_ascii_whitespace().any(|word| word.eq_ignore_ascii_case(class))
            })
        };
        self.tag.as_deref().is_none_or(|name| name == tag.name)
            && self.classes.iter().all(has_class)
            && self
                .id
                .as_ref()
                .is_none_or(|id| has_value("id", &|value| value.trim().eq_ignore_ascii_case(id)))
            && self.attributes.iter().all(|(name, value)| match value {
                None => tag.has(name),
                Some(expected) => has_value(name, &|value| value.eq_ignore_ascii_case(expected)),
            })
    }
}

/// Reads an attribute condition after its `[`. Returns the condition with the text after its `]`; `None` if it has
/// another form than `name]`, `name=value]` or `name="value"]`.
fn attribute(text: &str) -> Option<((String, Option<String>), &str)> {
    let length = text.find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '-' | '_' | ':'))?;
    let (name, rest) = text.split_at(length);
    if name.is_empty() {
        return None;
    }
    if let Some(rest) = rest.strip_prefix(']') {
        return Some(((name.to_owned(), None), rest));
    }
    let rest = rest.strip_prefix('=')?;
    let (value, rest) = match rest.chars().next()? {
        quote @ ('"' | '\'') => {
            let (value, rest) = rest[1..].split_once(quote)?;
            (value, rest.strip_prefix(']')?)
        }
        _ => rest.split_once(']').filter(|(value, _)| !value.is_empty())?,
    };
    Some(((name.to_owned(), Some(value.to_owned())), rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OptimizeLimits;
    use crate::html::tokenize;

    fn exclusions(word: &str) -> Exclusions {
        let mut exclude = Exclusions::default();
        exclude.add(word).expect(word);
        exclude
    }

    #[test]
    fn patterns_exclude_urls() {
        for (pattern, url, expected) in [
            ("/a/*", "http://a.test/a/b/c.js?x", true),
            ("/a/*", "http://cdn.test/a/b", true),
            ("/a/*", "http://a.test/b/a/", false),
            ("*.js", "http://a.test/b/c.js?ver=1", true),
            ("*/c.js", "http://a.test/b/c.js", true),
            ("*.js", "http://a.test/b/c.json", false),
            ("/c.js?ver=*", "http://a.test/c.js?ver=2", true),
            ("/c.js?ver=*", "http://a.test/c.js", false),
            ("https://cdn.test/*", "https://cdn.test/a", true),
            ("https://cdn.test/*", "http://cdn.test/a", false),
            ("cdn.test/*", "http://cdn.test/a", true),
            ("cdn.test/*", "http://a.test/cdn.test/a", false),
            ("*://cdn.test/*", "http://cdn.test/a", true),
            ("*", "http://a.test/", true),
        ] {
            let url = PageUrl::parse(url).expect(url);
            assert_eq!(exclusions(pattern).covers_url(&url), expected, "{pattern} {url}");
        }
    }

    #[test]
    fn selectors_exclude_elements_with_their_content() {
        let page = "<p class='A b' id=c data-x='1 2'><img></p><p><img class=&eacute;></p>";
        let tokens = tokenize(page, &OptimizeLimits::default()).expect("unambiguous");
        for (selector, expected) in [
            (".a", "111010"),
            ("p.b.a#c", "111000"),
            ("P", "111111"),
            ("#c", "111000"),
            ("img", "010010"),
            ("[data-x]", "111000"),
            ("[data-x='1 2']", "111000"),
            ("[data-x=\"1\"]", "000000"),
            ("p[id=c]", "111000"),
            (".b.c", "000010"),
            ("div", "000000"),
        ] {
            let found: String = exclusions(selector)
                .tokens(&tokens)
                .iter()
                .map(|is_excluded| if *is_excluded { '1' } else { '0' })
                .collect();
            assert_eq!(found, expected, "{selector}");
        }
    }

    #[test]
    fn other_selectors_are_errors() {
        for (word, part) in [
            ("a b", "combinators"),
            ("a>b", "combinators"),
            ("a+b", "combinators"),
            ("a,b", "lists"),
            ("a:hover", "pseudo-classes"),
            ("#a#b", "one ID"),
            ("[a]b", "first part"),
            ("[a^=b]", "[name=value]"),
            ("[a='b]", "[name=value]"),
            ("[a=]", "[name=value]"),
            (".", ".class"),
            ("a\\:b", ".class"),
            ("", "empty"),
        ] {
            let error = Exclusions::default().add(word).expect_err(word);
            assert!(error.contains(part), "{word}: {error}");
        }
    }
}
