//! Requests of a page and its resources, within limits of number, size and time.
//!
//! All requests go to one address (`--at`, otherwise this machine), and only URLs of the page's own origin are
//! requested, also after redirects. A page therefore cannot make the command connect to another server.

use std::collections::{HashMap, HashSet, VecDeque};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use myriad_cli::web::{WebClient, WebTarget};
use myriad_optimize::css::SheetFacts;
use myriad_optimize::html::tokenize;
use myriad_optimize::{OptimizeLimits, PageResource, PageResources, PageUrl, scan};

use super::options::{AGENT, AuditOptions};
use super::response::{resource, too_long};

/// Maximum number of resources that are requested.
const RESOURCES: usize = 300;
/// Length of a received body in bytes from which it is rejected, and maximum length of a decoded body.
const LARGEST: usize = 8 << 20;
/// Total length of all bodies in bytes, counted as received and again as decoded, above which no further URL is
/// requested.
const ALL: usize = 128 << 20;
/// Time since the first request after which no further request is sent; a request in progress may take longer.
const TIME: Duration = Duration::from_mins(2);
/// Maximum number of redirects of the page, and of each resource.
const REDIRECTS: u32 = 5;

/// Page with the resources that it loads from its own site.
pub(super) struct FetchedPage {
    pub(super) page: PageResource,
    pub(super) resources: PageResources,
    /// Reason for each URL that has no usable response.
    pub(super) failures: HashMap<String, String>,
}

/// Requests the page and its resources. Returns an error text if the page cannot be requested, has an error status or
/// is not HTML; failures of resources are recorded in the result.
pub(super) fn page_and_resources(options: &AuditOptions) -> Result<FetchedPage, String> {
    let url = PageUrl::parse(&options.target.to_string())
        .ok_or_else(|| format!("{}: the URL is not valid", options.target))?;
    let mut fetcher = Fetcher {
        client: WebClient::new(options.at.as_deref(), AGENT).with_largest_body(LARGEST),
        options,
        start: Instant::now(),
        bytes: 0,
    };
    let page = fetcher.fetch(&url)?;
    if !page.is_ok() {
        return Err(format!("{} returned status {}", page.url, page.status));
    }
    if !matches!(page.media_type.as_str(), "text/html" | "application/xhtml+xml") {
        return Err(format!("{} is no page: its type is \"{}\"", page.url, page.media_type));
    }
    let (mut resources, mut failures) = (HashMap::new(), HashMap::new());
    let mut waiting = named(&page);
    let mut seen = HashSet::new();
    let mut requested = 0;
    while let Some(url) = waiting.pop_front() {
        if !seen.insert(url.clone()) {
            continue;
        }
        if requested == RESOURCES {
            failures.insert(url.to_string(), format!("more than {RESOURCES} resources"));
            continue;
        }
        requested += 1;
        match fetcher.fetch(&url) {
            Ok(found) => {
                waiting
                    .extend(imported(&found).into_iter().filter(|import| import.is_same_origin(&page.url)));
                resources.insert(url, found);
            }
            Err(reason) => {
                failures.insert(url.to_string(), reason);
            }
        }
    }
    Ok(FetchedPage { page, resources, failures })
}

/// Returns the URLs of the resources that a page loads from its own origin; empty if its HTML cannot be parsed.
fn named(page: &PageResource) -> VecDeque<PageUrl> {
    let limits = OptimizeLimits::default();
    let Some(Ok(tokens)) = page.text().map(|text| tokenize(text, &limits)) else { return VecDeque::new() };
    let scanned = scan(page.text().unwrap_or_default(), &tokens, &page.url);
    let urls = scanned.resources.into_iter().filter_map(|resource| resource.url);
    urls.filter(|url| url.is_same_origin(&page.url)).collect()
}

/// Returns the URLs, of any origin, that a style sheet imports; empty if the resource is not CSS or cannot be parsed.
fn imported(sheet: &PageResource) -> Vec<PageUrl> {
    let text = sheet.text().filter(|_| sheet.media_type == "text/css");
    let Some(Ok(facts)) = text.map(|text| SheetFacts::read(text, &OptimizeLimits::default())) else {
        return Vec::new();
    };
    facts.imports.iter().flatten().filter_map(|import| sheet.url.join(import)).collect()
}

struct Fetcher<'o> {
    client: WebClient,
    options: &'o AuditOptions,
    start: Instant,
    bytes: usize,
}

impl Fetcher<'_> {
    /// Requests a URL and follows at most [`REDIRECTS`] redirects within its origin. Returns an error text if there are
    /// more redirects or one leads to another origin, if there is no response, if its body cannot be decoded, or if a
    /// limit of size or time is exceeded. A response with an error status is not an error.
    fn fetch(&mut self, url: &PageUrl) -> Result<PageResource, String> {
        let mut current = url.clone();
        for redirects in 0..=REDIRECTS {
            if self.start.elapsed() > TIME || self.bytes > ALL {
                return Err("the limit of time or size for the whole page is reached".to_owned());
            }
            let target = WebTarget::parse(&current.to_string())?;
            let mut fields = vec![("Accept-Encoding", "gzip")];
            fields.extend(self.options.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())));
            let answer = self.client.get(&target, &fields).map_err(|failure| failure.to_string())?;
            self.bytes += answer.body.len();
            if answer.body.len() >= LARGEST {
                return Err(too_long(LARGEST));
            }
            let location =
                answer.field("Location").filter(|_| matches!(answer.status, 301 | 302 | 303 | 307 | 308));
            let Some(location) = location else {
                let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs());
                let found = resource(current, answer, redirects, LARGEST, now)?;
                self.bytes += found.body.len();
                return Ok(found);
            };
            let next = current.join(&location).filter(|next| next.is_same_origin(url));
            current = next
                .ok_or_else(|| format!("{current} redirects to another site: {}", location.escape_debug()))?;
        }
        Err(format!("{url} redirects more than {REDIRECTS} times"))
    }
}
