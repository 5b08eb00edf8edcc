//! Connections to peers for byte streams and datagrams that `stream` forwards.
//!
//! Peers are chosen as for HTTP requests, but by separate groups with their own health. Another peer is tried only
//! until a connection is established: afterwards, the peer may have processed bytes.

use std::cell::Cell;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use bytes::Bytes;
use myriad_conf::model::MeasuredUntil;
use rustix::net::sockopt;
use tokio::io::AsyncWriteExt;
use tokio::net::UdpSocket;

use crate::address::PeerAddress;
use crate::attempts::{AttemptLog, Attempts};
use crate::balance::TriedPeers;
use crate::check::ProbeTarget;
use crate::clock;
use crate::connect::connect;
use crate::connections::{Connections, OriginConnectionSlot};
use crate::descriptor_retry::with_descriptor;
use crate::error::{ErrorKind, OriginError, Phase};
use crate::group::{Group, SelectedPeer};
use crate::peer::ActiveRequest;
use crate::request::Affinity;
use crate::stream::PeerStream;
use crate::tls::{self, OriginTls};

/// Parameters of a connection to a peer for `stream`.
pub struct DialOptions {
    /// Client address or hash key, for balancing algorithms that use one.
    pub affinity: Affinity,
    /// Local address of the connection (`proxy_bind`), with port 0 for any port; `None` for any address.
    pub bind: Option<SocketAddr>,
    /// Timeout in milliseconds for each of these steps: wait for a connection slot of the worker, connecting, preface,
    /// TLS handshake (`proxy_connect_timeout`).
    pub connect_ms: u64,
    /// Enables TCP keepalive probes (`proxy_socket_keepalive`).
    pub keepalive: bool,
    /// First bytes sent to the peer, before TLS (`proxy_protocol`); may be empty.
    pub preface: Bytes,
    /// TLS parameters for the peer (`proxy_ssl`); `None` for no TLS.
    pub tls: Option<OriginTls>,
    /// If true, another peer is tried after connecting to a peer has failed (`proxy_next_upstream`).
    pub next: bool,
    /// Maximum number of peers to try, 0 for all (`proxy_next_upstream_tries`).
    pub tries: u32,
    /// Time in milliseconds after which no further peer is tried, 0 for no limit (`proxy_next_upstream_timeout`).
    pub next_timeout_ms: u64,
    /// List of connection attempts, updated while the connection exists.
    pub attempts: Attempts,
}

/// Connection to a peer, which counts as an active request of that peer until it is dropped.
#[derive(Debug)]
pub struct DialedConnection<T> {
    /// Stream or datagram socket of the connection.
    pub link: T,
    log: AttemptLog,
    chosen: SelectedPeer,
    #[expect(dead_code, reason = "held until dropped")]
    slot: OriginConnectionSlot,
    timing: DialTiming,
}

/// Response times for `least_time`. Dropping the connection records the time from the start of the attempt until the
/// drop, unless a failure was recorded.
#[derive(Debug)]
struct DialTiming {
    active: ActiveRequest,
    /// Start of the attempt, in the units of [`clock::now`].
    started: u64,
    /// Set once a byte has been received from the peer.
    had_first: Cell<bool>,
    has_failed: Cell<bool>,
}

impl DialTiming {
    /// Creates the measurement for a connection that was established just now, and records its connect time since
    /// `started`.
    fn connected(active: ActiveRequest, started: u64) -> Self {
        active.record_time(MeasuredUntil::Connect, clock::now() - started);
        Self { active, started, had_first: Cell::new(false), has_failed: Cell::new(false) }
    }

    fn record_byte(&self) {
        if !self.had_first.replace(true) {
            self.active.record_time(MeasuredUntil::First, clock::now() - self.started);
        }
    }
}

impl Drop for DialTiming {
    fn drop(&mut self) {
        // A peer that fails immediately must not appear to be fast.
        if !self.has_failed.get() {
            self.active.record_time(MeasuredUntil::Last, clock::now() - self.started);
        }
    }
}

