//! Connections whose bytes are nobody's request: those that `stream` passes on.
//!
//! A peer is chosen as for a request, by the same groups and the same health. The next one is tried while none has taken the
//! connection: afterwards nobody knows what it has done with the bytes.

use std::cell::Cell;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use bytes::Bytes;
use myriad_conf::model::Moment;
use rustix::net::sockopt;
use tokio::io::AsyncWriteExt;
use tokio::net::UdpSocket;

use crate::address::Address;
use crate::attempts::{AttemptLog, Attempts};
use crate::balance::Tried;
use crate::check::Probed;
use crate::clock;
use crate::connect::connect;
use crate::connections::{Connections, Place};
use crate::error::{ErrorKind, OriginError, Phase};
use crate::group::{Chosen, Group};
use crate::peer::Active;
use crate::request::Affinity;
use crate::shortage::with_descriptor;
use crate::stream::Stream;
use crate::tls::{self, OriginTls};

/// How a peer is connected to.
pub struct Dial {
    /// What a peer is chosen by.
    pub affinity: Affinity,
    /// The address that the connection is made from (`proxy_bind`), port 0 for any.
    pub bind: Option<SocketAddr>,
    /// Longest wait for a connection, and for TLS, milliseconds (`proxy_connect_timeout`).
    pub connect_ms: u64,
    /// Whether the kernel probes an idle connection (`proxy_socket_keepalive`).
    pub keepalive: bool,
    /// What the peer is told first, ahead of TLS (`proxy_protocol`); empty for nothing.
    pub preface: Bytes,
    /// TLS with the peer (`proxy_ssl`).
    pub tls: Option<OriginTls>,
    /// Whether another peer is tried where one cannot be connected to (`proxy_next_upstream`).
    pub next: bool,
    /// Most peers that are tried, 0 for all (`proxy_next_upstream_tries`).
    pub tries: u32,
    /// No further peer is tried after so many milliseconds, 0 for no limit (`proxy_next_upstream_timeout`).
    pub next_timeout_ms: u64,
    /// The list of tries, which goes on to grow and change.
    pub attempts: Attempts,
}

/// A connection to a peer, which counts as one of that peer's until it is dropped.
#[derive(Debug)]
pub struct Dialed<T> {
    /// The connection.
    pub link: T,
    log: AttemptLog,
    chosen: Chosen,
    #[expect(dead_code, reason = "it is held, not asked")]
    place: Place,
    timing: Timing,
}

/// Notes for `least_time` how long a peer takes; the last byte is there when the connection is dropped.
#[derive(Debug)]
struct Timing {
    active: Active,
    started: u64,
    had_first: Cell<bool>,
    has_failed: Cell<bool>,
}

impl Timing {
    /// A connection that was begun at `started` and is made now.
    fn connected(active: Active, started: u64) -> Self {
        active.took(Moment::Connect, clock::now() - started);
        Self { active, started, had_first: Cell::new(false), has_failed: Cell::new(false) }
    }

    fn byte_came(&self) {
        if !self.had_first.replace(true) {
            self.active.took(Moment::First, clock::now() - self.started);
        }
    }
}

impl Drop for Timing {
    fn drop(&mut self) {
        // A peer that fails at once would look fast.
        if !self.has_failed.get() {
            self.active.took(Moment::Last, clock::now() - self.started);
        }
    }
}

impl<T> Dialed<T> {
    /// Notes bytes that the peer was sent.
    pub fn sent(&self, bytes: usize) {
        self.log.sent(bytes);
    }

    /// Notes bytes that came from the peer.
    pub fn received(&self, bytes: usize) {
        self.log.first_byte();
        self.timing.byte_came();
        self.log.received(bytes);
    }
}

impl Group {
    /// Connects to a peer. `failed` is told of each failure that another try follows; the last one is returned.
    pub async fn dial(
        &self,
        connections: &Connections,
        dial: &Dial,
        failed: impl Fn(&OriginError),
    ) -> Result<Dialed<Stream>, OriginError> {
        let open = async |chosen: &Chosen| {
            let make_descriptors = || connections.make_descriptors();
            let address = &chosen.config().address;
            let stream = connect(address, dial.bind, dial.connect_ms, &make_descriptors).await?;
            dial.agree(stream, Some(chosen)).await
        };
        self.dial_by(connections, dial, open, failed).await
    }

