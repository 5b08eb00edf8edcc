//! Setup of session resumption for a server: tickets, session cache, early data.

use std::borrow::Cow;
use std::sync::Arc;

use myriad_conf::Diagnostic;
use myriad_conf::settings::{SessionCache, VerifyClient};
use rustls::ServerConfig;
use rustls::server::{NoServerSessionStorage, ProducesTickets};

use super::reload_state::TlsReloadState;
use super::session_context::{ContextView, SessionContext};
use super::sessions::ServerSessions;
use super::tickets::TicketCipher;
use crate::certificates::files::{display_name, file_error};
use crate::server::identities::{have_variable_names, is_ordered};
use crate::server::parts::ServerParts;

/// Number of tickets sent after each TLS 1.3 handshake. OpenSSL sends as many after a full handshake.
const TICKETS: usize = 2;
/// Maximum number of bytes of early data on a connection, as in OpenSSL.
const EARLY_DATA: u32 = 16_384;
/// Maximum number of sessions stored for early data if `ssl_session_cache` is not set.
const EARLY_SESSIONS: u32 = 4000;
/// Maximum lifetime of a session ticket in seconds: one week (RFC 8446 section 4.6.1).
const LONGEST_S: u64 = 604_800;

/// Sets the session cache, tickets and early data of a server in `config`. Fails if a file cannot be read, or a ticket
/// key file has a wrong length.
pub(crate) fn set_up_resumption(
    parts: &ServerParts<'_>,
    state: &mut TlsReloadState,
    config: &mut ServerConfig,
) -> Result<(), Box<Diagnostic>> {
    let settings = parts.settings;
    let context = session_context(parts)?;
    let lifetime_s = (settings.session_timeout / 1000).clamp(1, LONGEST_S) as u32;
    let cache = match &settings.session_cache {
        SessionCache::Off if settings.early_data => Some(("early data", EARLY_SESSIONS)),
        SessionCache::Off => None,
        SessionCache::Stored { name, sessions } => Some((name.as_str(), *sessions)),
    };
    config.session_storage = match cache {
        None => Arc::new(NoServerSessionStorage {}),
        Some((name, most)) => {
            let all = Arc::new(ServerSessions { store: state.cache(name), most, lifetime_s });
            Arc::new(ContextView { context, all })
        }
    };
    config.send_tls13_tickets = if cache.is_some() { TICKETS } else { 0 };
    if settings.early_data {
        // Early data may be accepted only once. Tickets can be replayed, so the sessions are stored on the server
        // instead.
        config.max_early_data_size = EARLY_DATA;
        config.send_half_rtt_data = true;
    } else if settings.session_tickets
        && let Some(all) = tickets(parts, lifetime_s, state)?
    {
        config.ticketer = Arc::new(ContextView { context, all });
        config.send_tls13_tickets = TICKETS;
    }
    Ok(())
}

/// Returns the session context of a server, equal for servers with the same certificates and the same requirements for
/// client certificates (`ssl_verify_client` and CA certificates). If certificates are named by variables, their names
/// count, as in nginx; an automatic certificate counts by its key type and names instead of its bytes, so that sessions
/// remain valid after a renewal. Fails if a file cannot be read.
fn session_context(parts: &ServerParts<'_>) -> Result<SessionContext, Box<Diagnostic>> {
    let ServerParts { settings, files, ordered, .. } = *parts;
    let are_named = have_variable_names(settings);
    let mut pieces = Vec::new();
    for name in &settings.certificates {
        pieces.push(match ordered.filter(|_| is_ordered(name)) {
            Some(slot) => Cow::Owned(slot.order.file_name().into_bytes()),
            None if are_named => Cow::Borrowed(name.bytes()),
            None => files.bytes(name)?,
        });
    }
    pieces.push(Cow::Owned(format!("{:?}", settings.verify_client).into_bytes()));
    if settings.verify_client != VerifyClient::Off {
        for name in [&settings.client_certificate, &settings.trusted_certificate] {
            let name = name.as_ref().filter(|name| !name.is_empty());
            pieces.push(name.map_or(Ok(Cow::Borrowed(&[][..])), |name| files.bytes(name))?);
        }
    }
    Ok(SessionContext::of(pieces))
}

