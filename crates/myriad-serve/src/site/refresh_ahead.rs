//! Refresh of pages without a request of a client, when they have expired or are about to (`*_cache_adaptive` with
//! `*_cache_background_update`). Which pages, and when: [`RefreshAhead`].
//!
//! One worker of the process inspects the zones and refreshes one page at a time. The request is one that a visitor
//! without cookies would send, from [`SERVER_CLIENT`]; it is neither counted nor logged, and the result is stored like
//! that of any refresh in the background.

use std::hash::{BuildHasher, RandomState};
use std::net::{IpAddr, Ipv4Addr};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use myriad_base::memory::PressureStage;
use myriad_cache::SERVER_CLIENT;
use myriad_conf::settings::Network;
use myriad_http::{HttpVersion, RequestHead};
use myriad_net::clock::now_ms;
use myriad_net::{Connection, RequestBody, TlsFacts};
use myriad_policy::{DeviceClass, InspectedPage, RefreshAhead};
use myriad_store::Cursor;
use myriad_store::page::{Page, PageZone, write_variant};

use crate::explain::running_listener_for;
use crate::phases::{self, PhaseDecision};
use crate::service::SiteService;
use myriad_exchange::exchange::{Exchange, ExplainedRequest};
use myriad_exchange::runtime::Generation;
use myriad_exchange::runtime::Runtime;

/// Interval at which the zones are inspected.
const INTERVAL: Duration = Duration::from_secs(1);
/// Number of pages after which an inspection stops; the next inspection continues with the pages after them.
const INSPECTED: usize = 4096;
/// Maximum number of pages that wait for their refresh; those with most expected requests remain.
const MAX_WAITING: usize = 64;
/// Time without a refresh after each refresh, as a multiple of its duration: refreshes take at most a quarter of the
/// time.
const PAUSE_FACTOR: u32 = 3;
/// Minimum time between two refreshes.
const MIN_PAUSE: Duration = Duration::from_millis(20);
/// Pause before a refresh while other fetches into the zone are in progress.
const BUSY_PAUSE: Duration = Duration::from_millis(50);
/// Maximum number of pauses of [`BUSY_PAUSE`] before a refresh; after them, it is left to the next inspection.
const MAX_BUSY_PAUSES: u32 = 10;
/// Maximum wait for the refresh of a page. After it, the next page is refreshed, while the fetch of the first
/// continues.
const LONGEST: Duration = Duration::from_mins(1);

/// Page that waits for its refresh.
struct WaitingPage {
    id: u64,
    page: Page,
    zone: Arc<PageZone>,
    /// Expected number of requests while the refreshed page is valid.
    expected: f64,
}

/// Inspection of all zones, in steps.
#[derive(Default)]
struct Inspection {
    plan: RefreshAhead,
    hasher: RandomState,
    /// Index of the zone to inspect next.
    zone: usize,
    at: Cursor,
    /// Pages that are due, least expected requests first.
    waiting: Vec<WaitingPage>,
}

/// Refreshes pages without a request of a client, one at a time, until the task is aborted. Pauses while the process is
/// short of memory.
pub(super) async fn refresh_ahead(service: Rc<SiteService>) {
    let mut inspection = Inspection::default();
    loop {
        tokio::time::sleep(INTERVAL).await;
        let site = service.current();
        inspection.advance(&site);
        let until = now_ms() + INTERVAL.as_millis() as u64;
        while now_ms() < until
            && site.runtime.pressure.stage() == PressureStage::Normal
            && let Some(waiting) = inspection.waiting.pop()
        {
            if !is_idle(&waiting.zone).await {
                continue;
            }
            let began = std::time::Instant::now();
            // After this time, the fetch continues, but the page counts as refreshed.
            let _ = tokio::time::timeout(LONGEST, refresh(&site, &waiting.page)).await;
            inspection.plan.note_refresh(waiting.id, now_ms());
            tokio::time::sleep((began.elapsed() * PAUSE_FACTOR).max(MIN_PAUSE)).await;
        }
    }
}

/// Waits until no other fetch into `zone` is in progress, at most [`MAX_BUSY_PAUSES`] times [`BUSY_PAUSE`]. Returns
/// false if a fetch is still in progress after that.
async fn is_idle(zone: &PageZone) -> bool {
    for _ in 0..MAX_BUSY_PAUSES {
        if !zone.fetches.is_busy() {
            return true;
        }
        tokio::time::sleep(BUSY_PAUSE).await;
    }
    false
}

impl Inspection {
    /// Inspects about [`INSPECTED`] further pages, and adds those that are due to `waiting`, of which the
    /// [`MAX_WAITING`] with most expected requests remain.
    fn advance(&mut self, site: &Generation) {
        let zones = &site.runtime.zone_list;
        let (now, mut left) = (now_ms(), INSPECTED);
        if (self.zone, self.at) == (0, Cursor::default()) {
            self.waiting.clear();
        }
        while left > 0 {
            if let Some(Some(zone)) = zones.get(self.zone) {
                let (pages, next) = zone.zone.inspect(self.at);
                left = left.saturating_sub(pages.len().max(1));
                self.add_due(zone, pages, now);
                if let Some(next) = next {
                    self.at = next;
                    continue;
                }
            }
            (self.zone, self.at) = (self.zone + 1, Cursor::default());
            if self.zone >= zones.len() {
                self.zone = 0;
                break;
            }
        }
        self.waiting.sort_by(|a, b| a.expected.total_cmp(&b.expected));
        let excess = self.waiting.len().saturating_sub(MAX_WAITING);
        self.waiting.drain(..excess);
    }

