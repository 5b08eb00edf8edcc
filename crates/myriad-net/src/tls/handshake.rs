//! TLS handshake as a server. [`HandshakeCallbacks`] selects the TLS settings by the requested server name.

use std::fmt;
use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use myriad_http::proxy_protocol::{self, HeaderParseStatus};
use rustls::server::{Accepted, Acceptor};
use rustls::{ServerConfig, ServerConnection};

use super::half_open::HalfOpenGuard;
use super::handshake_callbacks::HandshakeCallbacks;
use super::session::TransportIo;
use super::{ClientOffer, TlsFacts, TlsSession, with_client_scheme};
use crate::connection::Connection;
use crate::service::HandshakeFailure;

/// Type of a TLS record with a handshake message: its first byte (RFC 8446 section 5.1).
const HANDSHAKE_RECORD: u8 = 22;

/// Maximum size of a PROXY protocol header in bytes, as in nginx.
const LONGEST_HEADER: usize = 4096;

/// ALPN protocol of an ACME server that validates a challenge (RFC 8737 section 4). It needs no data after the
/// handshake.
const CHALLENGE: &[u8] = b"acme-tls/1";

/// Result of a TLS handshake.
pub(crate) enum HandshakeResult {
    /// The handshake succeeded; the connection uses TLS.
    Secure,
    /// The client sent data that is not TLS, such as plain HTTP.
    Plain,
    /// The handshake failed. `None` if the client sent nothing (before it closed or timed out) or no valid PROXY
    /// protocol header.
    Failed(Option<HandshakeError>),
}

/// Reason for a failed handshake.
pub(crate) enum HandshakeError {
    /// A TLS error: a malformed message, no common parameters, a rejected client certificate, or an alert from the
    /// client.
    Protocol(rustls::Error),
    /// The handshake was aborted because its client network has too many handshakes in progress.
    TooMany,
    /// The time limit of the handshake expired.
    TimedOut,
    /// The client closed the connection, the connection failed, the client validated an ACME challenge, or it requested
    /// a server that rejects handshakes or has no usable certificate.
    Aborted,
}

impl HandshakeError {
    /// Returns true if the failure is logged. Timeouts and aborts are not, because any client can cause them.
    pub(crate) fn is_logged(&self) -> bool {
        matches!(self, Self::Protocol(_) | Self::TooMany)
    }

    /// Returns the category in which statistics count this error.
    pub(crate) fn category(&self) -> HandshakeFailure {
        use rustls::AlertDescription::{
            BadCertificate, CertificateExpired, CertificateRevoked, CertificateUnknown, UnknownCA,
            UnsupportedCertificate,
        };
        use rustls::PeerIncompatible::{
            NoCipherSuitesInCommon, ServerDoesNotSupportTls12Or13, ServerTlsVersionIsDisabledByOurConfig,
            SupportedVersionsExtensionRequired, Tls12NotOffered, Tls12NotOfferedOrEnabled,
        };
        match self {
            Self::TimedOut => HandshakeFailure::TimedOut,
            Self::Protocol(rustls::Error::PeerIncompatible(NoCipherSuitesInCommon)) => {
                HandshakeFailure::NoCommonCipher
            }
            Self::Protocol(rustls::Error::PeerIncompatible(
                ServerDoesNotSupportTls12Or13
                | ServerTlsVersionIsDisabledByOurConfig
                | SupportedVersionsExtensionRequired
                | Tls12NotOffered
                | Tls12NotOfferedOrEnabled,
            )) => HandshakeFailure::NoCommonProtocol,
            Self::Protocol(rustls::Error::AlertReceived(
                BadCertificate
                | CertificateExpired
                | CertificateRevoked
                | CertificateUnknown
                | UnknownCA
                | UnsupportedCertificate,
            )) => HandshakeFailure::CertificateRejected,
            Self::Protocol(_) | Self::TooMany | Self::Aborted => HandshakeFailure::Other,
        }
    }
}

impl fmt::Display for HandshakeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Protocol(error) => error.fmt(f),
            Self::TooMany => f.write_str("too many handshakes in progress from this client network"),
            Self::TimedOut => f.write_str("client timed out"),
            Self::Aborted => f.write_str("client closed the connection"),
        }
    }
}

impl From<rustls::Error> for HandshakeResult {
    fn from(error: rustls::Error) -> Self {
        Self::Failed(Some(HandshakeError::Protocol(error)))
    }
}

