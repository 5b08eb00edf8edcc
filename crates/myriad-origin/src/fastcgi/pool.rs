//! Polling of php-fpm's status, independent of client requests: `origin_queue ... status=`.
//!
//! One worker polls each FastCGI server of a queue's zone, with a new connection for each poll. A poll only contains
//! configured values, no data of client requests.

use std::collections::HashSet;
use std::future::poll_fn;
use std::rc::{Rc, Weak};
use std::sync::{Arc, Weak as Shared};

use bytes::Bytes;
use myriad_access::origin_protection::origin_queue::{PoolWatch, WatchedLocation};
use myriad_conf::settings::NextUpstream;
use myriad_exchange::runtime::Generation;
use myriad_exchange::runtime::{OriginGroup, OriginTarget, PlaceId};
use myriad_http::Method;
use myriad_upstream::fastcgi_protocol::pool_status::MAX_BYTES;
use myriad_upstream::fastcgi_protocol::{Params, PoolStatus};
use myriad_upstream::{
    Affinity, Attempts, ErrorKind, HealthLogger, HttpPool, OriginRequest, ProbeTarget, Protocol,
    RequestPayload, Timeouts,
};

use super::place::FastCgiPlace;

/// Maximum size in bytes of the head of php-fpm's response to a status request.
const MAX_HEAD: usize = 4 << 10;

/// Starts polling php-fpm's status for all `origin_queue` zones with `status=` that no other worker polls. Calls
/// `log_health` when a status becomes unreadable, and when it is readable again.
pub(crate) fn begin(site: &Rc<Generation>, log_health: &HealthLogger) {
    let runtime = &site.runtime;
    let mut zones = HashSet::new();
    for place in 0..runtime.places.len() as PlaceId {
        let Some(status) = WatchedLocation::of(runtime.place(place)) else { continue };
        // The first location represents its zone, in all workers.
        if !zones.insert(status.zone().to_owned()) {
            continue;
        }
        if let Some(watch) = status.begin() {
            let groups = groups(site, status.zone());
            tokio::task::spawn_local(poll_zone(Rc::downgrade(site), groups, watch, Rc::clone(log_health)));
        }
    }
}

/// Returns the groups of FastCGI servers in the locations that use an `origin_queue` zone with `status=`, without
/// duplicates; locations whose target contains variables are ignored.
fn groups(site: &Generation, zone: &str) -> Vec<Shared<OriginGroup>> {
    let mut groups: Vec<&Arc<OriginGroup>> = Vec::new();
    for place in &site.runtime.places {
        if WatchedLocation::of(place).is_none_or(|status| status.zone() != zone) {
            continue;
        }
        let Some(origin) = place.handler.origin() else { continue };
        if let OriginTarget::Group(group) = &origin.target
            && origin.protocol_as::<FastCgiPlace>().is_some()
            && !groups.iter().any(|known| Arc::ptr_eq(known, group))
        {
            groups.push(group);
        }
    }
    groups.into_iter().map(Arc::downgrade).collect()
}

/// Polls the php-fpm pools of a zone's groups repeatedly until a newer configuration takes over or this one is no
/// longer used.
async fn poll_zone(
    site: Weak<Generation>,
    groups: Vec<Shared<OriginGroup>>,
    mut watch: PoolWatch,
    log_health: HealthLogger,
) {
    while !watch.is_replaced() {
        // The configuration and its groups are only referenced weakly between two polls, so that an old configuration
        // can be freed.
        let Some(pool) = site.upgrade().map(|site| HttpPool::of(site.worker.origins.clone())) else { return };
        let groups: Vec<_> = groups.iter().filter_map(Shared::upgrade).collect();
        let (found, ours) = poll_all(&groups, &pool, &watch).await;
        drop(groups);
        if let Some((is_good, line)) = watch.apply_status(found, ours) {
            log_health(is_good, &line);
        }
        tokio::time::sleep(watch.interval()).await;
    }
}