impl<T> DialedConnection<T> {
    /// Records that `bytes` bytes were sent to the peer.
    pub fn sent(&self, bytes: usize) {
        self.log.sent(bytes);
    }

    /// Records that `bytes` bytes were received from the peer, and the time of the first call.
    pub fn received(&self, bytes: usize) {
        self.log.first_byte();
        self.timing.record_byte();
        self.log.received(bytes);
    }
}

impl Group {
    /// Connects to a peer. Calls `failed` for each failure that is followed by another attempt, or by the error "no
    /// live upstreams". Fails with the last failure, or with "no live upstreams" if no peer is usable for the first or
    /// for a further attempt.
    pub async fn dial(
        &self,
        connections: &Connections,
        dial: &DialOptions,
        failed: impl Fn(&OriginError),
    ) -> Result<DialedConnection<PeerStream>, OriginError> {
        let open = async |chosen: &SelectedPeer| {
            let make_descriptors = || connections.make_descriptors();
            let address = &chosen.config().address;
            let stream = connect(address, dial.bind, dial.connect_ms, &make_descriptors).await?;
            dial.handshake(stream, Some(chosen)).await
        };
        self.dial_with(connections, dial, open, failed).await
    }

    /// Creates a UDP socket connected to a peer of the group; `failed` is called as by [`Group::dial`]. An unreachable
    /// peer is only detected by later datagrams, or never.
    pub async fn dial_datagrams(
        &self,
        connections: &Connections,
        dial: &DialOptions,
        failed: impl Fn(&OriginError),
    ) -> Result<DialedConnection<UdpSocket>, OriginError> {
        let open = async |chosen: &SelectedPeer| {
            let address = &chosen.config().address;
            let make_descriptors = || connections.make_descriptors();
            let opened = with_descriptor(async || datagrams(address, dial.bind).await, make_descriptors);
            opened.await.map_err(|error| OriginError::io("connect", &error, Phase::Connecting))
        };
        self.dial_with(connections, dial, open, failed).await
    }

    /// Records a failure of the peer, for UDP: failures are only detected after [`Group::dial_datagrams`] has returned.
    pub fn record_dial_failure<T>(&self, dialed: &DialedConnection<T>) {
        dialed.timing.has_failed.set(true);
        self.failed(&dialed.chosen);
    }

    async fn dial_with<T>(
        &self,
        connections: &Connections,
        dial: &DialOptions,
        open: impl AsyncFn(&SelectedPeer) -> Result<T, OriginError>,
        failed: impl Fn(&OriginError),
    ) -> Result<DialedConnection<T>, OriginError> {
        dial.attempts.enter_group();
        let started = clock::now();
        let most = if dial.tries == 0 { usize::MAX } else { dial.tries as usize };
        let mut left = self.size().min(most);
        let mut tried = TriedPeers::default();
        let mut last: Option<OriginError> = None;
        loop {
            let Some(pick) = self.pick(&mut tried, &dial.affinity).peer() else {
                return Err(match last {
                    None => self.no_live_peer_to_dial(dial),
                    Some(error) => {
                        failed(&error);
                        self.no_other_peer_to_dial(dial)
                    }
                });
            };
            if let Some(error) = last.take() {
                failed(&error);
            }
            let address = &pick.chosen.config().address;
            let counted = pick.active.counted();
            let log = dial.attempts.begin_at(pick.chosen.display_address(), self.label(), counted);
            let begun = clock::now();
            let place = connections.take(|| false, dial.connect_ms).await;
            let opened = match place {
                Ok(place) => open(&pick.chosen).await.map(|link| (link, place)),
                Err(error) => Err(error),
            };
            let error = match opened {
                Ok((link, place)) => {
                    pick.chosen.succeeded();
                    log.connected(false);
                    let timing = DialTiming::connected(pick.active, begun);
                    return Ok(DialedConnection { link, log, chosen: pick.chosen, slot: place, timing });
                }
                Err(error) => error.at(address),
            };
            log.failed(error.status());
            let is_ours = matches!(error.kind(), ErrorKind::NoConnection);
            if !is_ours {
                self.failed(&pick.chosen);
            }
            left = left.saturating_sub(1);
            let in_time = dial.next_timeout_ms == 0 || clock::now() - started < dial.next_timeout_ms;
            if is_ours || !dial.next || !in_time || left == 0 {
                return Err(error);
            }
            last = Some(error);
        }
    }