/// Performs the handshake with a client, within the time limit of `greeter`.
pub(crate) async fn accept<G: HandshakeCallbacks>(greeter: &G, connection: &Connection) -> HandshakeResult {
    connection.deadline.set(greeter.timeout_ms(connection));
    let announced = greeter.expects_proxy_header(connection);
    let mut state = if announced { HandshakeState::Announced } else { HandshakeState::First };
    poll_fn(|cx| match state.poll(greeter, connection, cx) {
        Poll::Pending => {
            let begun = matches!(state, HandshakeState::Hello(..) | HandshakeState::Keys { .. });
            connection
                .deadline
                .poll_expired(cx)
                .map(|()| HandshakeResult::Failed(begun.then_some(HandshakeError::TimedOut)))
        }
        ready @ Poll::Ready(_) => ready,
    })
    .await
}

enum HandshakeState {
    /// A PROXY protocol header is awaited.
    Announced,
    /// No byte after the PROXY protocol header, if any, has arrived from the client.
    First,
    /// The client hello is awaited or incomplete.
    Hello(Box<Acceptor>, HalfOpenGuard),
    /// The server is selected; the handshake continues with its settings.
    Keys { session: Box<ServerConnection>, offer: Option<Box<ClientOffer>>, counted: HalfOpenGuard },
}

impl HandshakeState {
    fn poll<G: HandshakeCallbacks>(
        &mut self,
        greeter: &G,
        connection: &Connection,
        cx: &mut Context<'_>,
    ) -> Poll<HandshakeResult> {
        loop {
            match self {
                Self::Announced => {
                    if !ready!(poll_header(connection, cx)) {
                        greeter.proxy_header_failed(connection);
                        return Poll::Ready(HandshakeResult::Failed(None));
                    }
                    *self = Self::First;
                }
                Self::First => match ready!(poll_first(connection, cx)) {
                    Some(HANDSHAKE_RECORD) => {
                        *self = Self::Hello(Box::default(), HalfOpenGuard::register(connection));
                    }
                    Some(_) => return Poll::Ready(HandshakeResult::Plain),
                    None => return Poll::Ready(HandshakeResult::Failed(None)),
                },
                Self::Hello(_, counted) | Self::Keys { counted, .. } if counted.must_abort(cx) => {
                    return Poll::Ready(HandshakeResult::Failed(Some(HandshakeError::TooMany)));
                }
                Self::Hello(acceptor, _) => {
                    let accepted = match ready!(poll_hello(acceptor, connection, cx)) {
                        Ok(accepted) => accepted,
                        Err(failure) => return Poll::Ready(failure),
                    };
                    let Self::Hello(_, counted) = std::mem::replace(self, Self::First) else {
                        return Poll::Ready(HandshakeResult::Failed(Some(HandshakeError::Aborted)));
                    };
                    match choose(greeter, connection, accepted) {
                        Ok((session, offer)) => {
                            *self = Self::Keys { session: Box::new(session), offer, counted };
                        }
                        Err(failure) => return Poll::Ready(failure),
                    }
                }
                Self::Keys { session, offer, .. } => {
                    if let Err(failure) = ready!(poll_keys(session, offer.as_deref_mut(), connection, cx)) {
                        return Poll::Ready(failure);
                    }
                    let Self::Keys { session, offer, .. } = std::mem::replace(self, Self::First) else {
                        return Poll::Ready(HandshakeResult::Failed(Some(HandshakeError::Aborted)));
                    };
                    if session.alpn_protocol() == Some(CHALLENGE) {
                        close_cleanly(session, connection);
                        return Poll::Ready(HandshakeResult::Failed(Some(HandshakeError::Aborted)));
                    }
                    let facts = TlsFacts::of(&session, offer);
                    connection
                        .set_tls_session(facts, TlsSession::new(*session, connection.sizes_records.get()));
                    return Poll::Ready(HandshakeResult::Secure);
                }
            }
        }
    }
}

/// Sends a TLS close notification without waiting.
fn close_cleanly(mut session: Box<ServerConnection>, connection: &Connection) {
    session.send_close_notify();
    let _ = session.write_tls(&mut &connection.socket);
}

/// Reads exactly one PROXY protocol header into [`Connection::proxied`]. Returns false if it is invalid or the
/// connection was closed.
pub(crate) fn poll_header(connection: &Connection, cx: &mut Context<'_>) -> Poll<bool> {
    let mut buffer = [0; LONGEST_HEADER];
    let judge = |bytes: &[u8]| match proxy_protocol::parse(bytes) {
        Ok(HeaderParseStatus::Complete(length, header)) => Some((length, Ok(header))),
        Ok(HeaderParseStatus::Partial) if !bytes.is_empty() && bytes.len() < LONGEST_HEADER => None,
        _ => Some((0, Err(()))),
    };
    let header = ready!(connection.socket.poll_peek(cx, &mut buffer, judge));
    let Ok(Ok(header)) = header else { return Poll::Ready(false) };
    if let Some(header) = header {
        // Set only here, once per connection.
        let _ = connection.proxied.set(header);
    }
    Poll::Ready(true)
}

