//! Sessions that clients resume: tickets, caches, early data.

use std::collections::HashMap;
use std::sync::Arc;

use myriad_conf::Diagnostic;
use myriad_conf::settings::{SessionCache, TlsSettings};
use rustls::ServerConfig;
use rustls::server::{NoServerSessionStorage, ProducesTickets};

use super::files::fail;
use crate::compile::Compile;
use crate::tls::{SessionStore, Sessions, Tickets};

/// Tickets after a full handshake of TLS 1.3, as OpenSSL sends them.
const TICKETS: usize = 2;
/// Bytes of early data: a request, as a rule; as many as OpenSSL takes.
const EARLY_DATA: u32 = 16_384;
/// Sessions that are kept for early data where `ssl_session_cache` says nothing.
const EARLY_SESSIONS: u32 = 4000;
/// RFC 8446 section 4.6.1: a week at most, seconds.
const LONGEST_S: u64 = 604_800;

/// What of TLS outlives a reload: clients resume sessions that began before it.
#[derive(Default)]
pub(crate) struct TlsKept {
    /// By their life time, seconds.
    tickets: HashMap<u32, Arc<Tickets>>,
    /// By the names of the caches.
    caches: HashMap<String, Arc<SessionStore>>,
}

impl Compile<'_> {
    pub(super) fn resume(
        &mut self,
        settings: &TlsSettings,
        config: &mut ServerConfig,
    ) -> Result<(), Box<Diagnostic>> {
        let lifetime_s = (settings.session_timeout / 1000).clamp(1, LONGEST_S) as u32;
        let cache = match &settings.session_cache {
            SessionCache::Off if settings.early_data => Some(("early data", EARLY_SESSIONS)),
            SessionCache::Off => None,
            SessionCache::Kept { name, sessions } => Some((name.as_str(), *sessions)),
        };
        config.session_storage = match cache {
            None => Arc::new(NoServerSessionStorage {}),
            Some((name, most)) => {
                let store = Arc::clone(self.around.kept.tls.caches.entry(name.to_owned()).or_default());
                Arc::new(Sessions { store, most, lifetime_s })
            }
        };
        config.send_tls13_tickets = if cache.is_some() { TICKETS } else { 0 };
        if settings.early_data {
            // Early data are taken once only, which a ticket cannot see to: sessions stay here.
            config.max_early_data_size = EARLY_DATA;
            config.send_half_rtt_data = true;
        } else if settings.session_tickets
            && let Some(tickets) = self.tickets(settings, lifetime_s)?
        {
            config.ticketer = tickets;
            config.send_tls13_tickets = TICKETS;
        }
        Ok(())
    }

    /// Without randomness there are no tickets; then the handshake itself is going to say so.
    fn tickets(
        &mut self,
        settings: &TlsSettings,
        lifetime_s: u32,
    ) -> Result<Option<Arc<dyn ProducesTickets>>, Box<Diagnostic>> {
        if settings.ticket_keys.is_empty() {
            let kept = &mut self.around.kept.tls.tickets;
            if let Some(tickets) = kept.get(&lifetime_s) {
                return Ok(Some(Arc::clone(tickets) as _));
            }
            let tickets = Tickets::rotating(lifetime_s).map(Arc::new);
            return Ok(tickets.map(|tickets| {
                kept.insert(lifetime_s, Arc::clone(&tickets));
                tickets as _
            }));
        }
        let files = self.tls_reader();
        let mut keys = Vec::new();
        for name in &settings.ticket_keys {
            keys.push(files.bytes(name)?);
        }
        let keys: Vec<&[u8]> = keys.iter().map(AsRef::as_ref).collect();
        match Tickets::of_files(&keys, lifetime_s) {
            Ok(tickets) => Ok(Some(Arc::new(tickets))),
            Err(index) => {
                let name = &settings.ticket_keys[index];
                let error = format!("\"{}\" must be 48 or 80 bytes", name.lossy());
                let help = "make it by: openssl rand 80";
                Err(Box::new(Diagnostic::clone(&fail(name, error)).help(help)))
            }
        }
    }
}
