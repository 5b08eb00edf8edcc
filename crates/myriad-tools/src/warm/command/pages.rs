//! Pages to request: from sitemaps, a log, or the cache.

use std::collections::{HashMap, HashSet, VecDeque};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use crate::warm::{RequestCounter, Sitemap, sitemaps_of_robots};
use flate2::read::GzDecoder;
use myriad_admin::protocol::{AdminReply, AdminRequest, PageReport, PagesRequest};

use super::options::{AGENT, PageSource, WarmOptions};
use myriad_cli::admin::RunningServer;
use myriad_cli::pidfile::reason;
use myriad_cli::web::{WebClient, WebTarget};

/// Maximum number of sitemap files that are read.
const MOST_FILES: usize = 1000;
const LARGEST: u64 = 50 << 20;
/// Maximum number of stored pages that are requested from the control socket.
const MOST_STORED: u64 = 200_000;
/// Length in bytes at which a line of a log is split: the rest is read as a further line.
const LONGEST_LINE: u64 = 64 << 10;
/// Paths at which WordPress and its plugins usually have a sitemap; tried if the sitemaps of robots.txt list no page.
const USUAL: [&str; 3] = ["/wp-sitemap.xml", "/sitemap_index.xml", "/sitemap.xml"];

/// Pages to warm in the order of the requests, and numbers of pages that are left out.
#[derive(Debug, Default)]
pub(super) struct PageList {
    pub(super) targets: VecDeque<WebTarget>,
    /// Number of pages left out because the cache has a fresh copy with all requested content codings.
    pub(super) fresh: usize,
    /// Number of pages in sitemaps left out because their scheme, host or port differs from that of the site.
    pub(super) elsewhere: usize,
    /// Number of pages left out because of `--limit`.
    pub(super) beyond: usize,
}

/// Returns the pages that the options select. Returns an error text if the sitemaps or the log list no page, or if the
/// source cannot be read. If the stored pages cannot be listed, that is an error only for `--by-heat`; otherwise fresh
/// pages are requested too.
pub(super) fn of(options: &WarmOptions) -> Result<PageList, String> {
    let stored = stored(options);
    if options.source == PageSource::Heat {
        return Ok(by_heat(options, stored?));
    }
    let site = options.site.as_ref().ok_or("specify the URL of the site")?;
    let mut pages = PageList::default();
    let found = match &options.source {
        PageSource::Log(path) => of_log(path)?.into_iter().map(|path| site.with_path(&path)).collect(),
        PageSource::Sitemap(said) => of_sitemaps(options, site, said.as_ref(), &mut pages)?,
        PageSource::Heat => Vec::new(),
    };
    let stored = stored.unwrap_or_else(|why| {
        eprintln!("myriad: warm: the stored pages cannot be listed, so fresh pages are requested too: {why}");
        Vec::new()
    });
    let known: HashMap<&str, &PageReport> =
        stored.iter().filter_map(|page| Some((page.url.as_deref()?, page))).collect();
    let mut seen = HashSet::new();
    for target in found {
        let url = target.to_string();
        if known.get(url.as_str()).is_some_and(|page| is_done(page, options)) {
            pages.fresh += 1;
        } else if pages.targets.len() >= options.limit {
            pages.beyond += 1;
        } else if seen.insert(url) {
            pages.targets.push_back(target);
        }
    }
    Ok(pages)
}

/// Returns whether a stored page needs no request: it is fresh and has all requested codings.
fn is_done(page: &PageReport, options: &WarmOptions) -> bool {
    page.is_fresh()
        && options.encodings.iter().all(|name| page.encodings.iter().any(|made| made.coding == *name))
}

/// Returns the stored pages of the host in the URL, or of all hosts without a URL; at most [`MOST_STORED`].
fn stored(options: &WarmOptions) -> Result<Vec<PageReport>, String> {
    let running = RunningServer::find(&options.words.server, options.words.socket.as_deref())?;
    let host = options.site.as_ref().map(|site| site.host().to_owned());
    let mut pages = Vec::new();
    running.send_request(
        &AdminRequest::Pages(PagesRequest { host, limit: Some(MOST_STORED), ..PagesRequest::default() }),
        |reply| {
            if let AdminReply::Page(page) = reply {
                pages.push(*page);
            }
            Ok(true)
        },
    )?;
    Ok(pages)
}

/// Returns the stored pages that are stale or lack a requested content coding, at most `--limit`; pages with the most
/// cache hits first.
fn by_heat(options: &WarmOptions, mut stored: Vec<PageReport>) -> PageList {
    stored.sort_by(|a, b| b.hits.cmp(&a.hits).then_with(|| a.url.cmp(&b.url)));
    let (mut pages, mut seen) = (PageList::default(), HashSet::new());
    for page in &stored {
        let Some(target) = page.url.as_deref().and_then(|url| WebTarget::parse(url).ok()) else { continue };
        if is_done(page, options) {
            pages.fresh += 1;
        } else if pages.targets.len() >= options.limit {
            pages.beyond += 1;
        } else if seen.insert(target.to_string()) {
            pages.targets.push_back(target);
        }
    }
    pages
}

