//! Pages that the nodes of the cluster fetch for each other, through Valkey.
//!
//! A node that needs a page reads it from Valkey. If it is not there, the node acquires the page's lease, fetches the page
//! and stores it in Valkey. Other nodes that need the page meanwhile wait for a notification that the lease is released.
//! [`PageGate`] decides whether a stored page may be used. Without a connection, each node fetches its pages itself.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use bytes::Bytes;
use myriad_cluster::gate::PageGate;
use myriad_cluster::node::PageRule;
use myriad_cluster::record::{ClusterSecret, LogPosition, PageRecord, RecordTag};
use myriad_encode::{Coding, CompressionLevel, StreamDecoder, compress};
use myriad_log::{ErrorLog, LogLevel};
use myriad_net::clock::now_ms;
use myriad_policy::Tags;
use myriad_store::Persist;
use myriad_store::page::{
    AnnouncedPurge, ClusterPage, ClusterPageFuture, ClusterPageRequest, ClusterPageResult, ClusterPages,
    MAX_CLUSTER_BODY, Page, PageLease, PageMeta,
};
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::{Notify, oneshot};
use tokio::task::AbortHandle;

use super::input::clock_ms;
use super::link_error::LinkError;
use super::page_commands::{FindReply, PageConnection, PageNames};

/// Length of a body from which it is stored compressed, in bytes.
const MIN_COMPRESSED: usize = 1024;
/// Duration of a lease. The lease of a fetch in progress is renewed.
pub(super) const LEASE: Duration = Duration::from_secs(2);
/// Time after the expiry of a lease at which it is requested again.
const LEASE_GRACE: Duration = Duration::from_millis(10);
/// Interval at which a lease is renewed.
const RENEWAL: Duration = Duration::from_millis(500);
/// Time without a refused page after which the next one is logged, in milliseconds.
const LOG_INTERVAL_MS: u64 = 10_000;
/// Time for which no page is searched after a failed command.
const PAUSE: Duration = Duration::from_secs(1);

/// Pages of the cluster. They outlive the connection and the node, which a reload may replace.
#[derive(Default)]
pub(super) struct SharedPages {
    state: Mutex<PagesState>,
    counters: PageCounters,
    /// Number of the last token of a lease.
    last_token: AtomicU64,
    has_logged_failure: AtomicBool,
    /// Time of the last refused page; 0 before the first one. Refusals in quick succession are logged once.
    refusal_logged_at: AtomicU64,
}

#[derive(Default)]
struct PagesState {
    link: Option<PageLink>,
    gates: HashMap<String, PageGate>,
    rule: PageRule,
    /// True if the node stops: no page is exchanged, because purges are in effect that are not sent.
    is_closed: bool,
    /// Senders of the requests that wait for the release of a lease, by the name of the page.
    waiting: HashMap<String, Vec<oneshot::Sender<bool>>>,
    /// No page is searched before this time, because a command has failed.
    paused_until: Option<Instant>,
}

/// Connection to Valkey, with what is needed to use it.
#[derive(Clone)]
pub(super) struct PageLink {
    pub connection: PageConnection,
    pub secret: ClusterSecret,
    /// Text that identifies this process in tokens of leases.
    pub owner: String,
    /// Runtime of the connection.
    pub runtime: Handle,
    pub log: ErrorLog,
    /// Notified when a command finds that the connection is lost.
    pub lost: Arc<Notify>,
}

#[derive(Default)]
struct PageCounters {
    used: AtomicU64,
    stored: AtomicU64,
    fetched: AtomicU64,
    waits: AtomicU64,
    outdated: AtomicU64,
    refused: AtomicU64,
    failed: AtomicU64,
}

impl SharedPages {
    /// Uses a connection from now on.
    pub(super) fn set_link(&self, link: PageLink) {
        let mut state = self.state.lock();
        state.link = Some(link);
        state.paused_until = None;
    }

    /// Does not use the connection of this owner any more ([`PageLink::owner`]), if it is in use.
    pub(super) fn clear_link(&self, owner: &str) {
        let mut state = self.state.lock();
        if state.link.take_if(|link| link.owner == owner).is_some() {
            // Without notifications, waiting requests would only continue when the lease expires.
            state.waiting.clear();
        }
    }

