//! WebP copies of images, sent under the URL of the image to browsers that accept WebP (`convert_jpeg_to_webp`,
//! `convert_to_webp_lossless`).
//!
//! ```text
//! request for a file with an image, from a browser that accepts WebP -> hold
//!   copy in memory ------------------------> sent in place of the file
//!   copy on disk -> Load, hold again ------> sent in place of the file
//!   none ----------> the file is sent; start: the file is read as by an anonymous client, and a thread with low
//!                    priority makes the copy
//! ```
//!
//! A copy is a page of the zone. Its key is the version of the file, so that a changed file never gets the copy of its
//! predecessor, and requests cannot cause more than one copy for each file.

use std::cell::Cell;
use std::future::poll_fn;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use bytes::Bytes;
use myriad_base::bounded::Lru;
use myriad_conf::settings::{OriginSettings, Settings};
use myriad_encode::{Coding, CompressionPool, PoolOptions, SubmitResult};
use myriad_exchange::exchange::{
    ContentResponse, Exchange, PhaseStep, Request, ResponseHold, ResponseSource,
};
use myriad_exchange::runtime::{PlaceFeatures, SettingsCompiler};
use myriad_http::{Known, Method};
use myriad_net::clock::now_ms;
use myriad_optimize::{Exclusions, FilterName, FilterSet, OptimizeOptions, PageUrl};
use myriad_output::image::{CopyRefusal, ImageKind, Interrupt, OutputFormat, webp_copy};
use myriad_output::image_filter::accepted_formats;
use myriad_store::KeyRef;
use myriad_store::page::key::{IMAGE, append};
use myriad_store::page::{Page, PageZone};
use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::core_time::CORE_TIME;
use super::own_resources::file_version;
use crate::made_file::store_file;
use crate::own_files::{is_restricted, read_body, request_file};
use crate::page;
use crate::settings::{CacheSettings, CacheZone};
use crate::work_budget::Reservation;

/// Lengths in bytes of files that may get a copy: shorter ones save too little, longer ones cost too much memory.
const FILE_BYTES: std::ops::RangeInclusive<u64> = 2_048..=8 << 20;
/// Maximum number of pixels of an image. WordPress limits images to 2,560 pixels per side.
const MAX_PIXELS: u64 = 2_560 * 2_560;
/// Maximum time in which a copy is made. The encoder itself cannot be cancelled.
const MAX_TIME: Duration = Duration::from_secs(20);
/// Maximum number of images that are read, wait for the thread or are converted at the same time.
const MAX_RUNNING: usize = 4;
/// Maximum number of files without a copy that are remembered.
const REMEMBERED: u64 = 16_384;
/// Time for which a copy is stored, in milliseconds.
const VALID_MS: u64 = 365 * 86_400_000;

/// Thread that makes copies. It is not that of compression, because an image takes up to seconds.
static POOL: LazyLock<Option<CompressionPool>> = LazyLock::new(|| {
    // The budget of the optimizer limits the work.
    CompressionPool::start(&PoolOptions { queue: MAX_RUNNING, budget: 1.0, ..PoolOptions::default() }).ok()
});
/// Versions of files that get no copy: it would not be smaller, may look different, or could not be made.
static REFUSED: LazyLock<Mutex<Lru<u64, ()>>> = LazyLock::new(|| Mutex::new(Lru::new(REMEMBERED)));
/// Versions of files whose copies are being made.
static RUNNING: Mutex<Vec<u64>> = Mutex::new(Vec::new());

/// Compiled settings for copies of images in a location with files.
struct ImageCopies {
    zone: Arc<PageZone>,
    filters: FilterSet,
    exclude: Exclusions,
    budget_ppm: u32,
}

/// State of a request whose copy was read from disk.
#[derive(Default)]
struct CopyRead(Cell<bool>);

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
        if read.as_ref().is_none_or(|read| !read.0.get()) {
            answer.field(b"Vary", b"Accept");
        }
        // Parts of both representations must not be combined.
        if exchange.request.received.head.fields().has(Known::Range)
            || accepted_formats(&[OutputFormat::Webp], &exchange.request).is_empty()
        {
            return Ok(answer);
        }
        let (key, now) = (key_of(version), exchange.request.received.at_ms);
        if let Some(copy) = self.zone.zone.get(KeyRef::new(&key), |_, _| {}, now) {
            return Ok(if copy.stored_body().is_some() { answer } else { self.sent(exchange, copy) });
        }
        if read.is_some() || REFUSED.lock().get(&version).is_some() {
            return Ok(answer);
        }
        let file = self.zone.zone.seek(KeyRef::new(&key), |_, _| {});
        if let Some(mut reader) = file.and_then(|file| self.zone.zone.load(KeyRef::new(&key), file, now)) {
            return Err(PhaseStep::wait(async move |exchange: &mut Exchange| {
                poll_fn(|cx| reader.poll_end(cx, |_, _| {}).map(drop)).await;
                exchange.request.outcome.feature_state.get_or_make(CopyRead::default).0.set(true);
                PhaseStep::Answer(answer)
            }));
        }
        self.start(exchange, version);
        Ok(answer)
    }
}

