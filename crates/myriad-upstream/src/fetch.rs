//! Processing of a request by a group: chooses a peer, connects or reuses a connection, exchanges, and retries with the
//! next peer if allowed.

use myriad_conf::model::MeasuredUntil;
use myriad_conf::settings::NextUpstream;
use std::rc::Rc;
use std::sync::atomic::Ordering::Relaxed;

use bytes::Bytes;
use myriad_http::ResponseHead;
use myriad_http::body::{BoxBody, EmptyBody};

use crate::attempts::AttemptLog;
use crate::balance::TriedPeers;
use crate::body::OriginBody;
use crate::clock;
use crate::config::PeerConfig;
use crate::error::{ErrorKind, OriginError, Phase};
use crate::group::{Group, PeerChoice, PickedPeer, SelectedPeer};
use crate::link::{Link, LinkParts, ReturnPool};
use crate::peer::ActiveRequest;
use crate::piece_queue::PieceQueue;
use crate::pool::{HttpPool, Pooled};
use crate::request::{OriginRequest, Protocol, RequestPayload};
use crate::request_connection::connect_for_request;
use crate::response::{OriginResponse, keep_first};
use crate::stream::CountedStream;
use crate::upload::{Upload, UploadFraming};
use crate::{cgi, fastcgi, h2, http, memcached, timer};

impl Group {
    /// Sends a request to a peer and, after a failure or a response with a status of `*_next_upstream`, to other peers
    /// if `request.retry` allows it. Returns once the response head is complete.
    ///
    /// `pool` belongs to this worker. The response may arrive before the request body is sent completely: reading the
    /// response body continues the upload. Dropping the future or an incomplete body closes the connection (over
    /// HTTP/2, resets the stream). The error is that of the last attempt or of the queue, or "no live upstreams" if no
    /// peer is left.
    pub async fn fetch(
        &self,
        pool: &HttpPool,
        mut request: OriginRequest,
    ) -> Result<Box<OriginResponse>, OriginError> {
        self.fetch_of(pool, &mut request).await
    }

    /// Sends a request like [`Group::fetch`]. The request is borrowed, because it is large; a streamed body that cannot
    /// be created again is taken from it.
    pub async fn fetch_of(
        &self,
        pool: &HttpPool,
        request: &mut OriginRequest,
    ) -> Result<Box<OriginResponse>, OriginError> {
        request.attempts.enter_group();
        let mut tries = RetryBudget::new(self, request);
        let mut tried = TriedPeers::default();
        let mut pick = self.first_peer(&mut tried, request).await?;
        loop {
            let PickedPeer { chosen, active } = pick;
            let mut result = self.attempt(&chosen, active, pool, request).await;
            if let Ok(response) = &mut result {
                response.sid = chosen.sid().cloned();
            }
            self.record_health(&chosen, &result, &request.retry);
            if !tries.may_retry(&result, &request.retry) {
                return result;
            }
            let Some(next) =
                self.pick_preferred(&mut tried, &request.affinity, request.sid.as_deref()).peer()
            else {
                return self.handle_exhausted(result, request);
            };
            if let (Err(error), Some(observer)) = (&result, &request.observer) {
                observer.retried(error);
            }
            pick = next;
        }
    }