/// Returns the request targets in an access log, the most requested first. `-` is standard input; a file with the
/// extension `gz` is decompressed. Returns an error text if the log cannot be read or contains no request to count.
fn of_log(path: &Path) -> Result<Vec<String>, String> {
    let describe_error = |error: &io::Error| format!("--log {}: {}", path.display(), reason(error));
    let reader: Box<dyn Read> = if path == Path::new("-") {
        Box::new(io::stdin())
    } else {
        let file = File::open(path).map_err(|error| describe_error(&error))?;
        if path.extension().is_some_and(|end| end == "gz") {
            Box::new(GzDecoder::new(file))
        } else {
            Box::new(file)
        }
    };
    let (mut lines, mut line, mut heat) =
        (BufReader::with_capacity(256 << 10, reader), Vec::new(), RequestCounter::default());
    loop {
        line.clear();
        let read = (&mut lines)
            .take(LONGEST_LINE)
            .read_until(b'\n', &mut line)
            .map_err(|error| describe_error(&error))?;
        if read == 0 {
            break;
        }
        heat.add(line.trim_ascii_end());
    }
    let passed_over = heat.passed_over();
    let targets = heat.most_requested();
    if targets.is_empty() {
        return Err(format!(
            "--log {}: no GET request with status 200 in {passed_over} lines; check that the format is `combined`",
            path.display()
        ));
    }
    Ok(targets)
}

/// Returns the pages that the sitemaps of the site list, in their order; pages of other sites are only counted. Returns
/// an error text if the sitemaps list no page of the site.
fn of_sitemaps(
    options: &WarmOptions,
    site: &WebTarget,
    named_sitemap: Option<&WebTarget>,
    pages: &mut PageList,
) -> Result<Vec<WebTarget>, String> {
    let mut client = WebClient::new(options.at.as_deref(), AGENT);
    let mut files: VecDeque<WebTarget> = named_sitemap.cloned().into_iter().collect();
    if files.is_empty() {
        let robots = read(&mut client, options, &site.with_path("/robots.txt"))?.unwrap_or_default();
        files.extend(sitemaps_of_robots(&robots).iter().filter_map(|url| WebTarget::parse(url).ok()));
        files.extend(USUAL.map(|path| site.with_path(path)));
    }
    let (mut seen, mut found) = (HashSet::new(), Vec::new());
    let is_ours = |target: &WebTarget| target.tls == site.tls && target.authority == site.authority;
    let mut other = None;
    while let Some(file) = files.pop_front().filter(|_| seen.len() < MOST_FILES) {
        // Of the usual names, the first one that lists pages is sufficient.
        let is_usual = named_sitemap.is_none() && USUAL.contains(&file.path.as_str()) && !found.is_empty();
        if is_usual || !is_ours(&file) || !seen.insert(file.path.clone()) {
            other = other.or_else(|| (!is_ours(&file)).then(|| file.to_string()));
            continue;
        }
        let Some(bytes) = read(&mut client, options, &file)? else { continue };
        let sitemap = Sitemap::read(&bytes);
        for url in sitemap.sitemaps.iter().rev() {
            // Files of an index are read before other indexes.
            if let Ok(target) = WebTarget::parse(url) {
                files.push_front(target);
            }
        }
        for target in sitemap.pages.iter().filter_map(|url| WebTarget::parse(url).ok()) {
            if is_ours(&target) {
                found.push(target);
            } else {
                pages.elsewhere += 1;
                other = other.or_else(|| Some(target.to_string()));
            }
        }
    }
    if found.is_empty() {
        return Err(match other {
            Some(other) => {
                format!(
                    "the sitemap of {site} contains only other addresses, such as {other}: warm that site"
                )
            }
            None => {
                format!("{site} has no sitemap with pages; specify one with --sitemap, or a log with --log")
            }
        });
    }
    Ok(found)
}

/// Returns the decompressed contents of a sitemap or `robots.txt` of the site; `None` if the status is not 200. At most
/// [`LARGEST`] bytes are decompressed.
fn read(
    client: &mut WebClient,
    options: &WarmOptions,
    target: &WebTarget,
) -> Result<Option<Vec<u8>>, String> {
    let fields: Vec<_> =
        options.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let answer = client.get(target, &fields).map_err(|error| error.to_string())?;
    if answer.status != 200 {
        return Ok(None);
    }
    if !answer.body.starts_with(&[0x1f, 0x8b]) {
        return Ok(Some(answer.body));
    }
    let mut bytes = Vec::new();
    let unpacked = GzDecoder::new(answer.body.as_slice()).take(LARGEST).read_to_end(&mut bytes);
    unpacked.map_err(|error| format!("{target}: {error}"))?;
    Ok(Some(bytes))
}
