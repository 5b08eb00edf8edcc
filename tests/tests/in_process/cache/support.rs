//! Helpers: a site with a cache in front of an origin in this process.

use std::future::poll_fn;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use myriad_exchange::exchange::{Exchange, pull_body};
use myriad_http::HttpVersion;
use myriad_net::ResponseBody;
use myriad_net::clock::now_ms;
use myriad_store::page::testing::PageSpec;
use myriad_store::page::{Page, PageMeta, PageZone};
use myriad_store::{ALTERNATIVES, Admission, Claim, ClaimOptions, Completion, FlightWriter, KeyRef};
use tokio::runtime::{Builder, Runtime};
use tokio::task::{LocalSet, spawn_local, yield_now};

use super::test_origin::TestOrigin;
use myriad_serve::testing::variables::variable_value;
use myriad_serve::testing::{TestSite, answer_exchange};

/// Site with the cache zone `ONE` in front of an HTTP origin. Its cache key consists of the `Host` header and the
/// target, and 200 responses are valid for an hour.
pub(super) struct CacheTestSite {
    /// Origin of the location `/`.
    pub origin: TestOrigin,
    site: TestSite,
    runtime: Runtime,
    tasks: LocalSet,
}

/// Response as a client receives it, and the variables of the cache.
pub(super) struct CacheResponse {
    /// Status code.
    pub status: u16,
    /// Header lines.
    pub head: String,
    /// Complete body.
    pub body: String,
    /// `$upstream_cache_status`.
    pub cache: Option<String>,
    /// `$upstream_cache_reason`.
    pub reason: Option<String>,
    /// The request after its response.
    pub exchange: Box<Exchange>,
}

impl CacheResponse {
    /// Returns the status and `$upstream_cache_status` for assertions, such as `200 HIT`; `200 -` without the latter.
    pub(super) fn summary(&self) -> String {
        format!("{} {}", self.status, self.cache.as_deref().unwrap_or("-"))
    }

    /// Returns the values of a header field.
    pub(super) fn field(&self, name: &str) -> Vec<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.filter(|(other, _)| other.eq_ignore_ascii_case(name)).map(|(_, value)| value).collect()
    }
}

impl CacheTestSite {
    /// Creates a site whose location `/` has the cache, the origin and these directives.
    pub(super) fn new(directives: &str) -> Self {
        Self::with(directives, "")
    }

    /// Creates a site like [`new`](Self::new), with more directives in `server`.
    pub(super) fn with(directives: &str, server: &str) -> Self {
        let origin = TestOrigin::start();
        let pass = origin.pass();
        Self::of(origin, &format!("{pass} {directives}"), server)
    }

    /// Creates a site whose location `/` has only these directives, and which defines the cache zone `ONE`.
    pub(super) fn of(origin: TestOrigin, location: &str, server: &str) -> Self {
        Self::in_folder(Path::new("/nowhere/cache"), origin, location, server)
    }

    /// Creates a site like [`of`](Self::of) whose zone has this folder. The disk tier is not open.
    pub(super) fn in_folder(folder: &Path, origin: TestOrigin, location: &str, server: &str) -> Self {
        let http = format!(
            "proxy_cache_path {} keys_zone=ONE:1m; proxy_cache_valid 200 1h;
             proxy_cache_key $http_host$request_uri; fastcgi_cache_key $http_host$request_uri;",
            folder.display()
        );
        let site = TestSite::new(&http, &format!("location / {{ {location} }} {server}"));
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
        Self { origin, site, runtime, tasks: LocalSet::new() }
    }