    /// Chooses the first peer, immediately or after the request has waited in the queue (`queue`). Fails if no peer is
    /// eligible (with `queue`, waits instead while the first result for a server name is pending); if all peers are
    /// busy, fails if the request may not wait, no queue is configured, the queue is full, or the wait times out.
    async fn first_peer(
        &self,
        tried: &mut TriedPeers,
        request: &OriginRequest,
    ) -> Result<PickedPeer, OriginError> {
        // While a server name has not been resolved for the first time, the request may wait as for an overloaded peer.
        let mut choose = || match self.pick_preferred(tried, &request.affinity, request.sid.as_deref()) {
            PeerChoice::NoPeer if self.config.queue.is_some() && self.roster.awaits_names() => {
                PeerChoice::Full
            }
            choosing => choosing,
        };
        // A new request must not overtake waiting requests.
        if self.wait_queue.is_empty() {
            match choose() {
                PeerChoice::Peer(pick) => return Ok(pick),
                PeerChoice::NoPeer => return Err(self.no_live_peer(request)),
                PeerChoice::Full => {}
            }
        }
        if !request.queues {
            return Err(self.no_peer_available(
                ErrorKind::Busy,
                request,
                "all servers of the upstream are busy",
            ));
        }
        let Some(queue) = self.config.queue else { return Err(self.no_live_peer(request)) };
        let Some(mut turn) = self.wait_queue.join(queue.max as usize) else {
            self.roster.edited.overflows.fetch_add(1, Relaxed);
            return Err(self.no_peer_available(
                ErrorKind::NoLivePeer,
                request,
                "the queue of the upstream is full",
            ));
        };
        let mut choose = || match choose() {
            PeerChoice::Peer(pick) => Some(Ok(pick)),
            PeerChoice::NoPeer => Some(Err(self.no_live_peer(request))),
            PeerChoice::Full => None,
        };
        let called = std::future::poll_fn(|cx| turn.poll(cx, &mut choose));
        match tokio::time::timeout(timer::bounded(queue.timeout_ms), called).await {
            Ok(chosen) => chosen,
            Err(_) => Err(self.no_peer_available(
                ErrorKind::NoLivePeer,
                request,
                "no server of the upstream became free in time",
            )),
        }
    }

    /// Records an attempt without a peer and returns its error of kind `kind`.
    fn no_peer_available(&self, kind: ErrorKind, request: &OriginRequest, why: &str) -> OriginError {
        let error = OriginError::new(kind, Phase::Connecting, why);
        request.attempts.begin(self.label(), self.label()).failed(error.status());
        error
    }

    /// Updates the health of the peer after an attempt. As in nginx, errors, timeouts and invalid heads are failures,
    /// except errors of the request body and of this worker's limits. A response status is a failure only if `retry`
    /// allows another peer for it; 403 and 404 never are.
    fn record_health(
        &self,
        chosen: &SelectedPeer,
        result: &Result<Box<OriginResponse>, OriginError>,
        retry: &NextUpstream,
    ) {
        match result {
            Ok(response) => match response.head.status {
                403 | 404 => chosen.succeeded(),
                status if retry.on_status(status) => self.failed(chosen),
                _ => chosen.succeeded(),
            },
            // Not a failure of the peer.
            Err(error) if matches!(error.kind(), ErrorKind::RequestBody(_) | ErrorKind::NoConnection) => {}
            Err(_) => self.failed(chosen),
        }
    }

    /// Returns the result of an attempt if no other peer can be tried. As in nginx, a failure is replaced by "no live
    /// upstreams", which is recorded as another attempt; a response is returned unchanged.
    fn handle_exhausted(
        &self,
        result: Result<Box<OriginResponse>, OriginError>,
        request: &OriginRequest,
    ) -> Result<Box<OriginResponse>, OriginError> {
        let error = match result {
            Err(error) => error,
            response => return response,
        };
        if let Some(observer) = &request.observer {
            observer.retried(&error);
        }
        Err(self.no_peer_available(ErrorKind::NoLivePeer, request, "no live upstreams"))
    }

    fn no_live_peer(&self, request: &OriginRequest) -> OriginError {
        self.reset_all_failures();
        self.no_peer_available(ErrorKind::NoLivePeer, request, "no live upstreams")
    }

