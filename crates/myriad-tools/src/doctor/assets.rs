//! Assets that a page loads, and detection of minified files.

/// Maximum length of each list of [`LinkedAssets`]; further paths are ignored.
const MOST: usize = 200;

/// Paths (from the root) of the assets that a page loads from its own site.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkedAssets {
    /// Distinct paths of style sheets and scripts, at most 200.
    pub assets: Vec<String>,
    /// Distinct paths of pictures (`img`), at most 200.
    pub pictures: Vec<String>,
}

/// Returns the paths of style sheets, scripts and pictures in the HTML of a page, without duplicates: at most `MOST`
/// style sheets and scripts, and at most `MOST` pictures. Only URLs of the page's own site are included; `authority` is
/// the host of the site, with its port.
pub fn linked_assets(html: &str, authority: &str) -> LinkedAssets {
    let mut linked = LinkedAssets::default();
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        rest = &rest[at + 1..];
        let tag = &rest[..rest.find('>').unwrap_or(rest.len())];
        let name: String =
            tag.chars().take_while(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
        let (list, attribute) = match name.as_str() {
            "link" if is_style_sheet(tag) => (&mut linked.assets, "href"),
            "script" => (&mut linked.assets, "src"),
            "img" => (&mut linked.pictures, "src"),
            _ => continue,
        };
        let Some(path) = value(tag, attribute).and_then(|url| own_path(url, authority)) else { continue };
        if list.len() < MOST && !list.contains(&path) {
            list.push(path);
        }
    }
    linked
}

fn is_style_sheet(tag: &str) -> bool {
    value(tag, "rel").is_some_and(|rel| rel.eq_ignore_ascii_case("stylesheet"))
}

/// Returns the quoted value of the attribute `name` in a tag; `None` if it is missing or not quoted.
fn value<'t>(tag: &'t str, name: &str) -> Option<&'t str> {
    let mut rest = tag;
    loop {
        let at = rest.find(name)?;
        let is_whole = rest[..at].ends_with(|c: char| c.is_whitespace() || c == '"' || c == '\'');
        rest = &rest[at + name.len()..];
        let Some(said) = rest.trim_start().strip_prefix('=').filter(|_| is_whole) else { continue };
        let assigned = said.trim_start();
        let mark = assigned.chars().next().filter(|mark| matches!(mark, '"' | '\''))?;
        return assigned[1..].split(mark).next();
    }
}

/// Returns the path and query string of a URL of the site `authority`, by http or https. Returns `None` for URLs that
/// the doctor does not request: those of other sites, relative paths without a leading slash, and paths with spaces,
/// control characters or bytes that are not ASCII, or with 2048 bytes or more.
fn own_path(url: &str, authority: &str) -> Option<String> {
    let url = url.trim().replace("&amp;", "&").replace("&#038;", "&");
    let without_scheme = url.strip_prefix("https:").or_else(|| url.strip_prefix("http:")).unwrap_or(&url);
    let path = match without_scheme.strip_prefix("//") {
        Some(rest) => rest.strip_prefix(authority).filter(|path| path.starts_with('/'))?,
        None => without_scheme.strip_prefix('/').map(|_| without_scheme)?,
    };
    (path.len() < 2048 && path.bytes().all(|byte| byte.is_ascii_graphic())).then(|| path.to_owned())
}

/// Returns whether a style sheet or script appears to be minified: its lines have more than 120 bytes on average, or
/// less than a fifth of them is indented. A text below 4 KB always counts as minified.
#[must_use]
pub fn is_minified(text: &[u8]) -> bool {
    const SMALL: usize = 4096;
    if text.len() < SMALL {
        return true;
    }
    let lines = text.split(|byte| *byte == b'\n');
    let (mut indented, mut count) = (0, 0);
    for line in lines {
        count += 1;
        indented += usize::from(line.starts_with(b"  ") || line.starts_with(b"\t"));
    }
    // In unminified files, lines have some thirty characters, and half of the lines are indented.
    text.len() / count > 120 || indented * 5 < count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_files_of_a_page_are_found() {
        let html = "<link rel='stylesheet' id='x' href='http://a.test/wp-content/s.css?ver=1&#038;a=2'/><LINK rel=\"icon\" href=\"/i.png\">\
                    <script data-src=\"/no.js\" src=\"/wp-includes/a.js\"></script><script>var x = '<img src=\"/y.png\">';</script>\
                    <script src=\"https://elsewhere.test/b.js\"></script><script src=\"//a.test/c.js\"></script><img alt=\"\" src=\"/p.jpg\">\
                    <script src=\"//a.test.evil/d.js\"></script><link rel=\"stylesheet\" href=\"data:text/css,x\"><script src=";
        let linked = linked_assets(html, "a.test");
        assert_eq!(linked.assets, ["/wp-content/s.css?ver=1&a=2", "/wp-includes/a.js", "/c.js"]);
        assert_eq!(linked.pictures, ["/y.png", "/p.jpg"]);
    }

    #[test]
    fn made_up_pages_are_no_error() {
        let words = [
            "<",
            ">",
            "script",
            "link",
            " src",
            "=",
            "\"",
            "'",
            "/a",
            "rel=\"stylesheet\"",
            "é",
            "href",
            "//a.test",
        ];
        for seed in 0..3000 {
            let mut random = fastrand::Rng::with_seed(seed);
            let html: String = (0..random.usize(..40)).filter_map(|_| random.choice(words)).collect();
            let linked = linked_assets(&html, "a.test");
            assert!(linked.assets.iter().all(|path| path.starts_with('/')), "seed {seed}: {html}");
            let _ = is_minified(html.as_bytes());
        }
    }

    #[test]
    fn handwritten_assets_are_distinguished_from_minified_ones() {
        let written =
            "function name( value ) {\n\tif ( value ) {\n\t\treturn value + 1;\n\t}\n}\n".repeat(100);
        let packed = written.replace(['\n', '\t'], "");
        assert!(
            !is_minified(written.as_bytes())
                && is_minified(packed.as_bytes())
                && is_minified(b"a {\n  b: c;\n}\n")
        );
    }
}
