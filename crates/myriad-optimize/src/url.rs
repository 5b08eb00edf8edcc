//! Absolute `http` and `https` URLs, and the resolution of references in pages and style sheets (RFC 3986, section 5).

use std::fmt;

use myriad_http::uri::escape_target;

/// Maximum length of a URL or reference in bytes; longer ones are rejected.
const LONGEST: usize = 4096;

/// Absolute URL with the scheme `http` or `https`, without a fragment.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PageUrl {
    is_https: bool,
    /// Host in lower case, with the port unless it is the default of the scheme.
    authority: String,
    /// Path of the URL without dot segments; starts with `/`.
    path: String,
    /// Query of the URL with its `?`; empty if there is none.
    query: String,
}

impl PageUrl {
    /// Parses an absolute URL. Returns `None` for other schemes, user names, hosts that are empty or contain characters
    /// other than ASCII letters, digits, hyphens, underscores, dots, colons and square brackets, backslashes, paths
    /// that start with two slashes, and URLs of more than 4096 bytes.
    pub fn parse(text: &str) -> Option<Self> {
        let text = cleaned(text)?;
        let (scheme, rest) = text.split_once("://")?;
        let is_https = match scheme.to_ascii_lowercase().as_str() {
            "http" => false,
            "https" => true,
            _ => return None,
        };
        Self::with_authority(is_https, rest)
    }

    /// Resolves a reference against this URL. Returns `None` if the result is no `http` or `https` URL (such as
    /// `data:`) or is one that [`PageUrl::parse`] rejects, and if browsers and RFC 3986 may disagree about it.
    pub fn join(&self, reference: &str) -> Option<Self> {
        let reference = cleaned(reference)?;
        if let Some(rest) = reference.strip_prefix("//") {
            return Self::with_authority(self.is_https, rest);
        }
        let before_path = reference.split(['/', '?', '#']).next().unwrap_or_default();
        if before_path.contains(':') {
            return Self::parse(&reference);
        }
        let reference = reference.split('#').next().unwrap_or_default();
        let (path, query) = split_query(reference);
        let path = match path {
            "" if query.is_empty() => return Some(self.clone()),
            "" => self.path.clone(),
            _ if path.starts_with('/') => without_dots(path),
            _ => {
                let folder = &self.path[..=self.path.rfind('/')?];
                without_dots(&format!("{folder}{path}"))
            }
        };
        is_unambiguous(&path).then_some(())?;
        Some(Self { path: escape_target(&path), query: escape_target(query), ..self.clone() })
    }

    fn with_authority(is_https: bool, rest: &str) -> Option<Self> {
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, rest) = rest.split_at(end);
        let is_valid = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:[]".contains(&byte);
        if authority.is_empty() || !authority.bytes().all(is_valid) {
            return None;
        }
        let usual = if is_https { ":443" } else { ":80" };
        let authority = authority.strip_suffix(usual).unwrap_or(authority).to_ascii_lowercase();
        let rest = rest.split('#').next().unwrap_or_default();
        let (path, query) = split_query(rest);
        let path = if path.is_empty() { "/".to_owned() } else { without_dots(path) };
        is_unambiguous(&path).then_some(())?;
        Some(Self { is_https, authority, path: escape_target(&path), query: escape_target(query) })
    }

    /// Returns whether both URLs have the same scheme, host and port.
    pub fn is_same_origin(&self, other: &Self) -> bool {
        self.is_https == other.is_https && self.authority == other.authority
    }

    /// Returns the scheme: `http` or `https`.
    pub fn scheme(&self) -> &'static str {
        if self.is_https { "https" } else { "http" }
    }

    /// Returns the host, with the port unless it is the default of the scheme.
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// Returns the path without the query.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns the path with the query.
    pub fn path_and_query(&self) -> String {
        format!("{}{}", self.path, self.query)
    }
}

impl fmt::Display for PageUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}{}{}", self.scheme(), self.authority, self.path, self.query)
    }
}