    /// Tries one peer. Unless the protocol is HTTP/2, a repeatable and idempotent request is first sent over an idle
    /// connection if there is one, and again over a new connection if the idle connection failed before any byte of a
    /// response.
    pub(crate) async fn attempt(
        &self,
        chosen: &SelectedPeer,
        active: ActiveRequest,
        pool: &HttpPool,
        request: &mut OriginRequest,
    ) -> Result<Box<OriginResponse>, OriginError> {
        if let Protocol::Http2 { .. } = request.protocol {
            let pick = PickedPeer { chosen: chosen.clone(), active };
            // Boxed, because few requests use HTTP/2 and a larger future would slow down all requests.
            return Box::pin(h2::fetch(self, pick, pool, request)).await;
        }
        let peer = chosen.config();
        let address = &peer.address;
        let active = Rc::new(active);
        let home = if request.bind.is_some() {
            ReturnPool::NoPool
        } else {
            self.return_pool(pool, &request.protocol)
        };
        if request.is_repeatable()
            && request.method.is_idempotent()
            && let Some(pooled) = take_idle(&home, pool, &active, request.identity())
        {
            let log = request.attempts.begin_at(chosen.display_address(), self.label(), active.counted());
            log.connected(true);
            let link = link(peer, pooled, log, active.clone(), home.clone(), request);
            match exchange(link, request).await {
                Err(ExchangeFailure::Stale) => {}
                Err(ExchangeFailure::Origin(error)) => return Err(error.at(address)),
                Ok(response) => return Ok(response),
            }
        }
        let log = request.attempts.begin_at(chosen.display_address(), self.label(), active.counted());
        let connection = match connect_for_request(chosen, pool, request).await {
            Ok(connection) => connection,
            Err(error) => {
                log.failed(error.status());
                return Err(error.at(address));
            }
        };
        log.connected(false);
        let pooled = Pooled { connection, requests: 0, created_at: clock::now() };
        let link = link(peer, pooled, log, active, home, request);
        exchange(link, request).await.map_err(|failure| match failure {
            ExchangeFailure::Origin(error) => error.at(address),
            ExchangeFailure::Stale => OriginError::closed(Phase::ReadingHead).at(address),
        })
    }

    fn return_pool(&self, pool: &HttpPool, protocol: &Protocol) -> ReturnPool {
        let keep = self.config.keepalive;
        match protocol {
            Protocol::FastCgi { keep_conn: true, .. } if keep.connections > 0 => ReturnPool::FastCgi(keep),
            Protocol::Http { keep_alive: true, .. } | Protocol::Memcached(_) if keep.http > 0 => {
                ReturnPool::Http(pool.clone(), keep)
            }
            _ => ReturnPool::NoPool,
        }
    }
}

/// Limits of retries: the number of attempts left, the time, and the repeatability of the request.
struct RetryBudget {
    /// Number of further attempts that the limits allow, including the current attempt.
    left: usize,
    /// Start of the first attempt, in the units of [`clock::now`].
    started: u64,
    /// True if the request may be sent again after a peer may have received it.
    repeatable: bool,
}

impl RetryBudget {
    fn new(group: &Group, request: &OriginRequest) -> Self {
        let most = match request.retry.tries {
            0 => usize::MAX,
            tries => tries as usize,
        };
        let safe = request.method.is_idempotent() || request.retry.non_idempotent;
        Self {
            left: group.size().min(most),
            started: clock::now(),
            repeatable: safe && request.is_repeatable(),
        }
    }

    fn may_retry(&mut self, result: &Result<Box<OriginResponse>, OriginError>, retry: &NextUpstream) -> bool {
        self.left = self.left.saturating_sub(1);
        let in_time = retry.timeout_ms == 0 || clock::now() - self.started < retry.timeout_ms;
        let wanted = match result {
            Ok(response) => self.repeatable && retry.on_status(response.head.status),
            Err(error) => {
                let undone = matches!(error.phase(), Phase::Connecting | Phase::Handshaking)
                    || *error.kind() == ErrorKind::Refused;
                (undone || self.repeatable) && allows_retry(error.kind(), retry)
            }
        };
        wanted && in_time && self.left > 0
    }
}

