//! Command line of `myriad warm`.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::warm::PhpBudget;

use myriad_base::digits::decimal;
use myriad_cli::admin::{CommandWords, KnownOption};
use myriad_cli::web::WebTarget;

/// Text that `myriad warm --help` prints.
pub const USAGE: &str = "\
Usage: myriad warm URL [--sitemap URL] [--log FILE] ...
       myriad warm --by-heat [URL] ...
              [--budget N,P%] [--limit N] [--encodings LIST]
              [--at HOST:PORT] [--header 'Name: value']... [--quiet] [--json]

Requests the pages of a site, so that they are cached before visitors arrive.
Pages that are still fresh are skipped. The requests have the lowest priority
(origin_priority), with pauses between them that are longer for slow pages.

  URL             : URL of the site: http://example.com/
  --sitemap URL   : sitemap to use (default: those in robots.txt, else
                    /wp-sitemap.xml, /sitemap_index.xml or /sitemap.xml)
  --log FILE      : pages of an access log (format combined), most requested
                    first; - for standard input
  --by-heat       : stale pages in the cache, most hits first: after
                    `myriad purge --all --soft`, while they are served stale
  --budget N,P%   : N pages in parallel, each requesting P % of the time
                    (default: 1,50%)
  --limit N       : maximum number of pages (default: 10000)
  --encodings LIST: also generate these encodings: gzip,br,zstd
  --at HOST:PORT  : address on which Myriad listens (default: 127.0.0.1 and the
                    port of the URL)
  --header FIELD  : additional request header: 'X-Forwarded-Proto: https' if a
                    proxy in front of Myriad terminates https
  --quiet         : print no progress
  --json          : print the totals as a JSON object

Server selection:
  -c FILE         : configuration file of the server (default: the running
                    server)
  -p PREFIX       : prefix of the server; for a `myriad wordpress`, its --prefix
  --socket PATH   : control socket of the server

Exit status: 0 on success; 1 on errors, if a sitemap or log lists no page, or if
a page failed; 2 if --by-heat finds no stored page.
";

/// User agent of the requests. Myriad gives them the lowest priority for PHP (presets/bots.conf).
pub(super) const AGENT: &str = concat!("Myriad-Warm/", env!("CARGO_PKG_VERSION"));

const OPTIONS: &[KnownOption] = &[
    ("--sitemap", true),
    ("--log", true),
    ("--by-heat", false),
    ("--budget", true),
    ("--limit", true),
    ("--encodings", true),
    ("--at", true),
    ("--header", true),
    ("--quiet", false),
    ("--json", false),
];

/// Default maximum number of pages that are requested (`--limit`).
const USUAL: usize = 10_000;
const MOST: usize = 1_000_000;

/// Source of the list of pages to warm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PageSource {
    /// Sitemap at this URL; `None` for the sitemaps of the site.
    Sitemap(Option<WebTarget>),
    Log(PathBuf),
    Heat,
}

#[derive(Debug)]
pub(super) struct WarmOptions {
    pub(super) words: CommandWords,
    /// URL of the site to warm; `None` for `--by-heat` of all sites.
    pub(super) site: Option<WebTarget>,
    pub(super) source: PageSource,
    pub(super) budget: PhpBudget,
    pub(super) limit: usize,
    /// Content codings that are requested (`--encodings`); empty without the option.
    pub(super) encodings: Vec<String>,
    pub(super) at: Option<String>,
    pub(super) headers: Vec<(String, String)>,
}

impl WarmOptions {
    /// Parses the words after `myriad warm`; `None` if help is requested, an error text if a word is invalid.
    pub(super) fn parse(arguments: impl Iterator<Item = OsString>) -> Result<Option<Self>, String> {
        let words = CommandWords::parse(arguments, OPTIONS)?;
        if words.help {
            return Ok(None);
        }
        words.at_most(1, "warm")?;
        let site = words.plain.first().map(|url| WebTarget::parse(url)).transpose()?;
        let source = match (words.value("--sitemap"), words.value("--log"), words.has("--by-heat")) {
            (sitemap, None, false) => {
                PageSource::Sitemap(sitemap.map(|url| WebTarget::parse(&url)).transpose()?)
            }
            (None, Some(log), false) => PageSource::Log(log.into()),
            (None, None, true) => PageSource::Heat,
            _ => return Err("--sitemap, --log and --by-heat exclude each other".into()),
        };
        if site.is_none() && source != PageSource::Heat {
            return Err("no site specified; add its URL: myriad warm http://example.com/".into());
        }
        Ok(Some(Self {
            site,
            source,
            budget: budget(words.value("--budget"))?,
            limit: limit(words.value("--limit"))?,
            encodings: encodings(words.value("--encodings"))?,
            at: words.value("--at"),
            headers: words.headers()?,
            words,
        }))
    }
}

fn budget(text: Option<String>) -> Result<PhpBudget, String> {
    text.map_or(Ok(PhpBudget::default()), |text| {
        PhpBudget::parse(&text).ok_or_else(|| {
            format!("--budget \"{text}\": use the form N,P% with N from 1 to 64 and P from 1 to 100: 2,25% for two pages in parallel, each requesting a quarter of the time")
        })
    })
}

fn limit(text: Option<String>) -> Result<usize, String> {
    text.map_or(Ok(USUAL), |text| {
        let number = decimal(&text).filter(|number| (1..=MOST).contains(number));
        number.ok_or_else(|| format!("--limit \"{text}\" is not a number from 1 to {MOST}"))
    })
}

fn encodings(text: Option<String>) -> Result<Vec<String>, String> {
    let text = text.unwrap_or_default();
    let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
    names
        .map(|name| match name {
            "gzip" | "br" | "zstd" => Ok(name.to_owned()),
            _ => Err(format!("--encodings \"{name}\": must be gzip, br or zstd")),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(arguments: &[&str]) -> Result<Option<WarmOptions>, String> {
        WarmOptions::parse(arguments.iter().map(OsString::from))
    }

    #[test]
    fn pages_come_from_one_place() {
        let source = |arguments: &[&str]| parsed(arguments).expect("sound").expect("no help").source;
        assert_eq!(source(&["http://a.test/"]), PageSource::Sitemap(None));
        assert_eq!(source(&["--by-heat"]), PageSource::Heat);
        assert_eq!(source(&["a.test", "--log", "x"]), PageSource::Log("x".into()));
        for (arguments, part) in [
            (&[][..], "no site specified"),
            (&["--log", "x"], "no site specified"),
            (&["a.test", "--log", "x", "--by-heat"], "exclude each other"),
            (&["a.test", "b.test"], "unexpected argument"),
            (&["ftp://a.test"], "does not start with http"),
            (&["a.test", "--budget", "fast"], "2,25%"),
            (&["a.test", "--limit", "0"], "not a number"),
            (&["a.test", "--encodings", "lzma"], "must be gzip, br"),
            (&["a.test", "--header", "x"], "Name: value"),
            (&["a.test", "--header", "X: y\r\nZ: a"], "Name: value"),
        ] {
            assert!(parsed(arguments).expect_err(part).contains(part), "{arguments:?}");
        }
    }
}