/// Removes what browsers ignore in a reference: surrounding blanks and control characters, and all tabs and line
/// breaks. Returns `None` if the reference is too long or contains a backslash, which browsers treat as a slash.
fn cleaned(text: &str) -> Option<String> {
    let text: String =
        text.trim_matches(|c: char| c <= ' ').chars().filter(|c| !matches!(c, '\t' | '\n' | '\r')).collect();
    (text.len() <= LONGEST && !text.contains('\\')).then_some(text)
}

/// Returns whether a path has the same meaning within a URL and as a reference: it does not start with `//`, after
/// which a browser would read a host.
fn is_unambiguous(path: &str) -> bool {
    !path.starts_with("//")
}

fn split_query(text: &str) -> (&str, &str) {
    text.split_at(text.find('?').unwrap_or(text.len()))
}

/// Removes dot segments (RFC 3986, section 5.2.4), also with percent-encoded dots, as browsers do.
fn without_dots(path: &str) -> String {
    let is_dot = |segment: &str| segment == "." || segment.eq_ignore_ascii_case("%2e");
    let is_parent =
        |segment: &str| matches!(segment.to_ascii_lowercase().as_str(), ".." | ".%2e" | "%2e." | "%2e%2e");
    let mut kept: Vec<&str> = Vec::new();
    let segments: Vec<&str> = path.split('/').skip(1).collect();
    for (index, segment) in segments.iter().enumerate() {
        let is_last = index + 1 == segments.len();
        if is_parent(segment) {
            kept.pop();
        } else if !is_dot(segment) {
            kept.push(segment);
            continue;
        }
        if is_last {
            kept.push("");
        }
    }
    format!("/{}", kept.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_resolve_as_in_browsers() {
        let base = PageUrl::parse("https://A.test:443/x/y/page.html?q=1#f").expect("absolute");
        assert_eq!(base.to_string(), "https://a.test/x/y/page.html?q=1");
        for (reference, expected) in [
            ("s.css", "https://a.test/x/y/s.css"),
            ("../s.css?v=2#x", "https://a.test/x/s.css?v=2"),
            ("../../../../s.css", "https://a.test/s.css"),
            ("./", "https://a.test/x/y/"),
            ("..", "https://a.test/x/"),
            ("%2e%2E/s.css", "https://a.test/x/s.css"),
            ("/a/./b/../c", "https://a.test/a/c"),
            ("//b.test/c", "https://b.test/c"),
            ("http://b.test:80/c d\u{e9}", "http://b.test/c%20d%C3%A9"),
            ("?p=2", "https://a.test/x/y/page.html?p=2"),
            ("#top", "https://a.test/x/y/page.html?q=1"),
            ("", "https://a.test/x/y/page.html?q=1"),
            (" /a\n/b ", "https://a.test/a/b"),
            ("a:b/c.css", ""),
            ("data:text/css,a", ""),
            ("javascript:alert(1)", ""),
            ("https:s.css", ""),
            ("/\\evil.test/a", ""),
            ("//user@b.test/", ""),
            ("//\u{e9}.test/", ""),
        ] {
            let found = base.join(reference).map(|url| url.to_string()).unwrap_or_default();
            assert_eq!(found, expected, "{reference}");
        }
        assert!(base.join(&"a".repeat(LONGEST + 1)).is_none());
    }

    #[test]
    fn origins_include_the_scheme_and_port() {
        let url = |text| PageUrl::parse(text).expect(text);
        assert!(url("http://a.test/x").is_same_origin(&url("http://a.test:80/y")));
        assert!(!url("http://a.test/").is_same_origin(&url("https://a.test/")));
        assert!(!url("http://a.test/").is_same_origin(&url("http://a.test:81/")));
    }

    #[test]
    fn path_with_two_slashes_at_its_start_is_refused() {
        for text in [
            "http://a.test//b.test/x.css",
            "http://a.test//b.test/..",
            "http://a.test/..//x",
            "http://a.test/x/..//y",
        ] {
            assert_eq!(PageUrl::parse(text), None, "{text}");
        }
        let base = PageUrl::parse("http://a.test/x//y/").expect("valid");
        assert_eq!(base.join("../../..//b.test/i.png"), None);
        assert_eq!(base.join("/.//b.test/i.png"), None);
        assert_eq!(base.join("i.png").map(|url| url.path_and_query()).as_deref(), Some("/x//y/i.png"));
    }
}
