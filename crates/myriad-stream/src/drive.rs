//! TCP connection, from its first byte to its log line.

use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use myriad_exchange::runtime::ServerId;
use myriad_http::proxy_protocol;
use myriad_log::Level;
use myriad_net::{Connection, Peeked, Peer, RawClient, RawDriver, RawEnd};
use myriad_upstream::{Dial, Dialed, OriginError, Stream};
use tokio::io::AsyncWriteExt;

use crate::admission::{Counted, admit};
use crate::greeting::shake_hands;
use crate::pace::Pace;
use crate::preread::{self, Reading};
use crate::relay::{self, End, Terms};
use crate::runtime::{Content, StreamGroup, Streams};
use crate::session::{Ends, Session};
use crate::{log, pass, target};

impl Streams {
    /// Returns the driver of a connection; `None` if the connection does not belong to this block.
    pub fn drive(self: &Rc<Self>, connection: &Rc<Connection>) -> Option<RawDriver> {
        let listener = self.runtime.listeners.get(&connection.listener())?;
        let default = listener.hosts(connection)?.default;
        Some(Box::pin(serve(Rc::clone(self), Rc::clone(connection), default)))
    }
}

/// Status of a session that finishes early: 200 if it is not an error.
type Ended = u16;

/// Serves a connection until it closes or is passed to another listener. As in nginx, a passed session is not logged.
async fn serve(streams: Rc<Streams>, connection: Rc<Connection>, default: ServerId) -> RawEnd {
    let session = Session::new(streams, Rc::clone(&connection), default, false);
    let mut client = RawClient::new(connection);
    greet(&session);
    let entered = enter(&session, &client).await;
    session.count();
    let status = match entered {
        Ok(counted) => content(&session, &mut client, counted).await,
        Err(status) => Some(status),
    };
    let Some(status) = status else {
        session.status.set(200);
        return RawEnd::Passed;
    };
    finish(&session, status);
    if let Some(logged) = session.streams.worker.logged() {
        logged.await;
    }
    client.close();
    RawEnd::Closed
}

/// Logs the addresses of a new client.
pub(crate) fn greet(session: &Session) {
    let log = &session.server().errors;
    if log.enabled(Level::Info) {
        let id = session.connection.id;
        let local = session.connection.local().map_or_else(|| "unix:".to_owned(), |local| local.to_string());
        match session.connection.peer {
            Peer::Inet(peer) => {
                log.write(Level::Info, Some(id), format_args!("client {peer} connected to {local}"));
            }
            Peer::Unix => log.write(Level::Info, Some(id), format_args!("client unix: connected to {local}")),
        }
    }
}

/// Records the status of a finished session and logs it.
pub(crate) fn finish(session: &Session, status: u16) {
    session.status.set(status);
    session.log(Level::Debug, format_args!("finalize stream session: {status}"));
    log::write(session);
}

/// Runs the phases before the content: client address, admission, requested server. Returns the guard that counts the
/// session.
async fn enter(session: &Session, client: &RawClient) -> Result<Counted, Ended> {
    let listener = session.streams.runtime.listeners.get(&session.connection.listener());
    let hosts = listener.and_then(|listener| listener.hosts(&session.connection));
    if hosts.is_some_and(|hosts| hosts.proxy_protocol) {
        header(session, client).await?;
    }
    set_nodelay(session);
    let counted = admit(session)?;
    if let Some(hosts) = hosts.filter(|_| listener.is_some_and(|listener| listener.secure)) {
        shake_hands(session, client, hosts).await?;
    } else if session.server().settings.ssl_preread && session.tls().is_none() {
        preread(session, client).await?;
    }
    assign(session)?;
    client.go_on();
    Ok(counted)
}

/// Reads the PROXY protocol header of the preceding proxy.
async fn header(session: &Session, client: &RawClient) -> Result<(), Ended> {
    match client.read_proxy_header(session.server().settings.header_timeout).await {
        Peeked::Judged(true) => {}
        Peeked::TimedOut => {
            let what = "client timed out (110: Connection timed out) while reading PROXY protocol";
            session.log(Level::Info, format_args!("{what}"));
            return Err(200);
        }
        Peeked::Judged(false) | Peeked::Closed | Peeked::Full => {
            session.log(Level::Error, format_args!("broken header while reading PROXY protocol"));
            return Err(400);
        }
    }
    if let Some(header) = session.proxied()
        && session.server().trusts(session.connection.peer.ip())
    {
        session.real.set(Some(header.source));
    }
    Ok(())
}

/// Enables Nagle's algorithm if configured. It is disabled on the listener, and connections inherit that.
fn set_nodelay(session: &Session) {
    if !session.server().settings.tcp_nodelay {
        session.connection.set_nodelay(false);
    }
}

/// Reads the server name and protocols that the client requests by TLS, and selects its server.
async fn preread(session: &Session, client: &RawClient) -> Result<(), Ended> {
    let settings = &session.server().settings;
    let most = settings.preread_buffer_size as usize;
    let judge = |bytes: &[u8]| match preread::read(bytes) {
        Reading::Partial => None,
        Reading::Done(hello) => Some(hello),
    };
    let hello = match client.peek(most, settings.preread_timeout, judge).await {
        Peeked::Judged(hello) => hello,
        Peeked::Full => {
            session.log(Level::Error, format_args!("preread buffer full"));
            return Err(400);
        }
        Peeked::Closed | Peeked::TimedOut => return Err(200),
    };
    let listener = session.streams.runtime.listeners.get(&session.connection.listener());
    let hosts = listener.and_then(|listener| listener.hosts(&session.connection));
    // As in nginx, the variables of a client without TLS are not found.
    let Some(hello) = hello else { return Ok(()) };
    let name = hello.server_name.to_ascii_lowercase();
    if let Some(hosts) = hosts.filter(|_| !name.is_empty()) {
        let found = hosts.names.find(&name, &mut session.frame.borrow_mut()).map_err(|_| 500_u16)?;
        session.server.set(found.unwrap_or(session.server.get()));
    }
    let _ = session.hello.set(hello);
    Ok(())
}