/// Returns whether `*_next_upstream` allows another peer after a failure of this kind.
fn allows_retry(kind: &ErrorKind, retry: &NextUpstream) -> bool {
    match kind {
        ErrorKind::Connect
        | ErrorKind::Tls
        | ErrorKind::Closed
        | ErrorKind::Silent
        | ErrorKind::Io
        | ErrorKind::Refused
        | ErrorKind::Rejected => retry.error,
        ErrorKind::Timeout => retry.timeout,
        ErrorKind::InvalidHead | ErrorKind::TooLargeHead => retry.invalid_header,
        ErrorKind::NoLivePeer
        | ErrorKind::Busy
        | ErrorKind::NotSent(_)
        | ErrorKind::Limited(_)
        | ErrorKind::NoConnection
        | ErrorKind::RequestBody(_) => false,
    }
}

fn take_idle(
    home: &ReturnPool,
    pool: &HttpPool,
    active: &ActiveRequest,
    identity: u64,
) -> Option<Pooled<CountedStream>> {
    let peer = &active.0;
    match home {
        ReturnPool::NoPool => None,
        ReturnPool::Http(pool, _) => pool.idle.take((peer.id, identity)),
        ReturnPool::FastCgi(_) => {
            let place = pool.connections.take_now()?;
            let Pooled { connection, requests, created_at: made } = peer.fastcgi.take((peer.id, 0))?;
            Some(Pooled {
                connection: CountedStream { stream: connection.unpark().ok()?, slot: place },
                requests,
                created_at: made,
            })
        }
    }
}

/// Reason why a request over a connection returned no response.
enum ExchangeFailure {
    /// A reused connection failed before any byte of the response arrived: the peer had probably closed it.
    Stale,
    Origin(OriginError),
}

fn link(
    peer: &PeerConfig,
    pooled: Pooled<CountedStream>,
    log: AttemptLog,
    active: Rc<ActiveRequest>,
    home: ReturnPool,
    request: &mut OriginRequest,
) -> Box<Link> {
    Link::new(LinkParts {
        pooled,
        upload: upload(request),
        read_timeout_ms: request.timeouts.read_ms,
        log,
        active,
        peer: peer.address.clone(),
        observer: request.observer.clone(),
        return_pool: home,
        identity: request.identity(),
    })
}

/// Creates the upload of a request. A streamed body that cannot be created again is taken from the request.
fn upload(request: &mut OriginRequest) -> Upload {
    let payload = match &mut request.body {
        RequestPayload::Empty => RequestPayload::Empty,
        RequestPayload::Bytes(bytes) => RequestPayload::Bytes(bytes.clone()),
        RequestPayload::Again(make, length) => RequestPayload::Stream(make(), Some(*length)),
        RequestPayload::Stream(..) => std::mem::replace(&mut request.body, RequestPayload::Empty),
    };
    let (head, wire) = match &request.protocol {
        Protocol::FastCgi { params, keep_conn } => {
            // Without a body, the head contains the whole request.
            let is_whole = matches!(payload, RequestPayload::Empty);
            let wire = if is_whole { UploadFraming::Plain } else { UploadFraming::FastCgi };
            (fastcgi::request_head(params, *keep_conn, is_whole), wire)
        }
        Protocol::Cgi { head } => (head.clone(), UploadFraming::Plain),
        Protocol::Memcached(get) => (get.head(), UploadFraming::Plain),
        Protocol::Http { head, .. } => match payload {
            RequestPayload::Stream(_, None) => (head.clone(), UploadFraming::Chunked),
            _ => (head.clone(), UploadFraming::Plain),
        },
        // HTTP/2 requests are sent by `h2`; a tunnel has no request.
        Protocol::Http2 { .. } | Protocol::Tunnel => (Bytes::new(), UploadFraming::Plain),
    };
    Upload::new(head, wire, payload, request.timeouts.send_ms)
}