    /// Changes the rule for pages of other nodes ([`PageGate::set_rule`]).
    pub(super) fn set_rule(&self, rule: PageRule, passed: &[RecordTag]) {
        let mut state = self.state.lock();
        if state.is_closed {
            return;
        }
        state.rule = rule;
        state.gates.values_mut().for_each(|gate| gate.set_rule(rule, passed));
    }

    /// Announces a purge that was requested on this node, before it is in effect.
    pub(super) fn announce(self: &Arc<Self>, zone: &str, labels: Option<&[u64]>) -> AnnouncedPurge {
        self.state.lock().gate(zone).begin_own_purge(labels);
        self.announcement(zone)
    }

    fn announcement(self: &Arc<Self>, zone: &str) -> AnnouncedPurge {
        let (pages, zone) = (Arc::clone(self), zone.to_owned());
        AnnouncedPurge::new(move || pages.state.lock().gate(&zone).end_own_purge())
    }

    /// Notes a purge of another node, before it is in effect. `labels` is `None` if it may cover any page of the zone.
    pub(super) fn note_purge(&self, zone: &str, labels: Option<&[u64]>) {
        self.state.lock().gate(zone).note_purge(labels);
    }

    /// Announces that purges may have been executed in a zone while it did not belong to the cluster.
    pub(super) fn announce_gap(self: &Arc<Self>, zone: &str) -> AnnouncedPurge {
        self.state.lock().gate(zone).begin_gap();
        self.announcement(zone)
    }

    /// Prepares the exchange of pages by another node: forgets the positions of an earlier one.
    pub(super) fn open(&self) {
        self.forget_positions(false);
    }

    /// Exchanges no pages until [`Self::open`]. To be called before purges are refused.
    pub(super) fn close(&self) {
        self.forget_positions(true);
    }

    fn forget_positions(&self, is_closed: bool) {
        let mut state = self.state.lock();
        state.is_closed = is_closed;
        state.rule = PageRule::default();
        state.gates.values_mut().for_each(PageGate::forget_positions);
    }

    /// Wakes the requests that wait for the page with this name. `is_stored` is true if the page was stored.
    pub(super) fn wake(&self, name: &str, is_stored: bool) {
        for sender in self.state.lock().waiting.remove(name).into_iter().flatten() {
            // Fails if the request no longer waits.
            let _ = sender.send(is_stored);
        }
    }

