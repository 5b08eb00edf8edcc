//! Processing of TCP connections by `stream`, from the PROXY protocol header to the access log.

use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use myriad_exchange::runtime::ServerId;
use myriad_http::proxy_protocol;
use myriad_log::LogLevel;
use myriad_net::{ClientAddress, Connection, PeekResult, RawClient, RawDriver, RawEnd};
use myriad_upstream::{DialOptions, DialedConnection, OriginError, PeerStream};
use tokio::io::AsyncWriteExt;

use crate::stream::admission::{SessionGuards, admit};
use crate::stream::direction_rate::DirectionRate;
use crate::stream::preread::{self, HelloProgress};
use crate::stream::relay::{self, RelayEnd, RelaySettings};
use crate::stream::runtime::{StreamContent, StreamGroup, WorkerStreams};
use crate::stream::session::{SessionAddresses, StreamSession};
use crate::stream::tls::tls_handshake;
use crate::stream::{log, pass, target};

impl WorkerStreams {
    /// Returns the future that processes a TCP or unix connection; `None` if no server of this `stream` block listens
    /// on the socket and local address of the connection.
    pub fn driver_for(self: &Rc<Self>, connection: &Rc<Connection>) -> Option<RawDriver> {
        let listener = self.runtime.listeners.get(&connection.listener())?;
        let default = listener.hosts(connection)?.default;
        Some(Box::pin(serve(Rc::clone(self), Rc::clone(connection), default)))
    }
}

/// Status of a session that finishes before its server handles it; 200 if it is not an error.
type EarlyStatus = u16;

/// Processes a connection until it closes or is passed to another listening socket. As in nginx, a passed session is
/// not logged.
async fn serve(streams: Rc<WorkerStreams>, connection: Rc<Connection>, default: ServerId) -> RawEnd {
    let session = StreamSession::new(streams, Rc::clone(&connection), default, false);
    let mut client = RawClient::new(connection);
    log_new_client(&session);
    let entered = admit_session(&session, &client).await;
    session.count_start();
    let status = match entered {
        Ok(counted) => run_content(&session, &mut client, counted).await,
        Err(status) => Some(status),
    };
    let Some(status) = status else {
        session.status.set(200);
        return RawEnd::Passed;
    };
    finish(&session, status);
    if let Some(logged) = session.streams.worker.logs_written() {
        logged.await;
    }
    client.close();
    RawEnd::Closed
}

/// Logs that a client has connected, at level `info`.
pub(crate) fn log_new_client(session: &StreamSession) {
    let log = &session.server().errors;
    if log.enabled(LogLevel::Info) {
        let id = session.connection.id;
        let local = session.connection.local().map_or_else(|| "unix:".to_owned(), |local| local.to_string());
        match session.connection.peer {
            ClientAddress::Inet(peer) => {
                log.write(LogLevel::Info, Some(id), format_args!("client {peer} connected to {local}"));
            }
            ClientAddress::Unix => {
                log.write(LogLevel::Info, Some(id), format_args!("client unix: connected to {local}"));
            }
        }
    }
}

/// Sets the status of a finished session and writes it to the access logs.
pub(crate) fn finish(session: &StreamSession, status: u16) {
    session.status.set(status);
    session.log(LogLevel::Debug, format_args!("finalize stream session: {status}"));
    log::write(session);
}

/// Runs the phases before the server handles the connection: PROXY protocol, access limits, TLS or preread, `set`.
/// Returns the guards that count the session for `limit_conn`; the error is the status to close the session with.
async fn admit_session(session: &StreamSession, client: &RawClient) -> Result<SessionGuards, EarlyStatus> {
    let listener = session.streams.runtime.listeners.get(&session.connection.listener());
    let hosts = listener.and_then(|listener| listener.hosts(&session.connection));
    if hosts.is_some_and(|hosts| hosts.proxy_protocol) {
        read_proxy_header(session, client).await?;
    }
    set_nodelay(session);
    let counted = admit(session)?;
    if let Some(hosts) = hosts.filter(|_| listener.is_some_and(|listener| listener.secure)) {
        tls_handshake(session, client, hosts).await?;
    } else if session.server().settings.ssl_preread && session.tls().is_none() {
        preread(session, client).await?;
    }
    set_variables(session)?;
    client.mark_busy();
    Ok(counted)
}

