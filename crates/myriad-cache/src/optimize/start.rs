//! Making of the optimized form of a page.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use bytes::Bytes;
use myriad_encode::SubmitResult;
use myriad_exchange::exchange::{Exchange, Request};
use myriad_http::Known;
use myriad_http::lines::{line_named, lines_named};
use myriad_net::clock::now_ms;
use myriad_optimize::{
    FilterReport, OptimizeOptions, OptimizedPage, PageResource, PageResources, PageUrl, optimize,
};
use myriad_policy::loads_early;
use myriad_store::page::{OptimizedState, Page, PageView};
use myriad_store::{AttachError, Body, ReplacementBody};
use parking_lot::Mutex;
use tokio::sync::oneshot;
use tokio::time::timeout;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::bundles;
use super::core_time::CORE_TIME;
use super::form::{form_meta, policies, refuse};
use super::markers::MarkedPage;
use super::own_resources::read_all;
use super::rules::OptimizeRules;
use crate::adaptive_validity::contiguous;
use crate::journey_step::{CacheContext, OwnedCacheContext};
use crate::page::first_encodings;
use crate::work_budget::Reservation;

/// Maximum number of pages that are optimized at the same time.
const MAX_RUNNING: usize = 4;
/// Pause in milliseconds after an attempt that the budget did not permit.
const PAUSE_MS: u64 = 50;
/// Pause in milliseconds after an attempt for whose result there was no memory.
const LONG_PAUSE_MS: u64 = 10_000;
/// Response fields that contain a digest of the body. A page with such a field is not optimized.
const DIGESTS: [&[u8]; 4] = [b"content-md5", b"digest", b"content-digest", b"repr-digest"];
/// Maximum time in which the files of a page are read.
const READ_TIME: Duration = Duration::from_secs(10);
/// Time from which the next page may be optimized, in milliseconds since the epoch.
static NEXT_AT: AtomicU64 = AtomicU64::new(0);
/// Pages that are being optimized, by the address of the zone and the generation number of the page.
static RUNNING: Mutex<Option<HashSet<(usize, u64)>>> = Mutex::new(None);

/// Registration of a page that is being optimized. Dropping it permits another attempt.
struct RunningPage(usize, u64);

impl RunningPage {
    /// Registers a page as in progress. Returns `None` if it is in progress already, or if [`MAX_RUNNING`] pages are.
    fn begin(cached: CacheContext<'_>, page: &Page) -> Option<Self> {
        let (zone, generation) = (Arc::as_ptr(&cached.cache.zone) as usize, page.generation());
        let mut running = RUNNING.lock();
        let running = running.get_or_insert_default();
        let is_added = running.len() < MAX_RUNNING && running.insert((zone, generation));
        // Not `then_some`: dropping an unused value would remove the page that is in progress, and needs the lock.
        is_added.then(|| Self(zone, generation))
    }
}

impl Drop for RunningPage {
    fn drop(&mut self) {
        if let Some(running) = &mut *RUNNING.lock() {
            running.remove(&(self.0, self.1));
        }
    }
}

/// Starts to make the optimized form of a page in the background, unless it is in progress or the budget is used up.
/// Another hit then tries again. A page that cannot be optimized gets the reason as its result. Does nothing for a page
/// that is not an HTML document in memory, and for a request with an unusual path ([`has_plain_path`]).
pub(crate) fn start(exchange: &Exchange, cached: CacheContext<'_>, page: &Page) {
    let now = now_ms();
    if now < NEXT_AT.load(Relaxed) {
        return;
    }
    let request = &exchange.request;
    let Some(rules) = request.place().features.get::<OptimizeRules>() else { return };
    if !is_whole_page(page) || !page.may_get_replacement() || !has_plain_path(request) {
        return;
    }
    if let Some(reason) = obstacle(request, cached, page, &rules.options) {
        return refuse(cached, page, reason);
    }
    let Some(running) = RunningPage::begin(cached, page) else { return };
    let Some(reservation) = CORE_TIME.reserve(rules.budget_ppm, now) else {
        return pause(PAUSE_MS);
    };
    let (exchange, held, page, rules) = (exchange.snapshot(), cached.to_owned(), page.clone(), rules.clone());
    tokio::task::spawn_local(Box::pin(async move {
        let work = PageWork { exchange, held, page, rules, _reservation: reservation };
        work.run().await;
        drop(running);
    }));
}