/// Returns the ticket cipher of a server, with keys from its `ssl_session_ticket_key` files or, without files, with
/// generated keys; `None` if random numbers are not available. Fails if a key file cannot be read or has a wrong
/// length.
fn tickets(
    parts: &ServerParts<'_>,
    lifetime_s: u32,
    state: &mut TlsReloadState,
) -> Result<Option<Arc<dyn ProducesTickets>>, Box<Diagnostic>> {
    let names = &parts.settings.ticket_keys;
    if names.is_empty() {
        return Ok(state.tickets(lifetime_s).map(|tickets| tickets as _));
    }
    let mut keys = Vec::new();
    for name in names {
        keys.push(parts.files.bytes(name)?);
    }
    let keys: Vec<&[u8]> = keys.iter().map(AsRef::as_ref).collect();
    match TicketCipher::of_files(&keys, lifetime_s) {
        Ok(tickets) => Ok(Some(Arc::new(tickets))),
        Err(index) => {
            let error = format!("\"{}\" must be 48 or 80 bytes", display_name(names[index].bytes()));
            Err(Box::new(file_error(&names[index], error).help("create it with: openssl rand -out FILE 80")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::config::server_config;
    use crate::testing::{TestCertificate, TestClient, TestSite};
    use rustls::version::{TLS12, TLS13};

    fn config(site: &TestSite, kept: &mut TlsReloadState) -> Arc<ServerConfig> {
        Arc::new(server_config(&site.parts(), kept).expect("sound"))
    }

    #[test]
    fn tickets_outlive_a_reload_and_lead_to_servers_with_the_same_certificate_alone() {
        let (site, other) = (TestSite::server("", &[]), TestSite::server("", &[]));
        let mut state = TlsReloadState::default();
        let before = config(&site, &mut state);
        state.begin_compilation();
        let after = config(&site, &mut state);
        let elsewhere = config(&other, &mut state);
        for version in [&TLS12, &TLS13] {
            assert!(TestClient::with_versions(&[version]).resumes(&before, &after), "{version:?}");
            assert!(!TestClient::with_versions(&[version]).resumes(&before, &elsewhere), "{version:?}");
            assert!(
                !TestClient::with_versions(&[version])
                    .resumes(&before, &config(&site, &mut TlsReloadState::default()))
            );
        }
    }

    #[test]
    fn without_tickets_sessions_are_resumed_from_a_cache_or_not_at_all() {
        let none = config(&TestSite::server("ssl_session_tickets off;", &[]), &mut TlsReloadState::default());
        let site = TestSite::server("ssl_session_tickets off; ssl_session_cache shared:one:1m;", &[]);
        let mut state = TlsReloadState::default();
        let (before, after) = (config(&site, &mut state), config(&site, &mut state));
        for version in [&TLS12, &TLS13] {
            assert!(!TestClient::with_versions(&[version]).resumes(&none, &none), "{version:?}");
            assert!(TestClient::with_versions(&[version]).resumes(&before, &after), "{version:?}");
        }
        assert_eq!(none.send_tls13_tickets, 0);
    }

    #[test]
    fn clients_that_are_asked_for_certificates_begin_sessions_of_their_own() {
        let made = TestCertificate::usual();
        let files: [(&str, &[u8]); 2] = [("c.crt", &made.certificate), ("c.key", &made.key)];
        let of = |says: &str| {
            let pair = "ssl_certificate c.crt; ssl_certificate_key c.key;";
            TestSite::of(&format!("server {{ listen 443 ssl; {pair} {says} }}"), &files)
        };
        let mut state = TlsReloadState::default();
        let plain = config(&of(""), &mut state);
        let asking = config(&of("ssl_verify_client optional; ssl_client_certificate c.crt;"), &mut state);
        let trusting = config(&of("ssl_verify_client optional_no_ca;"), &mut state);
        assert!(TestClient::new().resumes(&plain, &plain));
        assert!(
            !TestClient::new().resumes(&plain, &asking) && !TestClient::new().resumes(&asking, &trusting)
        );
    }

    #[test]
    fn early_data_is_accepted_only_for_locally_stored_sessions() {
        let early = config(&TestSite::server("ssl_early_data on;", &[]), &mut TlsReloadState::default());
        assert_eq!((early.max_early_data_size, early.send_tls13_tickets), (EARLY_DATA, TICKETS));
        assert!(early.session_storage.can_cache() && !early.ticketer.enabled());
        let mut client = TestClient::with_versions(&[&TLS13]);
        client.config.enable_early_data = true;
        assert!(client.resumes(&early, &early));
        let (client, _) = client.handshake(&early).unwrap();
        assert!(client.is_early_data_accepted());
        let late = config(&TestSite::server("", &[]), &mut TlsReloadState::default());
        assert_eq!(late.max_early_data_size, 0);
        assert!(!late.session_storage.can_cache() && late.ticketer.enabled());
    }

    #[test]
    fn keys_of_files_lead_from_machine_to_machine_and_have_two_lengths() {
        let site = TestSite::server("ssl_session_ticket_key keys;", &[("keys", &[7; 80])]);
        let [one, other] = [(), ()].map(|()| config(&site, &mut TlsReloadState::default()));
        assert!(TestClient::new().resumes(&one, &other));
        let wrong = TestSite::server("ssl_session_ticket_key keys;", &[("keys", &[7; 47])]);
        assert_eq!(
            wrong.error(),
            "\"keys\" must be 48 or 80 bytes; create it with: openssl rand -out FILE 80"
        );
        let inline = TestSite::server("ssl_session_ticket_key data:secret;", &[]).error();
        assert!(inline.starts_with("\"data:\" must be 48 or 80 bytes"), "{inline}");
        let none = TestSite::server("ssl_session_ticket_key none;", &[]);
        assert_eq!(none.error(), "cannot read \"/conf/none\"");
    }

    #[test]
    fn sessions_last_a_second_at_least_and_a_week_at_most() {
        for (says, lifetime_s) in [
            ("", 300),
            ("ssl_session_timeout 500ms;", 1),
            ("ssl_session_timeout 1h;", 3600),
            ("ssl_session_timeout 1y;", 604_800),
        ] {
            let config = config(&TestSite::server(says, &[]), &mut TlsReloadState::default());
            assert_eq!(config.ticketer.lifetime(), lifetime_s, "{says}");
        }
    }
}