impl ImageCopies {
    /// Returns the version of the file that a response sends; `None` if the file may not have a copy.
    fn version(&self, request: &Request, answer: &ContentResponse) -> Option<u64> {
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
        Some(file_version(file.identity_parts()))
    }

    fn is_excluded(&self, request: &Request) -> bool {
        self.exclude.has_urls() && url_of(request).is_none_or(|url| self.exclude.covers_url(&url))
    }

    fn sent(&self, exchange: &mut Exchange, copy: Page) -> ContentResponse {
        exchange.request.cache.report.optimized = true;
        let mut answer = page::answer(&exchange.request, &self.zone, copy);
        answer.field(b"Vary", b"Accept");
        answer
    }

    /// Starts to make the copy of a file, unless it is in progress, too many are, or the budget is used up. A later request
    /// then tries again.
    fn start(&self, exchange: &Exchange, version: u64) {
        let Some(target) = exchange.request.sent_uri().map(<[u8]>::to_vec) else { return };
        let Some(running) = RunningCopy::begin(version) else { return };
        let Some(reservation) = CORE_TIME.reserve(self.budget_ppm, now_ms()) else { return };
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

fn key_of(version: u64) -> Vec<u8> {
    let mut key = Vec::new();
    append(IMAGE, format!("{version:016x}.webp").as_bytes(), &mut key);
    key
}

/// File in progress. Dropping it permits another attempt.
struct RunningCopy(u64);

impl RunningCopy {
    /// Returns `None` if the file is in progress already, or too many files are.
    fn begin(version: u64) -> Option<Self> {
        let mut running = RUNNING.lock();
        if running.len() >= MAX_RUNNING || running.contains(&version) {
            return None;
        }
        running.push(version);
        Some(Self(version))
    }
}

impl Drop for RunningCopy {
    fn drop(&mut self) {
        RUNNING.lock().retain(|version| *version != self.0);
    }
}

/// File whose copy is being made.
struct CopyWork {
    /// Copy of the request that caused the work.
    exchange: Box<Exchange>,
    zone: Arc<PageZone>,
    /// Path and query of the request.
    target: Vec<u8>,
    version: u64,
    budget_ppm: u32,
    _running: RunningCopy,
    _reservation: Reservation,
}

impl CopyWork {
    async fn run(mut self) {
        let Some(bytes) = self.read().await else { return };
        let before = bytes.len();
        let Some(made) = self.copy_in_pool(bytes).await else { return };
        let counts = &self.zone.optimized;
        if let Ok(copy) = made {
            let saved = before.saturating_sub(copy.len()) as u64;
            let key = key_of(self.version);
            let path = self.target.split(|byte| *byte == b'?').next().unwrap_or_default();
            let media_type = OutputFormat::Webp.media_type().as_bytes();
            let copy = Bytes::from(copy);
            store_file(&self.exchange, &self.zone, (&key, path), (media_type, copy), VALID_MS);
            counts.image_copies.fetch_add(1, Relaxed);
            counts.image_bytes_saved.fetch_add(saved, Relaxed);
        } else {
            REFUSED.lock().insert(self.version, (), 1);
            counts.images_unchanged.fetch_add(1, Relaxed);
        }
    }

    /// Reads the file as an anonymous client would; `None` if that gets another file or an error.
    async fn read(&mut self) -> Option<Vec<u8>> {
        let mut answer = request_file(&mut self.exchange, &self.target).await?;
        let ResponseSource::File(entry) = &answer.response.source else { return None };
        let version = file_version(entry.file()?.identity_parts());
        let is_same = answer.response.status == 200
            && answer.response.coding == Coding::Identity
            && version == self.version;
        if !is_same || is_restricted(&mut answer) {
            return None;
        }
        read_body(answer, *FILE_BYTES.end()).await
    }

    /// Makes the copy on the thread for images. Returns `None` if the thread has no capacity or was stopped.
    async fn copy_in_pool(&self, bytes: Vec<u8>) -> Option<Result<Vec<u8>, CopyRefusal>> {
        let (sender, receiver) = oneshot::channel();
        let (budget_ppm, zone) = (self.budget_ppm, Arc::clone(&self.zone));
        let job = move || {
            let began = Instant::now();
            let is_late = || began.elapsed() > MAX_TIME;
            let made = match ImageKind::of(&bytes) {
                Some(kind) => webp_copy(&bytes, kind, MAX_PIXELS, Interrupt::new(&is_late)),
                None => Err(CopyRefusal::Unsuitable("it is no image")),
            };
            let took_ms = began.elapsed().as_millis() as u64;
            CORE_TIME.charge(budget_ppm, took_ms);
            zone.optimized.filter_ms.fetch_add(took_ms, Relaxed);
            // Fails if the worker has stopped meanwhile.
            let _ = sender.send(made);
        };
        match POOL.as_ref()?.submit(self.version, job) {
            // The thread does not answer after a panic, which the same file would cause again.
            SubmitResult::Queued => {
                Some(receiver.await.unwrap_or(Err(CopyRefusal::Unsuitable("its processing failed"))))
            }
            _ => None,
        }
    }
}
