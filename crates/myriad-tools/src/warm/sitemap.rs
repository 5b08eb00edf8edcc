//! Sitemaps (sitemaps.org): lists of pages, and indexes of such lists.

use myriad_base::digits::{decimal, hexadecimal};

/// Maximum number of URLs that are read from a sitemap file (sitemaps.org: 50,000).
const MOST: usize = 50_000;
const LONGEST: usize = 2048;

/// URLs listed in a sitemap file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sitemap {
    /// URLs of pages, as in the file; empty if the file is an index of sitemaps.
    pub pages: Vec<String>,
    /// URLs of further sitemap files, if the file is an index.
    pub sitemaps: Vec<String>,
}

impl Sitemap {
    /// Parses a sitemap in XML, or a text with one URL per line. Skips invalid URLs, and URLs that are neither http nor
    /// https. Reads at most 50,000 URLs.
    pub fn read(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes);
        if !text.contains('<') {
            let lines = text.lines().map(str::trim).filter(|line| is_address(line));
            return Self { pages: lines.take(MOST).map(str::to_owned).collect(), sitemaps: Vec::new() };
        }
        let found = locations(&text);
        if text.contains("<sitemapindex") {
            Self { pages: Vec::new(), sitemaps: found }
        } else {
            Self { pages: found, sitemaps: Vec::new() }
        }
    }
}

/// Returns the URLs of sitemaps that a `robots.txt` names, at most 64.
pub fn sitemaps_of_robots(bytes: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(bytes);
    let values = text.lines().filter_map(|line| {
        let (name, value) = line.trim().split_once(':')?;
        name.trim().eq_ignore_ascii_case("sitemap").then(|| value.trim())
    });
    values.filter(|value| is_address(value)).take(64).map(str::to_owned).collect()
}

/// Returns the HTTP URLs in the `<loc>` elements of a sitemap, at most [`MOST`]. Elements with a namespace prefix
/// (`<image:loc>`) are skipped: they name pictures.
fn locations(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("<loc").filter(|_| found.len() < MOST) {
        rest = &rest[at + 4..];
        // The tag may have attributes. Other elements whose names start with `loc` are skipped.
        let Some(end) = rest.find('>').filter(|_| rest.starts_with(|c: char| c == '>' || c.is_whitespace()))
        else {
            continue;
        };
        rest = &rest[end + 1..];
        let Some(close) = rest.find("</loc") else { break };
        let address = content(&rest[..close]);
        if is_address(&address) {
            found.push(address);
        }
        rest = &rest[close..];
    }
    found
}

/// Returns the text of an XML element: the contents of a CDATA section, otherwise the text with its entities resolved.
fn content(text: &str) -> String {
    let text = text.trim();
    match text.strip_prefix("<![CDATA[").and_then(|text| text.strip_suffix("]]>")) {
        Some(plain) => plain.trim().to_owned(),
        None => resolved(text),
    }
}

fn resolved(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let end = rest.char_indices().take(10).find(|(_, c)| *c == ';').map(|(end, _)| end);
        let Some((character, end)) = end.and_then(|end| Some((entity(&rest[1..end])?, end))) else {
            out.push('&');
            rest = &rest[1..];
            continue;
        };
        out.push(character);
        rest = &rest[end + 1..];
    }
    out.push_str(rest);
    out
}

fn entity(name: &str) -> Option<char> {
    match name {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(digits) => hexadecimal(digits)?,
                None => decimal(number)?,
            };
            char::from_u32(code)
        }
    }
}

/// Returns whether a text is an HTTP URL that can be used in a request line: without spaces and control characters, and
/// not too long.
fn is_address(text: &str) -> bool {
    let is_http = text.starts_with("http://") || text.starts_with("https://");
    is_http && text.len() <= LONGEST && !text.chars().any(|c| c.is_whitespace() || c.is_control())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_and_further_files_are_found() {
        let index = Sitemap::read(
            b"<?xml version='1.0'?><sitemapindex xmlns='x'><sitemap><loc>http://a.test/wp-sitemap-posts-1.xml</loc></sitemap>\
              <sitemap><loc> <![CDATA[http://a.test/b.xml.gz]]> </loc></sitemap></sitemapindex>",
        );
        assert_eq!(index.sitemaps, ["http://a.test/wp-sitemap-posts-1.xml", "http://a.test/b.xml.gz"]);
        assert!(index.pages.is_empty());
        let pages = Sitemap::read(
            b"<urlset><url><loc>http://a.test/?a=1&amp;b=2</loc><image:image><image:loc>http://a.test/x.png</image:loc></image:image>\
              </url><url><loc a='b'>http://a.test/&#x63;af&#233;/</loc></url><location>http://a.test/no</location>\
              <url><loc>ftp://a.test/</loc></url><url><loc>http://a.test/a b</loc></url></urlset>",
        );
        assert_eq!(pages.pages, ["http://a.test/?a=1&b=2", "http://a.test/caf\u{e9}/"]);
        assert_eq!(
            Sitemap::read(b"http://a.test/\n\n/no\nhttps://a.test/b\n").pages,
            ["http://a.test/", "https://a.test/b"]
        );
    }

    #[test]
    fn robots_name_sitemaps() {
        let text =
            b"User-agent: *\nDisallow: /wp-admin/\n\nsitemap : http://a.test/wp-sitemap.xml\nSitemap: /no\n";
        assert_eq!(sitemaps_of_robots(text), ["http://a.test/wp-sitemap.xml"]);
    }

    #[test]
    fn made_up_bytes_are_no_error_and_bounded() {
        let words: [&[u8]; 12] = [
            b"<loc>",
            b"</loc>",
            b"<loc",
            b"http://a/",
            b"&#x",
            b"&",
            b";",
            b"<![CDATA[",
            b"]]>",
            b"\xff",
            b"<sitemapindex",
            b"\xc3\xa9",
        ];
        for seed in 0..3000 {
            let mut random = fastrand::Rng::with_seed(seed);
            let bytes: Vec<u8> =
                (0..random.usize(..60)).flat_map(|_| random.choice(words).expect("word").to_vec()).collect();
            let sitemap = Sitemap::read(&bytes);
            assert!(
                sitemap.pages.iter().chain(&sitemap.sitemaps).all(|address| is_address(address)),
                "seed {seed}"
            );
            let _ = sitemaps_of_robots(&bytes);
        }
        let many = "<loc>http://a.test/</loc>".repeat(MOST + 10);
        assert_eq!(Sitemap::read(many.as_bytes()).pages.len(), MOST);
    }
}
