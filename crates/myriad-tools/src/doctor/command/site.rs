//! Facts about the site: pages and their assets, requested like a visitor.

use std::io::Read as _;
use std::time::Duration;

use crate::doctor::{CheckedPage, Observation, PageAsset, PageVisit, is_minified, linked_assets};
use crate::warm::Sitemap;
use flate2::read::GzDecoder;
use myriad_base::digits::decimal;

use myriad_cli::web::{WebAnswer, WebClient, WebFailure, WebTarget};
use myriad_cli::wordpress::{DeniedSitePaths, SiteKind, SiteLayout};

/// User agent of the doctor. Myriad gives its requests the lowest priority for PHP (presets/bots.conf).
const AGENT: &str = concat!("Myriad-Doctor/", env!("CARGO_PKG_VERSION"));
/// Pause before the doctor requests files again that were sent without compression.
const COMPRESSION_PAUSE: Duration = Duration::from_secs(1);
/// Maximum decompressed length of a response body, in bytes; the rest is ignored.
const LARGEST: u64 = 16 << 20;
const MOST_ASSETS: usize = 60;
/// Maximum number of files denied by `.htaccess` that the doctor requests, to test that they are not sent.
const MAX_DENIED: usize = 20;
/// Texts that indicate that a page contains a nonce.
const NONCES: [&str; 3] = ["_wpnonce", "\"nonce\":\"", "nonce="];

/// Facts about a site, from the responses to requests.
pub(super) struct SiteFacts {
    pub(super) pages: Vec<CheckedPage>,
    pub(super) assets: Observation<Vec<PageAsset>>,
    pub(super) pictures: usize,
    pub(super) https_proxy_visit: Observation<PageVisit>,
}

/// Examines a site. Returns an error if no server responds to the request for the home page.
pub(super) fn examine_site(home: &WebTarget, at: Option<&str>) -> Result<SiteFacts, WebFailure> {
    let mut client = WebClient::new(at, AGENT);
    let first = client.get(home, &[("Accept-Encoding", "gzip")])?;
    let body = text(&first);
    let mut pages = vec![page(&mut client, "home", home)];
    // With a unique argument, the response is not from the cache and cannot be used for other requests.
    let alone = format!("{}?myriad-doctor={}", home.path, std::process::id());
    if let Ok(answer) = client.get(&home.with_path(&alone), &[("Accept-Encoding", "gzip")]) {
        pages[0].uncached = Some(visit(&answer)).filter(|visit| visit.cache.as_deref() != Some("HIT"));
    }
    for (kind, map) in [("post", "/wp-sitemap-posts-post-1.xml"), ("page", "/wp-sitemap-posts-page-1.xml")] {
        let found = client.get(&home.with_path(map), &[]).ok().filter(|answer| answer.status == 200);
        let urls = found.map(|answer| Sitemap::read(&answer.body).pages).unwrap_or_default();
        let target = urls
            .iter()
            .filter_map(|url| WebTarget::parse(url).ok())
            .find(|target| target.authority == home.authority && target.path != home.path);
        match target {
            // The scheme of the home page, because a site behind a proxy that terminates TLS uses https in its sitemap.
            Some(target) => pages.push(page(&mut client, kind, &WebTarget { tls: home.tls, ..target })),
            None => pages.push(unseen_page(kind, home, map)),
        }
    }
    for (kind, path) in
        [("feed", "/feed/"), ("sitemap", "/wp-sitemap.xml"), ("404", "/myriad-doctor-finds-nothing-here/")]
    {
        pages.push(page(&mut client, kind, &home.with_path(path)));
    }
    let https_proxy_visit = client
        .get(home, &[("Accept-Encoding", "gzip"), ("X-Forwarded-Proto", "https")])
        .map(|answer| visit(&answer))
        .map_err(|error| error.to_string());
    let linked = linked_assets(&body, &home.authority);
    let assets = assets(&mut client, home, &linked.assets).map_err(|error| error.to_string());
    Ok(SiteFacts { pages, assets, pictures: linked.pictures.len(), https_proxy_visit })
}

/// Returns the paths that `.htaccess` files of a site deny, as Myriad translates them.
pub(super) fn denied(layout: &SiteLayout) -> DeniedSitePaths {
    // The warnings are ignored: they are printed when Myriad starts, and the findings contain the rules.
    DeniedSitePaths::find(layout, SiteKind::WordPress, &mut Vec::new())
}