    /// Returns the state of the exchange for administrators: `active`, `suspended` or `unavailable`.
    pub(super) fn state(&self) -> &'static str {
        let state = self.state.lock();
        let is_paused = state.paused_until.is_some_and(|until| Instant::now() < until);
        let is_usable = state.rule.position.is_some() && clock_ms() <= state.rule.usable_until;
        match (state.link.is_some() && !is_paused, is_usable) {
            (false, _) => "unavailable",
            (true, false) => "suspended",
            (true, true) => "active",
        }
    }

    /// Returns the names and values of the counters.
    pub(super) fn counters(&self) -> [(&'static str, u64); 7] {
        let counters = &self.counters;
        [
            ("pages_used", &counters.used),
            ("pages_stored", &counters.stored),
            ("pages_fetched", &counters.fetched),
            ("page_waits", &counters.waits),
            ("pages_outdated", &counters.outdated),
            ("pages_refused", &counters.refused),
            ("page_failures", &counters.failed),
        ]
        .map(|(name, counter)| (name, counter.load(Relaxed)))
    }

    fn link(&self) -> Option<PageLink> {
        let state = self.state.lock();
        let is_paused = state.paused_until.is_some_and(|until| Instant::now() < until);
        state.link.clone().filter(|_| !is_paused)
    }

    fn position(&self, zone: &str) -> Option<LogPosition> {
        self.state.lock().gate(zone).position(clock_ms())
    }

    fn wait_for<'a>(&'a self, name: &'a str) -> LeaseWait<'a> {
        let (sender, released) = oneshot::channel();
        self.state.lock().waiting.entry(name.to_owned()).or_default().push(sender);
        LeaseWait { pages: self, name, released }
    }

    /// Notes that a command or connection has failed: no page is searched for [`PAUSE`].
    pub(super) fn note_failure(&self, log: &ErrorLog, error: &LinkError) {
        self.counters.failed.fetch_add(1, Relaxed);
        self.state.lock().paused_until = Some(Instant::now() + PAUSE);
        if !self.has_logged_failure.swap(true, Relaxed) {
            let why = &error.why;
            let text = format_args!(
                "cluster: pages cannot be exchanged ({why}); this node fetches its pages itself until it is possible. If Valkey refuses a \
                 command, permit those that docs/cluster.md lists, or write \"pages off;\" in \"cluster\""
            );
            log.write(LogLevel::Error, None, text);
        }
    }

    fn note_success(&self, log: &ErrorLog) {
        if self.has_logged_failure.load(Relaxed) && self.has_logged_failure.swap(false, Relaxed) {
            log.write(LogLevel::Notice, None, format_args!("cluster: pages are exchanged again"));
        }
    }

    /// Searches until a page is found, this node has the lease, or the time of the request has passed.
    async fn search(
        self: Arc<Self>,
        link: PageLink,
        request: ClusterPageRequest,
    ) -> Result<ClusterPageResult, LinkError> {
        let name = PageRecord::name(&link.secret, &request.zone, &request.key);
        let names = link.connection.names(&name);
        let token = format!("{}-{}", link.owner, self.last_token.fetch_add(1, Relaxed));
        let deadline = Instant::now() + request.max_wait;
        let mut is_page_usable = true;
        loop {
            let mut wait = self.wait_for(&name);
            match link.connection.find(&names, &token, LEASE, is_page_usable).await? {
                FindReply::Page { record, remaining_ms } => {
                    if let Some(page) = self.accept(&link, &request, &record, remaining_ms) {
                        self.counters.used.fetch_add(1, Relaxed);
                        return Ok(ClusterPageResult::Found(Box::new(page)));
                    }
                    is_page_usable = false;
                }
                FindReply::Acquired => {
                    self.counters.fetched.fetch_add(1, Relaxed);
                    let lease = LeaseOfPage::new(Arc::clone(&self), link, &request, names, token);
                    return Ok(ClusterPageResult::Fetch(Some(Box::new(lease))));
                }
                FindReply::Leased { remaining_ms } => {
                    let left = deadline.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return Ok(ClusterPageResult::Fetch(None));
                    }
                    self.counters.waits.fetch_add(1, Relaxed);
                    // The lease of a node that has crashed expires without a notification.
                    let limit = left.min(Duration::from_millis(remaining_ms) + LEASE_GRACE);
                    let released = tokio::time::timeout(limit, &mut wait.released).await;
                    if matches!(released, Ok(Ok(false))) {
                        // The response was not stored, so a response to this request probably is not, either.
                        return Ok(ClusterPageResult::Fetch(None));
                    }
                    is_page_usable = true;
                }
            }
        }
    }

    /// Returns the page of a record if this node may use it.
    fn accept(
        &self,
        link: &PageLink,
        request: &ClusterPageRequest,
        bytes: &[u8],
        remaining_ms: u64,
    ) -> Option<ClusterPage> {
        let record = match PageRecord::decode(&link.secret, &request.zone, &request.key, bytes) {
            Ok(record) => record,
            Err(error) => {
                self.counters.refused.fetch_add(1, Relaxed);
                let last = self.refusal_logged_at.swap(clock_ms(), Relaxed);
                if last == 0 || clock_ms().saturating_sub(last) > LOG_INTERVAL_MS {
                    let zone = &request.zone;
                    let text =
                        format_args!("cluster: a page of zone \"{zone}\" in Valkey is refused ({error})");
                    link.log.write(LogLevel::Error, None, text);
                }
                return None;
            }
        };
        // A longer lifetime than that of the record was set by another client.
        if record.format != PageMeta::VERSION || remaining_ms > record.lifetime_ms {
            return None;
        }
        // The clocks of two machines are not compared: Valkey counts the lifetime of the record.
        let now = now_ms();
        let written_at = now.saturating_sub(record.lifetime_ms.saturating_sub(remaining_ms));
        let shift = written_at.cast_signed().wrapping_sub(record.written_at.cast_signed());
        let stored_at = record.stored_at.saturating_add_signed(shift);
        let meta = PageMeta::decode(record.meta)?.shifted(shift);
        let mut labels = vec![Tags::label(&request.key)];
        meta.view().marks().labels(&mut |label| labels.push(label));
        let is_admitted = self.state.lock().gate(&request.zone).admits(record.position, &labels, clock_ms());
        if !is_admitted || stored_at <= request.newer_than || meta.view().lifetime().fresh_until <= now {
            self.counters.outdated.fetch_add(1, Relaxed);
            return None;
        }
        let body = if record.is_compressed {
            decompress(record.body, record.body_len)?
        } else {
            Bytes::copy_from_slice(record.body)
        };
        Some(ClusterPage { meta, body, stored_at })
    }
}