/// Sends the request and reads the response head; the returned body is read later. A failure is recorded in the log of
/// the attempt, except [`ExchangeFailure::Stale`], which removes the attempt from the log.
async fn exchange(
    mut link: Box<Link>,
    request: &OriginRequest,
) -> Result<Box<OriginResponse>, ExchangeFailure> {
    let result = match &request.protocol {
        Protocol::FastCgi { .. } => {
            fastcgi::read_head(&mut link, request.method, request.max_head).await.map(ResponseStart::FastCgi)
        }
        Protocol::Cgi { .. } => {
            cgi::read_head(&mut link, request.method, request.max_head).await.map(ResponseStart::Cgi)
        }
        Protocol::Memcached(get) => {
            memcached::read_head(&mut link, get, request.max_head).await.map(ResponseStart::Memcached)
        }
        Protocol::Http { upgrade, .. } => {
            http::read_head(&mut link, request.method, request.max_head, upgrade)
                .await
                .map(ResponseStart::Http)
        }
        Protocol::Tunnel => Ok(ResponseStart::Tunnel),
        Protocol::Http2 { .. } => Err(OriginError::closed(Phase::Sending)),
    };
    match result {
        Ok(begun) => Ok(respond(link, begun)),
        Err(error) if link.is_stale(&error) => {
            link.log.discard();
            Err(ExchangeFailure::Stale)
        }
        Err(error) => {
            link.log.failed(error.status());
            Err(ExchangeFailure::Origin(error))
        }
    }
}

/// Head of a response, with the decoder of its body if it has one.
enum ResponseStart {
    FastCgi(fastcgi::FastCgiResponseHead),
    Cgi(cgi::CgiResponseHead),
    Memcached(memcached::MemcachedResponseHead),
    Http(http::HttpResponseHead),
    Tunnel,
}

fn respond(link: Box<Link>, begun: ResponseStart) -> Box<OriginResponse> {
    let peer = link.peer.clone();
    let mut trailers = None;
    let (head, body): (ResponseHead, BoxBody) = match begun {
        ResponseStart::FastCgi(fastcgi::FastCgiResponseHead { mut head, demux, first }) => {
            keep_first(&mut head, |text| link.warn(text));
            link.log.head(head.status);
            link.active.record_time(MeasuredUntil::First, link.log.elapsed_ms());
            (head, Box::pin(OriginBody::new(link, demux, first)))
        }
        ResponseStart::Cgi(cgi::CgiResponseHead { mut head, demux }) => {
            keep_first(&mut head, |text| link.warn(text));
            link.log.head(head.status);
            link.active.record_time(MeasuredUntil::First, link.log.elapsed_ms());
            (head, Box::pin(OriginBody::new(link, demux, PieceQueue::new())))
        }
        ResponseStart::Memcached(memcached::MemcachedResponseHead { head, demux }) => {
            link.log.head(head.status);
            link.active.record_time(MeasuredUntil::First, link.log.elapsed_ms());
            (head, Box::pin(OriginBody::new(link, demux, PieceQueue::new())))
        }
        ResponseStart::Http(http::HttpResponseHead::Body(mut head, demux)) => {
            keep_first(&mut head, |text| link.warn(text));
            link.log.head(head.status);
            link.active.record_time(MeasuredUntil::First, link.log.elapsed_ms());
            trailers.clone_from(&demux.trailers);
            (head, Box::pin(OriginBody::new(link, demux, PieceQueue::new())))
        }
        ResponseStart::Http(http::HttpResponseHead::Upgraded(head)) => return upgraded(link, head),
        ResponseStart::Tunnel => return upgraded(link, ResponseHead::new(200)),
    };
    Box::new(OriginResponse { head, body, upgraded: None, peer, trailers, sid: None })
}

/// Returns a response that contains the connection, for another protocol (upgrade or tunnel).
fn upgraded(link: Box<Link>, head: ResponseHead) -> Box<OriginResponse> {
    link.log.head(head.status);
    let (peer, upgraded) = (link.peer.clone(), Some(link.into_upgraded()));
    Box::new(OriginResponse { head, body: Box::pin(EmptyBody), upgraded, peer, trailers: None, sid: None })
}