/// Peeks at the first byte of the client; `None` if the client closes the connection without sending any, or the
/// connection fails.
fn poll_first(connection: &Connection, cx: &mut Context<'_>) -> Poll<Option<u8>> {
    let first =
        ready!(connection.socket.poll_peek(cx, &mut [0; 1], |bytes| Some((0, bytes.first().copied()))));
    Poll::Ready(first.ok().flatten())
}

fn poll_hello(
    acceptor: &mut Acceptor,
    connection: &Connection,
    cx: &mut Context<'_>,
) -> Poll<Result<Accepted, HandshakeResult>> {
    loop {
        match acceptor.accept() {
            Ok(Some(accepted)) => return Poll::Ready(Ok(accepted)),
            Ok(None) => {}
            Err((error, mut alert)) => {
                // Errors are ignored: the client may have closed the connection, and the alert is optional.
                let _ = alert.write_all(&mut TransportIo { transport: connection.socket.transport(), cx });
                return Poll::Ready(Err(error.into()));
            }
        }
        match acceptor.read_tls(&mut TransportIo { transport: connection.socket.transport(), cx }) {
            Ok(0) => return Poll::Ready(Err(HandshakeResult::Failed(Some(HandshakeError::Aborted)))),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Poll::Pending,
            Err(_) => return Poll::Ready(Err(HandshakeResult::Failed(Some(HandshakeError::Aborted)))),
        }
    }
}

/// Selects the TLS settings for the client and creates the session. Sends an alert if the client is rejected.
fn choose<G: HandshakeCallbacks>(
    greeter: &G,
    connection: &Connection,
    accepted: Accepted,
) -> Result<(ServerConnection, Option<Box<ClientOffer>>), HandshakeResult> {
    let Some(config): Option<Arc<ServerConfig>> = greeter.tls(connection, &accepted.client_hello()) else {
        // Record with the alert `unrecognized_name` (RFC 6066 section 3).
        let unrecognized_name = [21, 3, 3, 0, 2, 2, 112];
        let _ = io::Write::write(&mut &connection.socket, &unrecognized_name);
        return Err(HandshakeResult::Failed(Some(HandshakeError::Aborted)));
    };
    connection.sizes_records.set(config.max_fragment_size.is_none());
    let mut offer = greeter.stores_offers().then(|| Box::new(ClientOffer::of(&accepted, &config)));
    let begun = accepted.into_connection(Arc::clone(&config));
    let mut session = begun.map_err(|(error, mut alert)| {
        let _ = alert.write_all(&mut &connection.socket);
        HandshakeResult::from(error)
    })?;
    if let Some(offer) = &mut offer {
        offer.number_session(&mut session, &config);
    }
    Ok((session, offer))
}

fn poll_keys(
    session: &mut ServerConnection,
    mut offer: Option<&mut ClientOffer>,
    connection: &Connection,
    cx: &mut Context<'_>,
) -> Poll<Result<(), HandshakeResult>> {
    let transport = connection.socket.transport();
    loop {
        while session.wants_write() {
            match session.write_tls(&mut TransportIo { transport, cx }) {
                Ok(1..) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Poll::Pending,
                _ => return Poll::Ready(Err(HandshakeResult::Failed(Some(HandshakeError::Aborted)))),
            }
        }
        if !session.is_handshaking() {
            return Poll::Ready(Ok(()));
        }
        if session.early_data().is_some() {
            // A request may have arrived together with the client hello.
            return Poll::Ready(match session.process_new_packets() {
                Ok(_) => Ok(()),
                Err(error) => Err(error.into()),
            });
        }
        match session.read_tls(&mut TransportIo { transport, cx }) {
            Ok(0) => return Poll::Ready(Err(HandshakeResult::Failed(Some(HandshakeError::Aborted)))),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Poll::Pending,
            Err(_) => return Poll::Ready(Err(HandshakeResult::Failed(Some(HandshakeError::Aborted)))),
        }
        let (taken_in, scheme) = with_client_scheme(|| session.process_new_packets());
        if let Some(offer) = offer.as_deref_mut() {
            offer.client_signed = scheme.or(offer.client_signed);
        }
        if let Err(error) = taken_in {
            let _ = session.write_tls(&mut TransportIo { transport, cx });
            return Poll::Ready(Err(error.into()));
        }
    }
}