impl PagesState {
    fn gate(&mut self, zone: &str) -> &mut PageGate {
        if !self.gates.contains_key(zone) {
            let mut gate = PageGate::default();
            gate.set_rule(PageRule { is_complete: false, ..self.rule }, &[]);
            self.gates.insert(zone.to_owned(), gate);
        }
        self.gates.get_mut(zone).unwrap_or_else(|| unreachable!("it was inserted"))
    }
}

/// Decompresses a body; `None` if it is invalid or has another length.
fn decompress(bytes: &[u8], length: u64) -> Option<Bytes> {
    if length > MAX_CLUSTER_BODY {
        return None;
    }
    let mut decoder = StreamDecoder::new(Coding::Zstd, length).ok()?;
    let mut out = Vec::with_capacity(length as usize);
    decoder.push(bytes, &mut out).ok()?;
    decoder.finish().ok()?;
    (out.len() as u64 == length).then(|| Bytes::from(out.into_boxed_slice()))
}

/// Wait for the release of a lease.
struct LeaseWait<'a> {
    pages: &'a SharedPages,
    name: &'a str,
    released: oneshot::Receiver<bool>,
}

impl Drop for LeaseWait<'_> {
    fn drop(&mut self) {
        self.released.close();
        let waiting = &mut self.pages.state.lock().waiting;
        if let Some(senders) = waiting.get_mut(self.name) {
            senders.retain(|sender| !sender.is_closed());
            if senders.is_empty() {
                waiting.remove(self.name);
            }
        }
    }
}

impl ClusterPages for SharedPages {
    fn find(self: Arc<Self>, request: ClusterPageRequest) -> ClusterPageFuture {
        let pages = self;
        Box::pin(async move {
            let Some(link) = pages.link() else { return ClusterPageResult::Fetch(None) };
            if pages.position(&request.zone).is_none() {
                return ClusterPageResult::Fetch(None);
            }
            let (log, lost) = (link.log.clone(), Arc::clone(&link.lost));
            match Arc::clone(&pages).search(link, request).await {
                Ok(result) => {
                    pages.note_success(&log);
                    result
                }
                Err(error) => {
                    pages.note_failure(&log, &error);
                    if error.is_connection_lost {
                        lost.notify_one();
                    }
                    ClusterPageResult::Fetch(None)
                }
            }
        })
    }
}

/// Lease of a page, renewed until it is dropped.
struct LeaseOfPage {
    pages: Arc<SharedPages>,
    link: PageLink,
    zone: String,
    key: Vec<u8>,
    /// Position when the fetch began; `None` if the page is not stored for other nodes.
    position: Option<LogPosition>,
    names: PageNames,
    token: String,
    renewal: AbortHandle,
    is_stored: bool,
}

