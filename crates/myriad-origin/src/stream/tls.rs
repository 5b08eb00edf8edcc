//! TLS with the clients of `stream` (`listen ... ssl`).

use std::rc::Rc;
use std::sync::Arc;

use myriad_exchange::runtime::{Hosts, NamedPair, ServerId, ServerTls};
use myriad_exchange::traffic::TlsEnd;
use myriad_log::LogLevel;
use myriad_net::{Connection, HandshakeCallbacks, HandshakeFailure, RawClient, TlsHandshakeResult};
use rustls::ServerConfig;
use rustls::server::ClientHello;
use rustls::sign::CertifiedKey;

use crate::stream::session::StreamSession;

/// Callbacks of a handshake: select the TLS settings by the requested server name.
struct StreamTlsCallbacks<'a> {
    session: &'a StreamSession,
    hosts: &'a Hosts,
}

impl StreamTlsCallbacks<'_> {
    /// Returns the server that a requested name selects; the default server if the name is missing, matches none, or a
    /// regular expression of a server name fails.
    fn server(&self, name: Option<&str>) -> ServerId {
        let named = name.map(str::to_ascii_lowercase);
        let found = named.and_then(|name| {
            let frame = &mut self.session.frame.borrow_mut();
            self.hosts.names.find(name.as_bytes(), frame).ok().flatten()
        });
        found.unwrap_or(self.hosts.default)
    }

    /// Loads the certificates of a server whose names contain variables; `None` if one cannot be loaded, which is
    /// logged. The variables are evaluated for a temporary session, so that values that the handshake changes are not
    /// cached.
    fn certificates(&self, server: ServerId, name: Option<&str>) -> Option<Vec<Arc<CertifiedKey>>> {
        let greeting = self.session.connection.handshake_placeholder(name);
        let session = StreamSession::new(Rc::clone(&self.session.streams), greeting, server, false);
        session.real.set(self.session.real.get());
        let loaded = NamedPair::load_all(&session.server().named, &session, &mut session.frame.borrow_mut());
        match loaded {
            Ok(certificates) => Some(certificates),
            Err(error) => {
                session.log(LogLevel::Error, format_args!("{error} while SSL handshaking"));
                None
            }
        }
    }
}

impl HandshakeCallbacks for StreamTlsCallbacks<'_> {
    fn timeout_ms(&self, _: &Connection) -> u64 {
        self.session.server().settings.handshake_timeout
    }

    fn tls(&self, _: &Connection, hello: &ClientHello<'_>) -> Option<Arc<ServerConfig>> {
        let runtime = &self.session.streams.runtime;
        let mut id = self.server(hello.server_name());
        if matches!(runtime.server(id).tls, ServerTls::None) {
            id = self.hosts.default;
        }
        let server = runtime.server(id);
        let ServerTls::Terminates(config) = &server.tls else { return None };
        let Some(pair) = server.named.first() else { return Some(Arc::clone(config)) };
        let is_clients = pair.is_clients;
        let certificates = self.certificates(id, hello.server_name())?;
        Some(myriad_tls::with_certificates(config, certificates, is_clients))
    }
}

/// Performs the handshake with a client, selects the server if the client requests a server name, and verifies the
/// client certificate. The error is the status to close the session with, 500.
pub(crate) async fn tls_handshake(
    session: &StreamSession,
    client: &RawClient,
    hosts: &Hosts,
) -> Result<(), u16> {
    let greeting = StreamTlsCallbacks { session, hosts };
    match client.tls_handshake(&greeting).await {
        TlsHandshakeResult::Secure => {}
        TlsHandshakeResult::Plain => {
            session.count_handshake(TlsEnd::Failed(HandshakeFailure::Other));
            session.log(LogLevel::Info, format_args!("client did not start TLS while SSL handshaking"));
            return Err(500);
        }
        TlsHandshakeResult::Failed(failure, why) => {
            if let Some(failure) = failure {
                session.count_handshake(TlsEnd::Failed(failure));
            }
            let why = why.unwrap_or_else(|| {
                "the client closed the connection, was too slow, or was rejected".to_owned()
            });
            session
                .log(LogLevel::Info, format_args!("SSL_do_handshake() failed ({why}) while SSL handshaking"));
            return Err(500);
        }
    }
    let name = session.tls().and_then(|tls| tls.server_name.as_deref());
    if name.is_some() {
        session.server.set(greeting.server(name));
    }
    session.count_handshake(TlsEnd::Done { resumed: session.tls().is_some_and(|tls| tls.resumed) });
    check_revocation(session).await;
    verify_client_certificate(session)
}

/// Queries by OCSP whether the client certificate is revoked, if the server requires it (`ssl_ocsp`) and the result is
/// not known yet. Stores the result for [`verification_result`].
async fn check_revocation(session: &StreamSession) {
    let now_s = (myriad_net::clock::wall_ms() / 1000).cast_signed();
    let asked = session.tls().zip(session.server().clients.as_ref());
    let Some(check) = asked.and_then(|(facts, rules)| myriad_tls::required_status_check(facts, rules, now_s))
    else {
        return;
    };
    let (judged, why) = check.run(now_s).await;
    if let Some(why) = why {
        session.log(LogLevel::Error, format_args!("{why}"));
    }
    if let Some(facts) = session.tls() {
        facts.judged.set(Some(judged));
    }
}

/// Rejects a client whose certificate, or lack of one, does not satisfy `ssl_verify_client`. The error is the status to
/// close the session with, 500.
fn verify_client_certificate(session: &StreamSession) -> Result<(), u16> {
    let Some(rules) = &session.server().clients else { return Ok(()) };
    let (code, refused) = match verification_result(session) {
        None if rules.mandatory => (0, "client sent no required SSL certificate".to_owned()),
        // Errors 18 to 21 mean an unknown CA, which `optional_no_ca` accepts.
        Some(Err((18..=21, _))) if rules.accepts_unknown_authority => return Ok(()),
        Some(Err((code, why))) => (code, format!("client SSL certificate verify error: ({code}:{why})")),
        None | Some(Ok(())) => return Ok(()),
    };
    session.count_handshake(TlsEnd::Unverified(code));
    session.log(LogLevel::Info, format_args!("{refused}"));
    Err(500)
}

/// Returns the verification result of the client certificate; `None` if the client has sent none.
pub(crate) fn verification_result(session: &StreamSession) -> Option<Result<(), (u32, &'static str)>> {
    let now_s = (myriad_net::clock::wall_ms() / 1000).cast_signed();
    session.tls().and_then(|tls| myriad_tls::verify_client(tls, session.server().clients.as_ref(), now_s))
}