/// Sets the variables of the server's `set` directives.
pub(crate) fn assign(session: &Session) -> Result<(), Ended> {
    for (variable, value) in &session.server().assignments {
        let value = session.eval(value).map_err(|_| 500_u16)?;
        variable.assign(&mut session.frame.borrow_mut(), &value);
    }
    Ok(())
}

/// Runs the content of the server. Returns the status of the session; `None` if the connection was passed to another
/// listener. `counted` lives while the connection counts for `limit_conn`.
async fn content(session: &Session, client: &mut RawClient, counted: Counted) -> Option<u16> {
    let status = match &session.server().content {
        Content::Nothing => no_handler(session),
        Content::Return(text) => answer(session, client, text).await,
        Content::Pass(target) => return pass::run(session, target, Box::new(counted)).err(),
        Content::Group(group) => proxy(session, client, group).await,
        Content::Named(name) => match target::named(session, name).await {
            Ok(group) => proxy(session, client, &group).await,
            Err(status) => status,
        },
    };
    Some(status)
}

/// Logs that a server has no directive for its connections; returns the status.
pub(crate) fn no_handler(session: &Session) -> u16 {
    let message = format_args!("no handler for server: write proxy_pass, pass or return{}", Ends(session));
    session.server().errors.write(Level::Error, Some(session.connection.id), message);
    500
}

/// Sends a text; the client must read it in time.
async fn answer(session: &Session, client: &mut RawClient, text: &myriad_script::Template) -> u16 {
    let Ok(text) = session.eval(text) else { return 500 };
    let limit = Duration::from_millis(session.server().settings.timeout.max(1));
    if let Ok(Ok(())) = tokio::time::timeout(limit, client.write_all(&text)).await {
        session.sent.set(text.len() as u64);
    }
    200
}

/// Returns the connection parameters for a peer of a group.
pub(crate) fn dial(session: &Session, group: &StreamGroup) -> Result<Dial, Ended> {
    let settings = &session.server().settings;
    Ok(Dial {
        affinity: target::affinity(session, group),
        bind: target::bind(session)?,
        connect_ms: settings.connect_timeout,
        keepalive: settings.socket_keepalive,
        preface: if settings.tells_client { introduction(session) } else { Bytes::new() },
        tls: target::tls(session)?,
        next: settings.next_upstream,
        tries: settings.next_upstream_tries,
        next_timeout_ms: settings.next_upstream_timeout,
        attempts: session.attempts.clone(),
    })
}

/// Returns the PROXY protocol header for a peer (`proxy_protocol`).
fn introduction(session: &Session) -> Bytes {
    let ends = session.client_socket().zip(session.connection.local());
    proxy_protocol::version_1(ends).into()
}

/// Logs a failed connection to a peer.
pub(crate) fn tell(session: &Session, error: &OriginError) {
    let peer = error.peer().map_or_else(|| session.last_peer(), |peer| peer.to_string().into());
    let log = &session.server().errors;
    let (received, sent) = (session.received.get(), session.sent.get());
    log.write(
        Level::Error,
        Some(session.connection.id),
        format_args!(
            "{error}{}, upstream: \"{peer}\", bytes from/to client:{received}/{sent}, bytes from/to upstream:0/0",
            Ends(session)
        ),
    );
}

/// Relays a connection to a peer of a group.
async fn proxy(session: &Session, client: &mut RawClient, group: &StreamGroup) -> u16 {
    let dial = match dial(session, group) {
        Ok(dial) => dial,
        Err(status) => return status,
    };
    let connections = &session.streams.worker.origins;
    let dialed = group.group.dial(connections, &dial, |error| tell(session, error)).await;
    let mut peer = match dialed {
        Ok(peer) => peer,
        Err(error) => {
            tell(session, &error);
            return 502;
        }
    };
    let server = session.server();
    let terms = Terms {
        silence_ms: server.settings.timeout,
        buffer: server.settings.buffer_size as usize,
        half_close: server.settings.half_close,
        upload: Pace::new(target::rate(session, &server.upload_rate)),
        download: Pace::new(target::rate(session, &server.download_rate)),
    };
    peer.sent(dial.preface.len());
    let end = relay::run(session, client, &mut peer, &terms).await;
    told_end(session, end);
    close(peer).await;
    200
}

/// Closes the connection to a peer; with TLS, sends the close notification.
async fn close(mut peer: Dialed<Stream>) {
    if let Stream::Tls(stream) = &mut peer.link {
        let goodbye = stream.shutdown();
        let _ = tokio::time::timeout(Duration::from_secs(1), goodbye).await;
    }
}

fn told_end(session: &Session, end: End) {
    let what = match end {
        End::Client => "client disconnected",
        End::Peer => "upstream disconnected",
        End::Silence => "connection timed out (110: Connection timed out)",
        End::Worker => "disconnected on shutdown",
    };
    let attempts = session.attempts.get();
    let (sent, received) =
        attempts.last().map_or((0, 0), |attempt| (attempt.bytes_sent, attempt.bytes_received));
    session.log(
        Level::Info,
        format_args!(
            "{what}, bytes from/to client:{}/{}, bytes from/to upstream:{received}/{sent}",
            session.received.get(),
            session.sent.get(),
        ),
    );
}