impl LeaseOfPage {
    fn new(
        pages: Arc<SharedPages>,
        link: PageLink,
        request: &ClusterPageRequest,
        names: PageNames,
        token: String,
    ) -> Self {
        let position = pages.position(&request.zone);
        let (connection, renewed, renewed_token) = (link.connection.clone(), names.clone(), token.clone());
        let renewal = link.runtime.spawn(async move {
            loop {
                tokio::time::sleep(RENEWAL).await;
                // If it fails, the lease expires, and another node may fetch the page.
                let _ = connection.renew(&renewed, &renewed_token, LEASE).await;
            }
        });
        Self {
            pages,
            link,
            zone: request.zone.clone(),
            key: request.key.clone(),
            position,
            names,
            token,
            renewal: renewal.abort_handle(),
            is_stored: false,
        }
    }

    /// Returns a function that encodes the record of a page and returns its lifetime in Valkey, too; `None` if other nodes
    /// cannot use the page.
    fn record_of(&self, page: &Page) -> Option<impl FnOnce() -> (Vec<u8>, Duration) + Send + use<>> {
        let is_usable = page.selection().is_none()
            && page.stored_body().is_none()
            && page.body_len() <= MAX_CLUSTER_BODY
            && page.is_fresh(now_ms());
        let position = self.position.filter(|_| is_usable)?;
        let (page, secret) = (page.clone(), self.link.secret.clone());
        let (zone, key) = (self.zone.clone(), self.key.clone());
        let encode = move || {
            let mut meta = Vec::new();
            PageMeta::encode(page.meta(), &mut meta);
            let whole = page.body().segments().concat();
            let compressed = (whole.len() >= MIN_COMPRESSED)
                .then(|| compress(Coding::Zstd, CompressionLevel::Fast, &whole).ok())
                .flatten()
                .filter(|compressed| compressed.len() < whole.len());
            let now = now_ms();
            let lifetime_ms = page.fresh_until().saturating_sub(now).max(1);
            let record = PageRecord {
                position,
                written_at: now,
                stored_at: page.stored_at(),
                lifetime_ms,
                format: PageMeta::VERSION,
                meta: &meta,
                body_len: whole.len() as u64,
                is_compressed: compressed.is_some(),
                body: compressed.as_deref().unwrap_or(&whole),
            };
            (record.encode(&secret, &zone, &key), Duration::from_millis(lifetime_ms))
        };
        Some(encode)
    }
}

impl PageLease for LeaseOfPage {
    fn store(mut self: Box<Self>, page: &Page) {
        let Some(encode) = self.record_of(page) else { return };
        self.is_stored = true;
        let runtime = self.link.runtime.clone();
        runtime.spawn(async move {
            let stored = match tokio::task::spawn_blocking(encode).await {
                Ok((record, lifetime)) => {
                    self.link.connection.store(&self.names, &self.token, &record, lifetime).await
                }
                Err(_) => Ok(false),
            };
            match stored {
                Ok(true) => drop(self.pages.counters.stored.fetch_add(1, Relaxed)),
                // The lease has expired: another node may be fetching the page.
                Ok(false) => {}
                Err(error) => {
                    self.pages.note_failure(&self.link.log, &error);
                    // Dropping it releases the lease.
                    self.is_stored = false;
                }
            }
        });
    }
}

impl Drop for LeaseOfPage {
    fn drop(&mut self) {
        self.renewal.abort();
        if !self.is_stored {
            let (connection, names, token) =
                (self.link.connection.clone(), self.names.clone(), std::mem::take(&mut self.token));
            // If it fails, the lease expires.
            self.link.runtime.spawn(async move { drop(connection.release(&names, &token).await) });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compressed_body_of_another_length_is_refused() {
        let body = b"body of a page ".repeat(1000);
        let packed = compress(Coding::Zstd, CompressionLevel::Fast, &body).expect("compressed");
        let length = body.len() as u64;
        assert_eq!(decompress(&packed, length).as_deref(), Some(&body[..]));
        for (bytes, length) in [(&packed[..], length + 1), (&packed[..], 10), (&packed[..20], length)] {
            assert_eq!(decompress(bytes, length), None);
        }
        assert_eq!(decompress(&packed, MAX_CLUSTER_BODY + 1), None);
    }
}