/// Requests files that a `.htaccess` denies, one per folder and at most [`MAX_DENIED`]. Returns the URL paths of the
/// files that the server sends (status 200 or 206). Returns an error if a request fails.
pub(super) fn exposed(
    home: &WebTarget,
    at: Option<&str>,
    layout: &SiteLayout,
    denied: &DeniedSitePaths,
) -> Observation<Vec<String>> {
    let mut client = WebClient::new(at, AGENT);
    let mut exposed = Vec::new();
    for path in denied.examples(&layout.root, MAX_DENIED) {
        let answer = client.get(&home.with_path(&path), &[("Range", "bytes=0-0")]);
        if matches!(answer.map_err(|error| error.to_string())?.status, 200 | 206) {
            exposed.push(path);
        }
    }
    Ok(exposed)
}

fn unseen_page(kind: &'static str, home: &WebTarget, map: &str) -> CheckedPage {
    let why = format!("no {kind} is listed in {}", home.with_path(map));
    CheckedPage { kind, url: home.to_string(), visits: Err(why), uncached: None }
}

fn page(client: &mut WebClient, kind: &'static str, target: &WebTarget) -> CheckedPage {
    let mut once = || client.get(target, &[("Accept-Encoding", "gzip")]).map(|answer| visit(&answer));
    let visits = once().and_then(|first| Ok((first, once()?))).map_err(|error| error.to_string());
    CheckedPage { kind, url: target.to_string(), visits, uncached: None }
}

fn visit(answer: &WebAnswer) -> PageVisit {
    let field = |name: &str| answer.field(name).unwrap_or_default();
    let cookies = answer.fields.get_all(b"Set-Cookie").filter_map(|value| {
        let name = value.split(|byte| *byte == b'=').next()?;
        Some(String::from_utf8_lossy(name).trim().chars().filter(|c| !c.is_control()).take(128).collect())
    });
    let body = text(answer);
    PageVisit {
        status: answer.status,
        first_byte_ms: u64::try_from(answer.first_byte.as_millis()).unwrap_or(u64::MAX),
        cache: answer.field("X-Cache"),
        cookies: cookies.collect(),
        cache_control: field("Cache-Control"),
        encoding: field("Content-Encoding"),
        media_type: field("Content-Type"),
        bytes: body.len() as u64,
        location: answer.field("Location"),
        vary: field("Vary"),
        has_nonce: NONCES.iter().any(|word| body.contains(word)),
        cache_status: answer.field("Cache-Status"),
    }
}

/// Requests the first [`MOST_ASSETS`] assets. Requests files that were sent without compression a second time, after a
/// pause, because a server may compress a file only after its first request. Returns an error if a request fails.
fn assets(client: &mut WebClient, home: &WebTarget, paths: &[String]) -> Result<Vec<PageAsset>, WebFailure> {
    let paths = paths.iter().take(MOST_ASSETS);
    let mut assets = paths.map(|path| asset(client, &home.with_path(path))).collect::<Result<Vec<_>, _>>()?;
    let is_uncompressed = |asset: &PageAsset| asset.status == 200 && asset.encoding.is_empty();
    if assets.iter().any(is_uncompressed) {
        std::thread::sleep(COMPRESSION_PAUSE);
    }
    for uncompressed in assets.iter_mut().filter(|asset| is_uncompressed(asset)) {
        *uncompressed = asset(client, &home.with_path(&uncompressed.path))?;
    }
    Ok(assets)
}

fn asset(client: &mut WebClient, target: &WebTarget) -> Result<PageAsset, WebFailure> {
    let answer = client.get(target, &[("Accept-Encoding", "gzip")])?;
    let body = text(&answer);
    let control = answer.field("Cache-Control").unwrap_or_default();
    let max_age_s = control.split(',').find_map(|word| decimal(word.trim().strip_prefix("max-age=")?));
    let by_date = answer.field("Expires").filter(|value| value.contains("GMT")).map(|_| 86_400);
    Ok(PageAsset {
        path: target.path.clone(),
        status: answer.status,
        bytes: body.len() as u64,
        encoding: answer.field("Content-Encoding").unwrap_or_default(),
        cache_lifetime_s: max_age_s.or(by_date),
        has_validator: answer.field("ETag").is_some() || answer.field("Last-Modified").is_some(),
        is_minified: is_minified(body.as_bytes()),
    })
}

/// Returns the text of a response body, with replacement characters for invalid UTF-8. A body with `Content-Encoding:
/// gzip` is decompressed up to the first error, and to at most [`LARGEST`] bytes; other encodings remain as they are.
fn text(answer: &WebAnswer) -> String {
    let mut bytes = Vec::new();
    if answer.field("Content-Encoding").as_deref() == Some("gzip") {
        // Corrupt data is used up to the first error.
        let _ = GzDecoder::new(answer.body.as_slice()).take(LARGEST).read_to_end(&mut bytes);
    } else {
        bytes.clone_from(&answer.body);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