    fn no_live_peer_to_dial(&self, dial: &DialOptions) -> OriginError {
        self.reset_all_failures();
        self.no_other_peer_to_dial(dial)
    }

    /// Records an attempt without a peer and returns its error, "no live upstreams".
    fn no_other_peer_to_dial(&self, dial: &DialOptions) -> OriginError {
        let error = OriginError::new(ErrorKind::NoLivePeer, Phase::Connecting, "no live upstreams");
        dial.attempts.begin(self.label(), self.label()).failed(error.status());
        error
    }
}

/// Connection for a health check; dropping it releases its connection slot.
#[derive(Debug)]
pub struct ProbeLink<T> {
    /// Stream or datagram socket of the connection.
    pub link: T,
    #[expect(dead_code, reason = "held until dropped")]
    slot: OriginConnectionSlot,
}

impl ProbeTarget {
    /// Connects to the peer like [`Group::dial`], including preface and TLS, without an effect on its health.
    pub async fn connect(
        &self,
        connections: &Connections,
        dial: &DialOptions,
    ) -> Result<ProbeLink<PeerStream>, OriginError> {
        let place = connections.take(|| false, dial.connect_ms).await?;
        let make_descriptors = || connections.make_descriptors();
        let address = self.address();
        let connected = connect(address, dial.bind, dial.connect_ms, &make_descriptors).await;
        let stream = connected.map_err(|error| error.at(address))?;
        let link = dial.handshake(stream, None).await.map_err(|error| error.at(address))?;
        Ok(ProbeLink { link, slot: place })
    }

    /// Creates a UDP socket connected to the peer. `timeout_ms` limits the wait for a connection slot of the worker.
    /// Fails for a peer with a unix socket.
    pub async fn datagrams(
        &self,
        connections: &Connections,
        timeout_ms: u64,
    ) -> Result<ProbeLink<UdpSocket>, OriginError> {
        let place = connections.take(|| false, timeout_ms).await?;
        let opened = datagrams(self.address(), None).await;
        let link = opened.map_err(|error| OriginError::io("connect", &error, Phase::Connecting))?;
        Ok(ProbeLink { link, slot: place })
    }
}

impl DialOptions {
    /// Enables TCP keepalive, sends the preface (such as a PROXY protocol header) and performs the TLS handshake, each
    /// if configured.
    async fn handshake(
        &self,
        mut stream: PeerStream,
        chosen: Option<&SelectedPeer>,
    ) -> Result<PeerStream, OriginError> {
        if let (true, PeerStream::Tcp(socket)) = (self.keepalive, &stream) {
            sockopt::set_socket_keepalive(socket, true)
                .map_err(|error| OriginError::io("setsockopt", &error.into(), Phase::Connecting))?;
        }
        if !self.preface.is_empty() {
            let sent = stream.write_all(&self.preface);
            match tokio::time::timeout(Duration::from_millis(self.connect_ms), sent).await {
                Err(_) => return Err(OriginError::timeout(Phase::Connecting)),
                Ok(Err(error)) => return Err(OriginError::io("send", &error, Phase::Connecting)),
                Ok(Ok(())) => {}
            }
        }
        match &self.tls {
            None => Ok(stream),
            Some(tls) => tls::secure(stream, tls, self.connect_ms, chosen.map(SelectedPeer::state)).await,
        }
    }
}

async fn datagrams(address: &PeerAddress, bind: Option<SocketAddr>) -> io::Result<UdpSocket> {
    let PeerAddress::Tcp(address) = address else {
        return Err(io::Error::other("datagrams can only be sent to an address and a port"));
    };
    let any: SocketAddr = match address {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    let socket = UdpSocket::bind(bind.unwrap_or(any)).await?;
    socket.connect(address).await?;
    Ok(socket)
}
