//! Execution of health checks.

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::time::Duration;

use myriad_exchange::exchange::{Exchange, FetchPurpose};
use myriad_exchange::runtime::Generation;
use myriad_exchange::runtime::{OriginGroup, OriginPlace, OriginTarget, PlaceId, ServerId};
use myriad_http::{HttpVersion, RequestHead};
use myriad_net::{Connection, RequestBody};
use myriad_upstream::{
    Attempts, CheckRules, HealthLogger, HttpPool, OriginRequest, Probe, ProbeResult, ProbeTarget,
    RequestPayload,
};
use tokio::time::Instant;

use super::compile::HealthCheckPlace;
use super::grpc::GrpcRule;
use crate::{bind, build_request};

/// Maximum number of bytes of a health check's response body that are evaluated, as in nginx.
const MAX_BODY: usize = 256 << 10;

/// Starts the configured checks of all groups that no other worker checks. Calls `log_health` on changes of health.
/// Results of checks that are no longer configured are discarded.
pub fn begin(site: &Rc<Generation>, log_health: &HealthLogger) {
    let planned: Vec<_> =
        (0..site.runtime.places.len() as PlaceId).filter_map(|place| checked_group(site, place)).collect();
    for group in site.runtime.groups.values() {
        let own: Vec<_> = planned.iter().filter(|(asked, _)| Arc::ptr_eq(asked, group)).collect();
        let mut rules: Vec<CheckRules> = Vec::with_capacity(own.len());
        for (_, place) in &own {
            let Some(check) = check_of(site, *place) else { continue };
            // Two locations may have equal checks: a number distinguishes their names.
            let same = rules.iter().filter(|other| other.name.starts_with(&check.rules.name)).count();
            let name = format!("{}#{same}", check.rules.name);
            rules.push(CheckRules { name, ..check.rules.clone() });
        }
        if !group.group.begin_checks(&rules) {
            continue;
        }
        for (rules, (_, place)) in rules.into_iter().zip(own) {
            let probe =
                HttpProbe { site: Rc::downgrade(site), place: *place, idle_pools: RefCell::default() };
            group.group.check(rules, Rc::new(probe), log_health);
        }
    }
}

fn check_of(site: &Generation, place: PlaceId) -> Option<&HealthCheckPlace> {
    site.runtime.place(place).features.get()
}

/// Returns the group that the check of a location refers to; `None` if the location has no check or no fixed group.
fn checked_group(site: &Generation, place: PlaceId) -> Option<(Arc<OriginGroup>, PlaceId)> {
    check_of(site, place)?;
    match &site.runtime.place(place).handler.origin()?.target {
        OriginTarget::Group(group) => Some((Arc::clone(group), place)),
        OriginTarget::Variable(_) => None,
    }
}

/// Probe of a location's health check, run by one worker.
struct HttpProbe {
    /// Weak reference, so that an old configuration can be freed.
    site: Weak<Generation>,
    place: PlaceId,
    /// Connection pools with a reusable connection (`keepalive_time`), by peer address, each with the time when it is
    /// dropped.
    idle_pools: RefCell<Vec<(String, HttpPool, Instant)>>,
}

impl Probe for HttpProbe {
    fn run<'a>(&'a self, peer: &'a ProbeTarget) -> Pin<Box<dyn Future<Output = ProbeResult> + 'a>> {
        Box::pin(async move {
            let Some(site) = self.site.upgrade() else { return ProbeResult::Obsolete };
            let Some((group, _)) = checked_group(&site, self.place) else { return ProbeResult::Obsolete };
            let Some(check) = check_of(&site, self.place) else { return ProbeResult::Obsolete };
            let Some(origin) = site.runtime.place(self.place).handler.origin() else {
                return ProbeResult::Obsolete;
            };
            let mut exchange = exchange(&site, self.place, check, &group);
            let request = match request(&mut exchange, origin, check) {
                Ok(request) => request,
                Err(why) => return ProbeResult::Failed(why),
            };
            let pool = self.pool(&site, check, peer);
            let times = &origin.fetch.timeouts;
            let longest = times.connect_ms.saturating_add(times.send_ms).saturating_add(times.read_ms);
            let asked = send_probe(&mut exchange, (&group, check), peer, (&pool, request));
            let found = tokio::time::timeout(Duration::from_millis(longest), asked).await;
            found.unwrap_or_else(|_| ProbeResult::Failed("it did not respond in time".to_owned()))
        })
    }
}