    /// Makes a socket of UDP that exchanges datagrams with a peer. That nobody listens there is known later, if ever.
    pub async fn dial_datagrams(
        &self,
        connections: &Connections,
        dial: &Dial,
        failed: impl Fn(&OriginError),
    ) -> Result<Dialed<UdpSocket>, OriginError> {
        let open = async |chosen: &Chosen| {
            let address = &chosen.config().address;
            let make_descriptors = || connections.make_descriptors();
            let opened = with_descriptor(async || datagrams(address, dial.bind).await, make_descriptors);
            opened.await.map_err(|error| OriginError::io("connect", &error, Phase::Connecting))
        };
        self.dial_by(connections, dial, open, failed).await
    }

    /// Notes that a peer which was dialled turned out to fail: over UDP nothing says so before.
    pub fn dialed_failed<T>(&self, dialed: &Dialed<T>) {
        dialed.timing.has_failed.set(true);
        self.failed(&dialed.chosen);
    }

    async fn dial_by<T>(
        &self,
        connections: &Connections,
        dial: &Dial,
        open: impl AsyncFn(&Chosen) -> Result<T, OriginError>,
        failed: impl Fn(&OriginError),
    ) -> Result<Dialed<T>, OriginError> {
        dial.attempts.enter_group();
        let started = clock::now();
        let most = if dial.tries == 0 { usize::MAX } else { dial.tries as usize };
        let mut left = self.size().min(most);
        let mut tried = Tried::default();
        let mut last: Option<OriginError> = None;
        loop {
            let Some(pick) = self.pick(&mut tried, &dial.affinity).peer() else {
                return Err(match last {
                    None => self.nobody_to_dial(dial),
                    Some(error) => {
                        failed(&error);
                        self.none_to_dial(dial)
                    }
                });
            };
            if let Some(error) = last.take() {
                failed(&error);
            }
            let address = &pick.chosen.config().address;
            let counted = pick.active.counted();
            let log = dial.attempts.begin_at(pick.chosen.shown(), self.label(), counted);
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
                    let timing = Timing::connected(pick.active, begun);
                    return Ok(Dialed { link, log, chosen: pick.chosen, place, timing });
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

    fn nobody_to_dial(&self, dial: &Dial) -> OriginError {
        self.forgive_all();
        self.none_to_dial(dial)
    }

    /// No other peer can be tried, which is a try of its own.
    fn none_to_dial(&self, dial: &Dial) -> OriginError {
        let error = OriginError::new(ErrorKind::NoLivePeer, Phase::Connecting, "no live upstreams");
        dial.attempts.begin(self.label(), self.label()).failed(error.status());
        error
    }
}

/// A connection to a peer that is checked, until it is dropped.
#[derive(Debug)]
pub struct ProbeLink<T> {
    /// The connection.
    pub link: T,
    #[expect(dead_code, reason = "it is held, not asked")]
    place: Place,
}

impl Probed {
    /// Connects to the peer, in the way that sessions are connected.
    pub async fn connect(
        &self,
        connections: &Connections,
        dial: &Dial,
    ) -> Result<ProbeLink<Stream>, OriginError> {
        let place = connections.take(|| false, dial.connect_ms).await?;
        let make_descriptors = || connections.make_descriptors();
        let address = self.address();
        let connected = connect(address, dial.bind, dial.connect_ms, &make_descriptors).await;
        let stream = connected.map_err(|error| error.at(address))?;
        let link = dial.agree(stream, None).await.map_err(|error| error.at(address))?;
        Ok(ProbeLink { link, place })
    }

    /// Makes a socket of UDP that exchanges datagrams with the peer; `timeout_ms` is the longest wait for one of the worker's.
    pub async fn datagrams(
        &self,
        connections: &Connections,
        timeout_ms: u64,
    ) -> Result<ProbeLink<UdpSocket>, OriginError> {
        let place = connections.take(|| false, timeout_ms).await?;
        let opened = datagrams(self.address(), None).await;
        let link = opened.map_err(|error| OriginError::io("connect", &error, Phase::Connecting))?;
        Ok(ProbeLink { link, place })
    }
}

impl Dial {
    /// Tells a peer what comes first, and agrees on TLS with it.
    async fn agree(&self, mut stream: Stream, chosen: Option<&Chosen>) -> Result<Stream, OriginError> {
        if let (true, Stream::Tcp(socket)) = (self.keepalive, &stream) {
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
            Some(tls) => tls::secure(stream, tls, self.connect_ms, chosen.map(Chosen::state)).await,
        }
    }
}

async fn datagrams(address: &Address, bind: Option<SocketAddr>) -> io::Result<UdpSocket> {
    let Address::Tcp(address) = address else {
        return Err(io::Error::other("datagrams are passed on to an address and a port alone"));
    };
    let any: SocketAddr = match address {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    let socket = UdpSocket::bind(bind.unwrap_or(any)).await?;
    socket.connect(address).await?;
    Ok(socket)
}