/// Prevents the optimization of further pages for `ms` milliseconds.
fn pause(ms: u64) {
    NEXT_AT.store(now_ms() + ms, Relaxed);
}

/// Returns whether a page is an HTML document in memory, with status 200 and without content coding. Other pages have
/// no optimized form.
fn is_whole_page(page: &Page) -> bool {
    let meta = page.meta();
    meta.status == 200
        && meta.media_type() == b"text/html"
        && page.stored_body().is_none()
        && page.body_len() > 0
        && line_named(meta.lines(), b"content-encoding").is_none()
}

/// Returns whether the path of a request has no alternative spelling: it contains no `//`, no segment that begins with
/// a dot, no encoded slash, dot or backslash, and no backslash. Keys may be equal for several spellings, such as
/// `/a//b` and `/a/b`, but relative URLs resolve differently: then only the request of another client may cause the
/// optimization.
fn has_plain_path(request: &Request) -> bool {
    let Some(uri) = request.sent_uri() else { return false };
    let path = uri.split(|byte| *byte == b'?').next().unwrap_or_default().to_ascii_lowercase();
    let has = |part: &[u8]| memchr::memmem::find(&path, part).is_some();
    !has(b"//") && !has(b"/.") && !has(b"%2f") && !has(b"%2e") && !has(b"%5c") && !path.contains(&b'\\')
}

/// Returns the reason why a page of this location cannot be optimized, if there is one.
fn obstacle(
    request: &Request,
    cached: CacheContext<'_>,
    page: &Page,
    options: &OptimizeOptions,
) -> Option<&'static str> {
    let meta = page.meta();
    if !cached.cache.rules.leak_guard {
        Some("the page was not searched for data of visitors (leak_guard off)")
    } else if meta.no_transform {
        Some("the origin forbids changes (Cache-Control: no-transform)")
    } else if DIGESTS.iter().any(|name| line_named(meta.lines(), name).is_some()) {
        Some("the response has a digest of the page")
    } else if request.place().filters.change(meta.media_type()) {
        Some("the location changes the page while it is sent (sub_filter, ssi or another body filter)")
    } else if page.body_len() > options.limits.page_bytes as u64 {
        Some("the page is too long")
    } else if cached.cache.zone.leak_samples.suspicion(&request.cache.key, now_ms()).is_some() {
        Some("the leak guard suspects that the page depends on its visitor")
    } else {
        None
    }
}

/// Page that is being optimized.
struct PageWork {
    /// Copy of the request that caused the work.
    exchange: Box<Exchange>,
    held: OwnedCacheContext,
    page: Page,
    rules: OptimizeRules,
    _reservation: Reservation,
}

impl PageWork {
    async fn run(mut self) {
        if let Err(reason) = self.make().await {
            refuse(self.held.get(), &self.page, &reason);
        }
    }

    /// Makes the form of the page. Returns the reason as an error text if the page cannot be optimized. Without an
    /// error, there may be no form either: the filters changed nothing, or there was no capacity and another hit tries
    /// again.
    async fn make(&mut self) -> Result<(), String> {
        let text = contiguous(&self.page.body()).into_owned();
        let cut = self.page.meta().cut().to_vec();
        let marked = MarkedPage::new(&text, &cut).ok_or("the data about its ESI holes is damaged")?;
        // A request whose URL is unusual, such as `//x/..`, must not prevent the form of the page.
        let Some(resource) = self.page_resource(&marked) else { return Ok(()) };
        let mut options = options_for(&self.rules.options, self.page.meta(), &resource.url);
        options.marker = marked.word().map(str::to_owned);
        let reading = read_all(&mut self.exchange, &resource, &options);
        let own = timeout(READ_TIME, reading).await.map_err(|_| "reading its files took too long")??;
        let Some(result) = self.optimize_in_pool(resource, own.resources, options).await else {
            return Ok(());
        };
        let made = result?;
        let (html, cut) =
            marked.unmark(&made.html, &cut).ok_or("a place for data of visitors would be lost")?;
        let report = report_of(&made.reports);
        let zone = Arc::clone(&self.held.cache.zone);
        if html.as_bytes() == text {
            zone.optimized.unchanged.fetch_add(1, Relaxed);
            let state = self.state(own.files, Vec::new(), report);
            let _ = zone.zone.replace(&self.page, None, state, now_ms());
            return Ok(());
        }
        let html_bytes = html.len();
        let mut names = Vec::new();
        for bundle in &made.bundles {
            let Some(name) = bundles::publish(&self.exchange, &self.held, bundle) else {
                pause(LONG_PAUSE_MS);
                return Ok(());
            };
            names.push(name);
        }
        let body = Body::from(Bytes::from(html.into_bytes().into_boxed_slice()));
        let meta = form_meta(&self.page, &cut, &body);
        let alternatives = first_encodings(&self.exchange, meta.view(), &body);
        let state = self.state(own.files, names, report);
        let saved = text.len().saturating_sub(html_bytes) as u64;
        let added = zone.zone.replace(
            &self.page,
            Some(ReplacementBody { meta, body, alternatives }),
            state,
            now_ms(),
        );
        match added {
            Ok(()) => {
                zone.optimized.forms.fetch_add(1, Relaxed);
                zone.optimized.bytes_saved.fetch_add(saved, Relaxed);
            }
            Err(AttachError::NoRoom) => pause(LONG_PAUSE_MS),
            Err(AttachError::Gone | AttachError::Occupied) => {}
        }
        Ok(())
    }