    fn add_due(&mut self, zone: &Arc<PageZone>, pages: Vec<Page>, now: u64) {
        for page in pages {
            let meta = page.meta();
            // Pages without a history have no adaptive validity.
            let Some(equal_since) = meta.equal_since() else { continue };
            let variant = page.selection().map(|selection| &selection.variant[..]);
            let id = self.hasher.hash_one((zone.zone.name(), page.key(), variant));
            let lifetime = meta.lifetime();
            let inspected = InspectedPage {
                id,
                generation: page.generation(),
                hits: page.hits(),
                stored_at: page.stored_at(),
                equal_since,
                lifetime,
                is_purged: page.fresh_until() < lifetime.fresh_until,
            };
            if let Some(expected) = self.plan.inspect(&inspected, now) {
                self.waiting.push(WaitingPage { id, page, zone: Arc::clone(zone), expected });
            }
        }
    }
}

/// Refreshes a page, and waits until it is stored. Does nothing if a request of a visitor without cookies would not get
/// this page, if no TCP listener serves the URL, or if the page is being fetched already.
async fn refresh(site: &Rc<Generation>, page: &Page) {
    let meta = page.meta();
    let (marks, target) = (meta.marks(), meta.marks().target().to_vec());
    let secure = marks.subject().scheme == b"https";
    let question = ExplainedRequest { secure, port: marks.port(), ..ExplainedRequest::default() };
    let Some((listener, local, is_tls)) = running_listener_for(&site.runtime, &question) else { return };
    let is_forwarded = secure && !is_tls;
    let peer = if is_forwarded { trusted_proxy(&site.runtime) } else { SERVER_CLIENT };
    let connection =
        Connection::for_internal_request_of(peer, listener, local, is_tls.then(TlsFacts::typical));
    let mut host = marks.host().to_vec();
    if let Some(port) = marks.port() {
        host.extend_from_slice(format!(":{port}").as_bytes());
    }
    let Some(agent) = agent_of(page, &host) else { return };
    let mut fields = vec![(&b"Host"[..], &host[..]), (b"User-Agent", agent), (b"Accept-Encoding", b"gzip")];
    let client = SERVER_CLIENT.to_string();
    if is_forwarded {
        fields.extend([(&b"X-Forwarded-Proto"[..], &b"https"[..]), (b"X-Forwarded-For", client.as_bytes())]);
    }
    let mut head = RequestHead::from_parts(b"GET", &target, HttpVersion::Http11, fields);
    if head.normalize_host().is_err() {
        return;
    }
    let mut exchange = Exchange::begin(site, &mut head, &connection, RequestBody::empty());
    exchange.request.leave_errors_empty();
    exchange.request.cache.lookup.stored_only = true;
    exchange.request.cache.lookup.refreshed_ahead = Some(page.clone());
    if let PhaseDecision::Wait(pending) = phases::begin_internal(&mut exchange) {
        phases::wait(&mut exchange, pending).await;
    }
    if let Some(refresh) = exchange.request.cache.refresh.take() {
        // A panic in the fetch is reported by its own task.
        let _ = refresh.await;
    }
    exchange.recycle();
}

/// Returns the first address in `forwarded_scheme_from`, from which the scheme of a request is accepted (of a network,
/// its network address); 127.0.0.1 if there is none.
fn trusted_proxy(runtime: &Runtime) -> IpAddr {
    let network = runtime.forwarded.scheme_from.iter().find_map(|network| match network {
        Network::Cidr(address, _) => Some(*address),
        Network::All | Network::Unix => None,
    });
    network.unwrap_or(Ipv4Addr::LOCALHOST.into())
}

/// Returns the `User-Agent` of the first device class (desktop, phone, tablet) with which a request gets the variant of
/// the page; that of a desktop for a page without variants. `None` if the variant requires other fields.
fn agent_of(page: &Page, host: &[u8]) -> Option<&'static [u8]> {
    let classes = [DeviceClass::Desktop, DeviceClass::Mobile, DeviceClass::Tablet];
    let Some(selection) = page.selection() else { return Some(DeviceClass::Desktop.user_agent()) };
    classes.into_iter().map(DeviceClass::user_agent).find(|agent| {
        let fields = [(&b"Host"[..], host), (b"User-Agent", agent), (b"Accept-Encoding", b"gzip")];
        let head = RequestHead::from_parts(b"GET", b"/", HttpVersion::Http11, fields);
        let mut variant = Vec::new();
        write_variant(&selection.selector, head.fields(), &mut variant);
        *variant == *selection.variant
    })
}