/// Reads the PROXY protocol header, and uses its client address if the proxy is trusted. Fails with the status 200
/// after a timeout, and with 400 if the header is invalid or the client closes the connection.
async fn read_proxy_header(session: &StreamSession, client: &RawClient) -> Result<(), EarlyStatus> {
    match client.read_proxy_header(session.server().settings.header_timeout).await {
        PeekResult::Judged(true) => {}
        PeekResult::TimedOut => {
            let what = "client timed out (110: Connection timed out) while reading PROXY protocol";
            session.log(LogLevel::Info, format_args!("{what}"));
            return Err(200);
        }
        PeekResult::Judged(false) | PeekResult::Closed | PeekResult::Full => {
            session.log(LogLevel::Error, format_args!("broken header while reading PROXY protocol"));
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

/// Clears `TCP_NODELAY` if `tcp_nodelay` is off. Connections inherit the option from the listening socket, where it is
/// set.
fn set_nodelay(session: &StreamSession) {
    if !session.server().settings.tcp_nodelay {
        session.connection.set_nodelay(false);
    }
}

/// Reads the TLS client hello without consuming it (`ssl_preread`), and selects the server by the requested name;
/// without a matching server the default server remains. A client without TLS is accepted. Fails with the status 400 if
/// the preread buffer is full, 200 if the client closes the connection or is too slow, and 500 if a regular expression
/// of a server name fails.
async fn preread(session: &StreamSession, client: &RawClient) -> Result<(), EarlyStatus> {
    let settings = &session.server().settings;
    let most = settings.preread_buffer_size as usize;
    let judge = |bytes: &[u8]| match preread::parse_hello(bytes) {
        HelloProgress::Partial => None,
        HelloProgress::Done(hello) => Some(hello),
    };
    let hello = match client.peek(most, settings.preread_timeout, judge).await {
        PeekResult::Judged(hello) => hello,
        PeekResult::Full => {
            session.log(LogLevel::Error, format_args!("preread buffer full"));
            return Err(400);
        }
        PeekResult::Closed | PeekResult::TimedOut => return Err(200),
    };
    let listener = session.streams.runtime.listeners.get(&session.connection.listener());
    let hosts = listener.and_then(|listener| listener.hosts(&session.connection));
    // As in nginx, the `ssl_preread` variables are not found for a client without TLS.
    let Some(hello) = hello else { return Ok(()) };
    let name = hello.server_name.to_ascii_lowercase();
    if let Some(hosts) = hosts.filter(|_| !name.is_empty()) {
        let found = hosts.names.find(&name, &mut session.frame.borrow_mut()).map_err(|_| 500_u16)?;
        session.server.set(found.unwrap_or(session.server.get()));
    }
    let _ = session.hello.set(hello);
    Ok(())
}

/// Sets the variables of the server's `set` directives. Fails with the status 500 if a value cannot be evaluated.
pub(crate) fn set_variables(session: &StreamSession) -> Result<(), EarlyStatus> {
    for (variable, value) in &session.server().assignments {
        let value = session.eval(value).map_err(|_| 500_u16)?;
        variable.assign(&mut session.frame.borrow_mut(), &value);
    }
    Ok(())
}

/// Handles the connection as the server specifies. Returns the status; `None` if the connection was passed to another
/// listening socket. `counted` counts the session for `limit_conn` until it is dropped.
async fn run_content(session: &StreamSession, client: &mut RawClient, counted: SessionGuards) -> Option<u16> {
    let status = match &session.server().content {
        StreamContent::Nothing => log_no_handler(session),
        StreamContent::Return(text) => send_text(session, client, text).await,
        StreamContent::Pass(target) => {
            return pass::pass_connection(session, target, Box::new(counted)).err();
        }
        StreamContent::Group(group) => proxy(session, client, group).await,
        StreamContent::Named(name) => match target::group_for_target(session, name).await {
            Ok(group) => proxy(session, client, &group).await,
            Err(status) => status,
        },
    };
    Some(status)
}

/// Logs that a server has no directive to handle connections. Returns the status of the session, 500.
pub(crate) fn log_no_handler(session: &StreamSession) -> u16 {
    let message =
        format_args!("no handler for server: write proxy_pass, pass or return{}", SessionAddresses(session));
    session.server().errors.write(LogLevel::Error, Some(session.connection.id), message);
    500
}

/// Sends the text of `return` to the client, for at most `proxy_timeout`. Returns the status of the session: 500 if the
/// text cannot be evaluated, otherwise 200, even if sending failed.
async fn send_text(session: &StreamSession, client: &mut RawClient, text: &myriad_script::Template) -> u16 {
    let Ok(text) = session.eval(text) else { return 500 };
    let limit = Duration::from_millis(session.server().settings.timeout.max(1));
    if let Ok(Ok(())) = tokio::time::timeout(limit, client.write_all(&text)).await {
        session.sent.set(text.len() as u64);
    }
    200
}

/// Returns the options for the connection to a peer of a group. Fails with the status 500 if `proxy_bind` is invalid,
/// the client certificate cannot be loaded, or a value with variables cannot be evaluated.
pub(crate) fn dial_for(session: &StreamSession, group: &StreamGroup) -> Result<DialOptions, EarlyStatus> {
    let settings = &session.server().settings;
    Ok(DialOptions {
        affinity: target::affinity(session, group),
        bind: target::bind_address(session)?,
        connect_ms: settings.connect_timeout,
        keepalive: settings.socket_keepalive,
        preface: if settings.sends_proxy_header { peer_proxy_header(session) } else { Bytes::new() },
        tls: target::peer_tls(session)?,
        next: settings.next_upstream,
        tries: settings.next_upstream_tries,
        next_timeout_ms: settings.next_upstream_timeout,
        attempts: session.attempts.clone(),
    })
}

/// Returns the PROXY protocol header to send to a peer: with the addresses of client and server, or `UNKNOWN` if one of
/// these is not an IP address.
fn peer_proxy_header(session: &StreamSession) -> Bytes {
    let ends = session.client_socket().zip(session.connection.local());
    proxy_protocol::version_1_line(ends).into()
}

/// Logs a failed connection to a peer.
pub(crate) fn log_connect_error(session: &StreamSession, error: &OriginError) {
    let peer = error.peer().map_or_else(|| session.last_peer(), |peer| peer.to_string().into());
    let log = &session.server().errors;
    let (received, sent) = (session.received.get(), session.sent.get());
    log.write(
        LogLevel::Error,
        Some(session.connection.id),
        format_args!(
            "{error}{}, upstream: \"{peer}\", bytes from/to client:{received}/{sent}, bytes from/to upstream:0/0",
            SessionAddresses(session)
        ),
    );
}

/// Connects to a peer of a group and relays the connection. Returns the status of the session: 200 once connected, 502
/// if no peer can be connected, 500 for invalid options.
async fn proxy(session: &StreamSession, client: &mut RawClient, group: &StreamGroup) -> u16 {
    let dial = match dial_for(session, group) {
        Ok(dial) => dial,
        Err(status) => return status,
    };
    let connections = &session.streams.worker.origins;
    let dialed = group.group.dial(connections, &dial, |error| log_connect_error(session, error)).await;
    let mut peer = match dialed {
        Ok(peer) => peer,
        Err(error) => {
            log_connect_error(session, &error);
            return 502;
        }
    };
    let server = session.server();
    let terms = RelaySettings {
        silence_ms: server.settings.timeout,
        buffer: server.settings.buffer_size as usize,
        half_close: server.settings.half_close,
        upload: DirectionRate::new(target::eval_rate(session, &server.upload_rate)),
        download: DirectionRate::new(target::eval_rate(session, &server.download_rate)),
    };
    peer.sent(dial.preface.len());
    let end = relay::relay_tcp(session, client, &mut peer, &terms).await;
    log_relay_end(session, end);
    close_peer(peer).await;
    200
}

/// Closes the connection to a peer; over TLS, sends a close notification first, for at most one second.
async fn close_peer(mut peer: DialedConnection<PeerStream>) {
    if let PeerStream::Tls(stream) = &mut peer.link {
        let goodbye = stream.shutdown();
        let _ = tokio::time::timeout(Duration::from_secs(1), goodbye).await;
    }
}

fn log_relay_end(session: &StreamSession, end: RelayEnd) {
    let what = match end {
        RelayEnd::Client => "client disconnected",
        RelayEnd::Peer => "upstream disconnected",
        RelayEnd::Silence => "connection timed out (110: Connection timed out)",
        RelayEnd::Worker => "disconnected on shutdown",
    };
    let attempts = session.attempts.get();
    let (sent, received) =
        attempts.last().map_or((0, 0), |attempt| (attempt.bytes_sent, attempt.bytes_received));
    session.log(
        LogLevel::Info,
        format_args!(
            "{what}, bytes from/to client:{}/{}, bytes from/to upstream:{received}/{sent}",
            session.received.get(),
            session.sent.get(),
        ),
    );
}