impl HttpProbe {
    /// Returns the connection pool for checks of a peer, which client requests do not use: the previous one for
    /// `keepalive_time` after its creation, otherwise a new one.
    fn pool(&self, site: &Generation, check: &HealthCheckPlace, peer: &ProbeTarget) -> HttpPool {
        let fresh = || HttpPool::of(site.worker.origins.clone());
        if check.keepalive_ms == 0 {
            return fresh();
        }
        let (now, address) = (Instant::now(), peer.address().to_string());
        let mut idle_pools = self.idle_pools.borrow_mut();
        idle_pools.retain(|(_, _, until)| *until > now);
        if let Some((_, pool, _)) = idle_pools.iter().find(|(known, ..)| *known == address) {
            return pool.clone();
        }
        let pool = fresh();
        idle_pools.push((address, pool.clone(), now + Duration::from_millis(check.keepalive_ms)));
        pool
    }
}

/// Creates the request that a check sends, as if it had arrived at the location.
fn exchange(
    site: &Rc<Generation>,
    place: PlaceId,
    check: &HealthCheckPlace,
    group: &OriginGroup,
) -> Box<Exchange> {
    let host = check.host.as_deref().unwrap_or_else(|| group.group.name());
    let target =
        if check.args.is_empty() { check.uri.to_vec() } else { [&check.uri[..], b"?", &check.args].concat() };
    let own = [(&b"Host"[..], host.as_bytes()), (b"Content-Type", b"application/grpc"), (b"TE", b"trailers")];
    let (method, fields): (&[u8], _) =
        if check.grpc.is_some() { (b"POST", &own[..]) } else { (b"GET", &own[..1]) };
    let mut head = RequestHead::from_parts(method, &target, HttpVersion::Http11, fields.iter().copied());
    // An invalid host name is the name of the group, which is only sent if the configuration says so.
    let _ = head.normalize_host();
    let local = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let connection = Connection::for_internal_request(0, local, None);
    let mut exchange = Exchange::begin(site, &mut head, &connection, RequestBody::empty());
    let server = site.runtime.servers.iter().position(|server| *server.name == *host.as_bytes());
    let route = &mut exchange.request.route;
    (route.server, route.place) = (server.unwrap_or_default() as ServerId, place);
    (route.uri, route.args, route.host) = (check.uri.to_vec(), check.args.to_vec(), host.into());
    // The URI is used as configured: the path of `proxy_pass` must not replace a part of it.
    (route.form.off_location, route.form.changed) = (true, true);
    exchange
}

fn request(
    exchange: &mut Exchange,
    origin: &Arc<OriginPlace>,
    check: &HealthCheckPlace,
) -> Result<OriginRequest, String> {
    let attempts: Attempts = exchange.request.origin_mut().attempts.clone();
    let message = |rule: &GrpcRule| RequestPayload::Bytes(rule.message());
    let payload = check.grpc.as_ref().map_or(RequestPayload::Empty, message);
    let made = build_request::make(exchange, origin, FetchPurpose::Visitor, payload, attempts);
    let mut request = made.map_err(|_| "the request could not be created".to_owned())?;
    request.bind = bind::address(exchange, &origin.fetch);
    request.queues = false;
    Ok(request)
}

async fn send_probe(
    exchange: &mut Exchange,
    (group, check): (&OriginGroup, &HealthCheckPlace),
    peer: &ProbeTarget,
    (pool, request): (&HttpPool, OriginRequest),
) -> ProbeResult {
    let response = match group.group.probe(peer, pool, request).await {
        Ok(response) => response,
        Err(error) => return ProbeResult::of_error(&error),
    };
    let judged = if check.grpc.is_some() { Ok(()) } else { check.judge.check_head(&response.head) };
    let reads_body = check.grpc.is_some() || check.judge.reads_body();
    let mut body = response.body;
    let mut text = Vec::new();
    // A connection with unread data could not be reused for the next check.
    if judged.is_ok() && (reads_body || check.keepalive_ms > 0) {
        while text.len() < MAX_BODY {
            match poll_fn(|cx| body.as_mut().poll_data(cx)).await {
                None => break,
                Some(Ok(piece)) => text.extend_from_slice(&piece),
                Some(Err(error)) => return ProbeResult::Failed(error.to_string()),
            }
        }
        text.truncate(MAX_BODY);
    }
    if let Some(rule) = &check.grpc {
        let trailers = response.trailers.map(|trailers| trailers.take()).unwrap_or_default();
        return ProbeResult::of_verdict(rule.judge(&response.head, &text, &trailers));
    }
    exchange.request.origin_mut().head = Some(response.head);
    let judged = judged.and_then(|()| check.judge.check_body(&text));
    ProbeResult::of_verdict(judged.and_then(|()| check.judge.check_variables(exchange)))
}