    /// Returns a request for which no phase has run; `request` is its method and target.
    pub(super) fn begin(&self, request: &str, fields: &[(&str, &str)]) -> Box<Exchange> {
        let mut fields = fields.to_vec();
        if !fields.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            fields.push(("Host", "localhost"));
        }
        let line = request.split_once(' ').expect("a method and a target");
        self.site.received_request(HttpVersion::Http11, line, &fields)
    }

    /// Returns the response to a request like that of [`begin`](Self::begin), after all fetches are complete.
    pub(super) fn get(&mut self, request: &str, fields: &[(&str, &str)]) -> CacheResponse {
        self.answer(self.begin(request, fields))
    }

    /// Returns the response to a GET request without header fields that arrives `ms` milliseconds from now.
    pub(super) fn get_later(&mut self, target: &str, ms: u64) -> CacheResponse {
        let mut exchange = self.begin(&format!("GET {target}"), &[]);
        exchange.request.received.at_ms += ms;
        self.answer(exchange)
    }

    /// Returns the response to a request, after all fetches are complete.
    pub(super) fn answer(&mut self, exchange: Box<Exchange>) -> CacheResponse {
        self.run(receive(exchange))
    }

    /// Returns the responses to two concurrent requests. The first one starts before the second one.
    pub(super) fn answer_both(&mut self, first: Box<Exchange>, second: Box<Exchange>) -> [CacheResponse; 2] {
        self.run(async {
            let [first, second] = [first, second].map(|exchange| spawn_local(receive(exchange)));
            [first.await.expect("a response"), second.await.expect("a response")]
        })
    }

    /// Returns the response to a request, and calls `meanwhile` when the request has started to wait.
    pub(super) fn answer_meanwhile(
        &mut self,
        exchange: Box<Exchange>,
        meanwhile: impl FnOnce(),
    ) -> CacheResponse {
        self.run(async {
            let response = spawn_local(receive(exchange));
            yield_now().await;
            assert!(!response.is_finished(), "the request does not wait");
            meanwhile();
            response.await.expect("a response")
        })
    }

    /// Runs the phases of a request, and discards the response without reading its body.
    pub(super) fn process(&mut self, mut exchange: Box<Exchange>) -> Box<Exchange> {
        self.run(async {
            drop(answer_exchange(&mut exchange).await);
            exchange
        })
    }

    /// Returns the responses to the request `first` and to `others`, which are sent one after another while `first` is
    /// in progress. Calls `release` when the others have been answered.
    pub(super) fn answer_during<const N: usize>(
        &mut self,
        first: Box<Exchange>,
        others: [Box<Exchange>; N],
        release: impl FnOnce(),
    ) -> (CacheResponse, Vec<CacheResponse>) {
        self.run(async {
            let first = spawn_local(receive(first));
            let mut responses = Vec::new();
            for exchange in others {
                responses.push(spawn_local(receive(exchange)).await.expect("a response"));
            }
            release();
            (first.await.expect("a response"), responses)
        })
    }

    /// Runs a future, and then all fetches to completion.
    pub(super) fn run<T>(&mut self, future: impl Future<Output = T>) -> T {
        let result = self.tasks.block_on(&self.runtime, future);
        self.runtime.block_on(&mut self.tasks);
        result
    }

    /// Returns the zone of the cache.
    pub(super) fn zone(&self) -> Arc<PageZone> {
        Arc::clone(&self.begin("GET /", &[]).request.site.runtime.zones["ONE"])
    }

    /// Returns the page that is stored for a target; `None` if there is none or several variants.
    pub(super) fn page(&self, target: &str) -> Option<Page> {
        let pages = self.zone().zone.peek(KeyRef::new(key(target).as_bytes()));
        <[Page; 1]>::try_from(pages).ok().map(|[page]| page)
    }

    /// Stores a page for a target that was fetched at `now`, in milliseconds since the epoch.
    pub(super) fn store_at(&self, target: &str, spec: &PageSpec<'_>, now: u64) {
        let key = key(target);
        let writer = self.zone().zone.fetch_unshared(KeyRef::new(key.as_bytes()), now);
        write_page(writer, spec.meta(), now);
    }

    /// Stores a page for a target.
    pub(super) fn store(&self, target: &str, spec: &PageSpec<'_>) {
        self.store_at(target, spec, now_ms());
    }

    /// Stores a page for a target that is already stale.
    pub(super) fn store_stale(&self, target: &str) {
        self.store(target, &stale_page());
    }

    /// Starts the fetch of a page as another request does.
    pub(super) fn lead(&self, target: &str) -> FlightWriter<PageMeta> {
        let options = ClaimOptions { now: now_ms(), lock_age_ms: u64::MAX, address: None };
        match self.zone().zone.claim(KeyRef::new(key(target).as_bytes()), |_, _| {}, |_| false, options) {
            Claim::Lead(writer) => writer,
            _ => panic!("the page of {target} is already being fetched"),
        }
    }
}

/// Returns the properties of a page that has just become stale.
pub(super) fn stale_page() -> PageSpec<'static> {
    PageSpec { fresh_until: now_ms() - 1, ..PageSpec::default() }
}

/// Returns the properties of a page that is fresh for a minute.
pub(super) fn fresh_page() -> PageSpec<'static> {
    PageSpec { fresh_until: now_ms() + 60_000, ..PageSpec::default() }
}

/// Completes a fetch: stores a page with the body "stored".
pub(super) fn write_page(writer: FlightWriter<PageMeta>, meta: PageMeta, now: u64) {
    let mut writer = writer.admit(Admission { head: Arc::new(meta.clone()), selection: None, length: None });
    writer.push(Bytes::from_static(b"stored"));
    let fresh_until = meta.facts.lifetime().fresh_until;
    writer.complete(Completion { meta, now, fresh_until, alternatives: [const { None }; ALTERNATIVES] });
}

/// Returns the cache key of a request without header fields.
fn key(target: &str) -> String {
    format!("localhost{target}")
}

/// Returns the response to a request and reads its body. Must run in a `LocalSet`.
async fn receive(mut exchange: Box<Exchange>) -> CacheResponse {
    let answer = answer_exchange(&mut exchange).await;
    let cache = variable_value(&mut exchange, "upstream_cache_status");
    let reason = variable_value(&mut exchange, "upstream_cache_reason");
    let mut response = myriad_output::send(exchange, answer);
    let body = read_body(std::mem::replace(&mut response.body, ResponseBody::None)).await;
    let head = String::from_utf8(response.head.fields().to_vec()).expect("text");
    CacheResponse {
        status: response.head.status(),
        head,
        body: String::from_utf8_lossy(&body).into_owned(),
        cache,
        reason,
        exchange: response.ticket,
    }
}

async fn read_body(body: ResponseBody) -> Vec<u8> {
    let mut body = pull_body(body);
    let mut bytes = Vec::new();
    while let Some(piece) = poll_fn(|cx| body.as_mut().poll_data(cx)).await {
        bytes.extend_from_slice(&piece.expect("a complete body"));
    }
    bytes
}