    fn state(
        &self,
        files: Vec<myriad_store::page::FileVersion>,
        names: Vec<Arc<str>>,
        report: String,
    ) -> OptimizedState {
        OptimizedState::new(self.held.cache.optimize, files, names, report, now_ms())
    }

    /// Returns the page as the optimizer reads it; `None` if its URL is not valid or it has no `Content-Type`.
    fn page_resource(&self, marked: &MarkedPage) -> Option<PageResource> {
        let request = &self.exchange.request;
        let meta = self.page.meta();
        let host = request.received.head.known(Known::Host).unwrap_or(&request.route.host);
        let url = [request.scheme().as_bytes(), b"://", host, request.sent_uri()?].concat();
        let content_type = String::from_utf8_lossy(line_named(meta.lines(), b"content-type")?);
        let url = PageUrl::parse(str::from_utf8(&url).ok()?)?;
        let mut resource = PageResource::new(url, &content_type, marked.text.clone());
        resource.has_policy = policies(meta).next().is_some() || self.rules.adds_policy;
        Some(resource)
    }

    /// Runs the filters in the pool of background threads. Returns `None` if the pool has no capacity.
    async fn optimize_in_pool(
        &self,
        page: PageResource,
        resources: PageResources,
        options: OptimizeOptions,
    ) -> Option<Result<OptimizedPage, String>> {
        let (sender, receiver) = oneshot::channel();
        let budget_ppm = self.rules.budget_ppm;
        let zone = Arc::clone(&self.held.cache.zone);
        let key = xxh3_64_with_seed(&self.page.generation().to_le_bytes(), !(Arc::as_ptr(&zone) as u64));
        let submitted = self.exchange.request.site.worker.encoder.submit(key, move || {
            let began = Instant::now();
            let result = optimize(&page, &resources, &options);
            let took_ms = began.elapsed().as_millis() as u64;
            CORE_TIME.charge(budget_ppm, took_ms);
            zone.optimized.filter_ms.fetch_add(took_ms, Relaxed);
            // Fails if the worker has stopped meanwhile.
            let _ = sender.send(result);
        });
        match submitted {
            // The thread does not answer after a panic.
            SubmitResult::Queued => {
                Some(receiver.await.unwrap_or_else(|_| Err("the optimizer failed".to_owned())))
            }
            _ => None,
        }
    }
}

/// Returns the options for a page: `options`, extended so that resources which `Link` fields of the response load early
/// are left unchanged.
fn options_for(options: &OptimizeOptions, page: PageView<'_>, url: &PageUrl) -> OptimizeOptions {
    let mut options = options.clone();
    for value in lines_named(page.lines(), b"link").filter(|value| loads_early(value)) {
        let target = value.strip_prefix(b"<").and_then(|rest| rest.split(|byte| *byte == b'>').next());
        let target = target.and_then(|target| url.join(str::from_utf8(target).ok()?));
        if let Some(target) = target.filter(|target| target.is_same_origin(url)) {
            // A path without wildcards is a valid pattern.
            let _ = options.exclude.add(target.path());
        }
    }
    options
}

fn report_of(reports: &[FilterReport]) -> String {
    serde_json::json!({ "filters": reports }).to_string()
}
