//! WebP copies of images, sent under the URL of the image to browsers that accept WebP (`convert_jpeg_to_webp`,
//! `convert_to_webp_lossless`).
//!
//! ```text
//! request for a file with an image, from a browser that accepts WebP -> hold
//!   no copy possible, or not yet -------------> the file is sent
//!   copy in memory ---------------------------> sent in place of the file
//!   copy on disk -> load, hold again -> sent in place of the file
//!   none -> the file is sent; image_copy_work: the file is read as by an anonymous client, and a thread with low
//!           priority makes the copy
//! ```
//!
//! A copy is a page of the zone. Its key is the version of the file, so that a changed file never gets the copy of its
//! predecessor, and requests cannot cause more than one copy for each file.

use std::future::poll_fn;
use std::sync::Arc;

use myriad_conf::settings::{OriginSettings, Settings};
use myriad_encode::Coding;
use myriad_exchange::exchange::{
    ContentResponse, Exchange, PhaseStep, Request, ResponseHold, ResponseSource,
};
use myriad_exchange::runtime::{PlaceFeatures, SettingsCompiler};
use myriad_http::{Known, Method};
use myriad_net::clock::now_ms;
use myriad_optimize::{Exclusions, FilterName, FilterSet, OptimizeOptions, PageUrl};
use myriad_output::image::OutputFormat;
use myriad_output::image_filter::accepted_formats;
use myriad_store::KeyRef;
use myriad_store::page::{Page, PageZone};

use super::core_time::CORE_TIME;
use super::image_copy_work::{
    CopyLimit, CopyWork, ImageVersion, MAX_BYTES, RETRY_FULL_MS, RunningCopy, uncopied,
};
use super::own_resources::file_version;
use crate::page;
use crate::settings::{CacheSettings, CacheZone};

/// Lengths in bytes of files that may get a copy: shorter ones save too little, longer ones cost too much memory.
const FILE_BYTES: std::ops::RangeInclusive<u64> = 2_048..=MAX_BYTES;
/// Time after which an attempt that had no budget or no capacity may be repeated, in milliseconds.
const RETRY_SOON_MS: u64 = 1_000;

/// Compiled settings for copies of images in a location with files.
struct ImageCopies {
    zone: Arc<PageZone>,
    filters: FilterSet,
    exclude: Exclusions,
    budget_ppm: u32,
}

/// State of a request whose copy is loaded from disk into memory. Each request tries this once.
struct CopyRead;

/// Compiles the settings of a location that serves files, if a filter for copies of images is on and the configuration
/// has a cache zone. An `image_filter` of the location replaces the result.
pub(super) fn compile(
    compiler: &mut dyn SettingsCompiler,
    settings: &Settings,
    options: &OptimizeOptions,
    budget_ppm: u32,
    features: &mut PlaceFeatures,
) {
    let filters = options.filters;
    let is_on = [FilterName::ConvertJpegToWebp, FilterName::ConvertToWebpLossless]
        .iter()
        .any(|filter| filters.contains(*filter));
    if !is_on || settings.handler.is_some() {
        return;
    }
    let of_level = settings.origins().find_map(zone_name);
    let Some(name) = of_level.or_else(|| compiler.model().cache_zones.first().map(|zone| zone.name.clone()))
    else {
        return;
    };
    let Some(zone) = compiler.cache_zone(&name) else { return };
    let exclude = options.exclude.clone();
    let copies: Box<dyn ResponseHold> = Box::new(ImageCopies { zone, filters, exclude, budget_ppm });
    features.insert(copies);
}

fn zone_name(origin: &OriginSettings) -> Option<String> {
    match &origin.own::<CacheSettings>().zone {
        CacheZone::Zone(name) if !name.has_variables() => Some(name.lossy().into_owned()),
        _ => None,
    }
}

