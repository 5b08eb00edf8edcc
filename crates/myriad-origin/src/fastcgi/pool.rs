//! php-fpm asked for its own status, beside requests: `origin_queue ... status=`.
//!
//! One worker asks, each server of the zone's places by a connection of its own. What is asked is the configuration's alone: nothing of a
//! request goes with it.

use std::collections::HashSet;
use std::future::poll_fn;
use std::rc::{Rc, Weak};
use std::sync::{Arc, Weak as Shared};

use bytes::Bytes;
use myriad_conf::settings::NextUpstream;
use myriad_exchange::runtime::{OriginGroup, PlaceId, Target};
use myriad_exchange::worker::Generation;
use myriad_fastcgi::pool_status::MOST_BYTES;
use myriad_fastcgi::{Params, PoolStatus};
use myriad_http::Method;
use myriad_shield::origin_queue::{StatusPlace, Watch};
use myriad_upstream::{
    Affinity, Attempts, ErrorKind, HttpPool, OriginRequest, Probed, Protocol, RequestPayload, TellHealth,
    Timeouts,
};

use super::place::FastCgiPlace;

/// Most bytes of the head that stands before the status.
const MOST_HEAD: usize = 4 << 10;

/// Has the pools of all zones asked that say so, those of which no other worker does so; `tell` is told when a status cannot be read, and
/// when it can again.
pub(crate) fn begin(site: &Rc<Generation>, tell: &TellHealth) {
    let runtime = &site.runtime;
    let mut zones = HashSet::new();
    for place in 0..runtime.places.len() as PlaceId {
        let Some(status) = StatusPlace::of(runtime.place(place)) else { continue };
        // Its first place stands for a zone, in all workers.
        if !zones.insert(status.zone().to_owned()) {
            continue;
        }
        if let Some(watch) = status.begin() {
            let groups = groups(site, status.zone());
            tokio::task::spawn_local(follow(Rc::downgrade(site), groups, watch, Rc::clone(tell)));
        }
    }
}

/// The groups that places of a zone ask by FastCGI, each once.
fn groups(site: &Generation, zone: &str) -> Vec<Shared<OriginGroup>> {
    let mut groups: Vec<&Arc<OriginGroup>> = Vec::new();
    for place in &site.runtime.places {
        if StatusPlace::of(place).is_none_or(|status| status.zone() != zone) {
            continue;
        }
        let Some(origin) = place.handler.origin() else { continue };
        if let Target::Group(group) = &origin.target
            && origin.spoken::<FastCgiPlace>().is_some()
            && !groups.iter().any(|known| Arc::ptr_eq(known, group))
        {
            groups.push(group);
        }
    }
    groups.into_iter().map(Arc::downgrade).collect()
}

/// Asks again and again, until a newer configuration does.
async fn follow(
    site: Weak<Generation>,
    groups: Vec<Shared<OriginGroup>>,
    mut watch: Watch,
    tell: TellHealth,
) {
    while !watch.is_over() {
        // Held weakly between two questions: they keep no former configuration alive.
        let Some(pool) = site.upgrade().map(|site| HttpPool::of(site.worker.origins.clone())) else { return };
        let groups: Vec<_> = groups.iter().filter_map(Shared::upgrade).collect();
        let (found, ours) = all(&groups, &pool, &watch).await;
        drop(groups);
        if let Some((is_good, line)) = watch.note(found, ours) {
            tell(is_good, &line);
        }
        tokio::time::sleep(watch.interval()).await;
    }
}

/// What all pools say, and how many requests of ours were with them meanwhile. Servers that nothing listens at have no children; any
/// other that does not say how it is makes an error.
async fn all(
    groups: &[Arc<OriginGroup>],
    pool: &HttpPool,
    watch: &Watch,
) -> (Result<Vec<(String, PoolStatus)>, String>, u32) {
    let (mut asked, mut addresses, mut kept) = (Vec::new(), HashSet::new(), 0);
    let before = watch.active();
    for group in groups {
        for peer in group.group.probed() {
            let address = peer.address().to_string();
            // Groups may share a server.
            if addresses.insert(address.clone()) {
                kept += peer.idle_fastcgi();
                let (group, pool) = (Arc::clone(group), pool.clone());
                let (request, slowest) = (request(watch), watch.slowest());
                asked.push((
                    address,
                    tokio::task::spawn_local(async move {
                        let answer = tokio::time::timeout(slowest, one(&group, &peer, &pool, request)).await;
                        let said =
                            answer.unwrap_or_else(|_| Err(Unsaid::Wrong("it takes too long".to_owned())));
                        peer.note_pool(said.as_ref().ok().copied());
                        said
                    }),
                ));
            }
        }
    }
    let (mut said, mut wrong, mut gone) = (Vec::new(), None, None);
    for (address, task) in asked {
        match task.await {
            Ok(Ok(status)) => said.push((address, status)),
            Ok(Err(Unsaid::NobodyThere(why))) => gone = Some(why),
            Ok(Err(Unsaid::Wrong(why))) => wrong = Some(format!("{address}: {why}")),
            Err(_) => wrong = Some(format!("{address}: the question has broken off")),
        }
    }
    // What came and went meanwhile is taken for ours: it is never counted as somebody else's.
    let ours = before.max(watch.active()).saturating_add(u32::try_from(kept).unwrap_or(u32::MAX));
    let found = match (wrong, gone) {
        (Some(why), _) => Err(why),
        (None, Some(why)) if said.is_empty() => Err(why),
        _ => Ok(said),
    };
    (found, ours)
}

/// Why a pool has not said how it is.
enum Unsaid {
    /// Nothing listens there.
    NobodyThere(String),
    /// It has said something else, or nothing.
    Wrong(String),
}

async fn one(
    group: &OriginGroup,
    peer: &Probed,
    pool: &HttpPool,
    request: OriginRequest,
) -> Result<PoolStatus, Unsaid> {
    let response = group.group.probe(peer, pool, request).await.map_err(|error| match error.kind() {
        ErrorKind::Connect => Unsaid::NobodyThere(error.to_string()),
        _ => Unsaid::Wrong(error.to_string()),
    })?;
    if response.head.status != 200 {
        return Err(Unsaid::Wrong(format!("it has answered with status {}", response.head.status)));
    }
    let (mut body, mut text) = (response.body, Vec::new());
    // One byte more shows that it is too long.
    while text.len() <= MOST_BYTES {
        match poll_fn(|cx| body.as_mut().poll_data(cx)).await {
            None => break,
            Some(Ok(piece)) => text.extend_from_slice(&piece),
            Some(Err(error)) => return Err(Unsaid::Wrong(error.to_string())),
        }
    }
    PoolStatus::parse(&text).map_err(|error| Unsaid::Wrong(error.to_string()))
}

/// A request for the status, as php-fpm takes it for one: the script is its path.
fn request(watch: &Watch) -> OriginRequest {
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
    // Whoever asks waits no longer than that for all of it.
    let longest_ms = 2 * watch.slowest().as_millis() as u64;
    OriginRequest {
        protocol: Protocol::FastCgi { params: Bytes::from(params.into_bytes()), keep_conn: false },
        method: Method::Get,
        body: RequestPayload::Empty,
        timeouts: Timeouts { connect_ms: longest_ms, send_ms: longest_ms, read_ms: longest_ms },
        retry: NextUpstream::default(),
        max_head: MOST_HEAD,
        affinity: Affinity::None,
        sid: None,
        bind: None,
        tls: None,
        queues: false,
        observer: None,
        attempts: Attempts::new(),
    }
}