/// Requests the status of each php-fpm pool and records it at its peer. Returns the status by address, and the number
/// of children that requests and idle connections of this server may occupy meanwhile. A server is omitted if
/// connecting to it fails, other than by a timeout. The result is an error if no server is left, and if any other
/// server has no valid status.
async fn poll_all(
    groups: &[Arc<OriginGroup>],
    pool: &HttpPool,
    watch: &PoolWatch,
) -> (Result<Vec<(String, PoolStatus)>, String>, u32) {
    let (mut asked, mut addresses, mut kept) = (Vec::new(), HashSet::new(), 0);
    let before = watch.active();
    for group in groups {
        for peer in group.group.probe_targets() {
            let address = peer.address().to_string();
            // Several groups may contain the same server.
            if addresses.insert(address.clone()) {
                kept += peer.idle_fastcgi();
                let (group, pool) = (Arc::clone(group), pool.clone());
                let (request, slowest) = (request(watch), watch.timeout());
                asked.push((
                    address,
                    tokio::task::spawn_local(async move {
                        let answer =
                            tokio::time::timeout(slowest, poll_one(&group, &peer, &pool, request)).await;
                        let status = answer.unwrap_or_else(|_| {
                            Err(StatusFailure::Invalid("the status request timed out".to_owned()))
                        });
                        peer.note_pool(status.as_ref().ok().copied());
                        status
                    }),
                ));
            }
        }
    }
    let (mut statuses, mut wrong, mut gone) = (Vec::new(), None, None);
    for (address, task) in asked {
        match task.await {
            Ok(Ok(status)) => statuses.push((address, status)),
            Ok(Err(StatusFailure::Unreachable(why))) => gone = Some(why),
            Ok(Err(StatusFailure::Invalid(why))) => wrong = Some(format!("{address}: {why}")),
            Err(_) => wrong = Some(format!("{address}: the status request was cancelled")),
        }
    }
    // Requests that started or finished meanwhile are included, so that they are never attributed to other clients of
    // the pool.
    let ours = before.max(watch.active()).saturating_add(u32::try_from(kept).unwrap_or(u32::MAX));
    let found = match (wrong, gone) {
        (Some(why), _) => Err(why),
        (None, Some(why)) if statuses.is_empty() => Err(why),
        _ => Ok(statuses),
    };
    (found, ours)
}

/// Reason why a poll returned no php-fpm status.
enum StatusFailure {
    /// Connecting failed, other than by a timeout.
    Unreachable(String),
    /// Any other failure: the worker has no free connection, or the response is invalid, incomplete or has not arrived
    /// in time.
    Invalid(String),
}

async fn poll_one(
    group: &OriginGroup,
    peer: &ProbeTarget,
    pool: &HttpPool,
    request: OriginRequest,
) -> Result<PoolStatus, StatusFailure> {
    let response = group.group.probe(peer, pool, request).await.map_err(|error| match error.kind() {
        ErrorKind::Connect => StatusFailure::Unreachable(error.to_string()),
        _ => StatusFailure::Invalid(error.to_string()),
    })?;
    if response.head.status != 200 {
        return Err(StatusFailure::Invalid(format!("it responded with status {}", response.head.status)));
    }
    let (mut body, mut text) = (response.body, Vec::new());
    // A response longer than the limit is detected by reading beyond it.
    while text.len() <= MAX_BYTES {
        match poll_fn(|cx| body.as_mut().poll_data(cx)).await {
            None => break,
            Some(Ok(piece)) => text.extend_from_slice(&piece),
            Some(Err(error)) => return Err(StatusFailure::Invalid(error.to_string())),
        }
    }
    PoolStatus::parse(&text).map_err(|error| StatusFailure::Invalid(error.to_string()))
}

/// Builds a request for php-fpm's status page, which php-fpm recognizes by its script name.
fn request(watch: &PoolWatch) -> OriginRequest {
    let mut params = Params::with_capacity(256);
    for (name, value) in [
        ("REQUEST_METHOD", &b"GET"[..]),
        ("SERVER_PROTOCOL", b"HTTP/1.1"),
        ("SCRIPT_NAME", watch.path()),
        ("SCRIPT_FILENAME", watch.path()),
        ("REQUEST_URI", watch.path()),
        ("QUERY_STRING", b"json"),
    ] {
        params.push(name.as_bytes(), value);
    }
    // Timeouts of the steps; `poll_all` limits the whole poll.
    let longest_ms = 2 * watch.timeout().as_millis() as u64;
    OriginRequest {
        protocol: Protocol::FastCgi { params: Bytes::from(params.into_bytes()), keep_conn: false },
        method: Method::Get,
        body: RequestPayload::Empty,
        timeouts: Timeouts { connect_ms: longest_ms, send_ms: longest_ms, read_ms: longest_ms },
        retry: NextUpstream::default(),
        max_head: MAX_HEAD,
        affinity: Affinity::None,
        sid: None,
        bind: None,
        tls: None,
        queues: false,
        observer: None,
        attempts: Attempts::new(),
    }
}