impl ResponseHold for ImageCopies {
    fn hold(
        &self,
        exchange: &mut Exchange,
        mut answer: ContentResponse,
    ) -> Result<ContentResponse, PhaseStep> {
        let Some(version) = self.version(&exchange.request, &answer) else { return Ok(answer) };
        let read = exchange.request.outcome.feature_state.get::<CopyRead>();
        if read.is_none() {
            answer.field(b"Vary", b"Accept");
        }
        // Parts of both representations must not be combined.
        if exchange.request.received.head.fields().has(Known::Range)
            || accepted_formats(&[OutputFormat::Webp], &exchange.request).is_empty()
        {
            return Ok(answer);
        }
        let now = exchange.request.received.at_ms;
        let key = version.copy_key();
        if let Some(copy) = self.zone.zone.get(KeyRef::new(&key), |_, _| {}, now) {
            // Copies are shorter than the longest body in memory.
            return Ok(if copy.stored_body().is_some() { answer } else { self.sent(exchange, copy) });
        }
        // After the look-up, so that a copy in memory takes the lock of its page only.
        if !self.zone.uncopied_images.permits(version.hash, now) {
            return Ok(answer);
        }
        if read.is_some() {
            self.postpone(
                exchange,
                version,
                now + RETRY_FULL_MS,
                "the cache zone has no memory for the copy",
            );
            return Ok(answer);
        }
        let Some(file) = self.zone.zone.seek(KeyRef::new(&key), |_, _| {}) else {
            self.start(exchange, version, now);
            return Ok(answer);
        };
        // Without a reader, too many pages are being read.
        let Some(mut reader) = self.zone.zone.load(KeyRef::new(&key), file, now) else { return Ok(answer) };
        exchange.request.outcome.feature_state.get_or_make(|| CopyRead);
        Err(PhaseStep::wait(async move |_: &mut Exchange| {
            poll_fn(|cx| reader.poll_end(cx, |_, _| {}).map(drop)).await;
            PhaseStep::Answer(answer)
        }))
    }
}

impl ImageCopies {
    /// Returns the version of the file that a response sends; `None` if the file may not have a copy.
    fn version(&self, request: &Request, answer: &ContentResponse) -> Option<ImageVersion> {
        let ResponseSource::File(entry) = &answer.source else { return None };
        let filter = match answer.bare_media_type() {
            b"image/jpeg" => FilterName::ConvertJpegToWebp,
            b"image/png" | b"image/gif" => FilterName::ConvertToWebpLossless,
            _ => return None,
        };
        let file = entry.file()?;
        let is_plain = answer.status == 200
            && answer.coding == Coding::Identity
            && request.errors.forced_status.is_none()
            && matches!(request.received.head.method(), Method::Get | Method::Head);
        // Files in locations with access rules have no copies, nor have files that are served after an internal redirect
        // or for a subrequest.
        let is_public =
            request.place().entry.gate.is_none() && !request.route.internal && !request.is_subrequest();
        let is_suitable = self.filters.contains(filter) && FILE_BYTES.contains(&file.length);
        if !(is_suitable && is_plain && is_public) || self.is_excluded(request) {
            return None;
        }
        Some(ImageVersion { hash: file_version(file.identity_parts()), bytes: file.length })
    }

    fn is_excluded(&self, request: &Request) -> bool {
        self.exclude.has_urls() && url_of(request).is_none_or(|url| self.exclude.covers_url(&url))
    }

    /// Returns a response with the WebP copy, and records that it is optimized.
    fn sent(&self, exchange: &mut Exchange, copy: Page) -> ContentResponse {
        exchange.request.cache.report.optimized = true;
        let mut answer = page::answer(&exchange.request, &self.zone, copy);
        answer.field(b"Vary", b"Accept");
        answer
    }

    /// Records that no request before `retry_at_ms` causes an attempt for a version of a file, and the reason.
    fn postpone(&self, exchange: &Exchange, version: ImageVersion, retry_at_ms: u64, reason: &str) {
        let image = uncopied(exchange, version, Some(retry_at_ms), reason.to_owned());
        self.zone.uncopied_images.insert(version.hash, image);
    }

    /// Starts to make the copy of a file, unless it is in progress. If too many copies are, or the budget is used up, a later
    /// request tries again.
    fn start(&self, exchange: &Exchange, version: ImageVersion, now: u64) {
        let Some(target) = exchange.request.sent_uri().map(<[u8]>::to_vec) else { return };
        let later = |reason| self.postpone(exchange, version, now + RETRY_SOON_MS, reason);
        let running = match RunningCopy::begin(version.hash) {
            Ok(running) => running,
            Err(CopyLimit::InProgress) => return,
            Err(CopyLimit::TooMany) => return later("too many copies are being made"),
        };
        let Some(reservation) = CORE_TIME.reserve(self.budget_ppm, now_ms()) else {
            return later("\"optimize_budget\" is used up");
        };
        let work = CopyWork {
            exchange: exchange.snapshot(),
            zone: Arc::clone(&self.zone),
            target,
            version,
            budget_ppm: self.budget_ppm,
            _running: running,
            _reservation: reservation,
        };
        tokio::task::spawn_local(Box::pin(work.run()));
    }
}

fn url_of(request: &Request) -> Option<PageUrl> {
    let url = [request.scheme().as_bytes(), b"://", &request.route.host, request.sent_uri()?].concat();
    PageUrl::parse(str::from_utf8(&url).ok()?)
}
