//! Sessions that clients resume: tickets, caches, early data.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use myriad_acme::{Slot, Staple};
use myriad_conf::Diagnostic;
use myriad_conf::settings::{SessionCache, TlsSettings, VerifyClient};
use rustls::ServerConfig;
use rustls::server::{NoServerSessionStorage, ProducesTickets};

use super::files::fail;
use super::is_ordered;
use super::named::are_named;
use crate::compile::Compile;
use crate::keeping::Keeper;
use crate::runtime::PlannedStaple;
use crate::tls::{InContext, SessionContext, SessionStore, Sessions, Tickets};

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
    /// Those of them that the configuration which is compiled asks for.
    asked: HashSet<u32>,
    /// By the names of the caches.
    caches: HashMap<String, Arc<SessionStore>>,
    /// OCSP answers, with what they answer.
    pub(super) staples: Vec<Arc<Staple>>,
    /// Keys of a process before this one, by their life time.
    recorded: HashMap<u32, Vec<u8>>,
    /// Who hands them to the process after this one.
    keeper: Option<Keeper>,
}

impl TlsKept {
    /// Goes on with the keys of a process before.
    pub(crate) fn inheriting(recorded: HashMap<u32, Vec<u8>>, keeper: Keeper) -> Self {
        Self { recorded, keeper: Some(keeper), ..Self::default() }
    }

    /// Another configuration is compiled.
    pub(crate) fn begin(&mut self) {
        self.asked.clear();
    }

    /// Forgets what a configuration that runs now does not ask: it was compiled last. Whoever keeps keys of tickets forgets
    /// them too: a session that was begun under them is not resumed when tickets come back.
    pub(crate) fn settle(&mut self, asked: &[PlannedStaple]) {
        self.tickets.retain(|lifetime_s, tickets| {
            let is_asked = self.asked.contains(lifetime_s);
            if !is_asked {
                tickets.retire();
            }
            is_asked
        });
        for (lifetime_s, _) in self.recorded.drain() {
            if let Some(keeper) = &self.keeper {
                keeper.ticket_keys(lifetime_s, None);
            }
        }
        self.staples.retain(|staple| asked.iter().any(|planned| Arc::ptr_eq(&planned.staple, staple)));
    }
}

impl Compile<'_> {
    pub(super) fn resume(
        &mut self,
        settings: &TlsSettings,
        ordered: Option<&Slot>,
        config: &mut ServerConfig,
    ) -> Result<(), Box<Diagnostic>> {
        let context = self.session_context(settings, ordered)?;
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
                let all = Arc::new(Sessions { store, most, lifetime_s });
                Arc::new(InContext { context, all })
            }
        };
        config.send_tls13_tickets = if cache.is_some() { TICKETS } else { 0 };
        if settings.early_data {
            // Early data are taken once only, which a ticket cannot see to: sessions stay here.
            config.max_early_data_size = EARLY_DATA;
            config.send_half_rtt_data = true;
        } else if settings.session_tickets
            && let Some(all) = self.tickets(settings, lifetime_s)?
        {
            config.ticketer = Arc::new(InContext { context, all });
            config.send_tls13_tickets = TICKETS;
        }
        Ok(())
    }

    /// Which servers go on with each other's sessions: those with the same certificates that ask clients for the same. As in
    /// nginx those that variables name count by the variables, and those that are ordered by what is ordered, so that
    /// sessions outlive a renewal of these.
    fn session_context(
        &self,
        settings: &TlsSettings,
        ordered: Option<&Slot>,
    ) -> Result<SessionContext, Box<Diagnostic>> {
        let files = self.tls_reader();
        let are_named = are_named(settings);
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

    /// Without randomness there are no tickets; then the handshake itself is going to say so.
    fn tickets(
        &mut self,
        settings: &TlsSettings,
        lifetime_s: u32,
    ) -> Result<Option<Arc<dyn ProducesTickets>>, Box<Diagnostic>> {
        if settings.ticket_keys.is_empty() {
            let kept = &mut self.around.kept.tls;
            kept.asked.insert(lifetime_s);
            if let Some(tickets) = kept.tickets.get(&lifetime_s) {
                return Ok(Some(Arc::clone(tickets) as _));
            }
            let record = kept.recorded.remove(&lifetime_s);
            let tickets = Tickets::rotating(lifetime_s, record.as_deref(), kept.keeper.clone());
            return Ok(tickets.map(Arc::new).map(|tickets| {
                kept.tickets.insert(lifetime_s, Arc::clone(&tickets));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keeping::tests::Told;

    #[test]
    fn keys_of_tickets_that_no_server_gives_are_forgotten_everywhere() {
        let told = Arc::new(Told::default());
        let keeper = Arc::clone(&told) as Keeper;
        let mut kept = TlsKept::inheriting(HashMap::from([(60, vec![1])]), keeper.clone());
        for lifetime_s in [300, 900] {
            let tickets = Tickets::rotating(lifetime_s, None, Some(keeper.clone())).expect("randomness");
            kept.tickets.insert(lifetime_s, Arc::new(tickets));
        }
        let old = Arc::clone(&kept.tickets[&900]);
        told.0.lock().clear();
        kept.begin();
        kept.asked.insert(300);
        kept.settle(&[]);
        told.0.lock().sort_unstable();
        assert_eq!(*told.0.lock(), [(60, None), (900, None)]);
        assert_eq!(kept.tickets.keys().collect::<Vec<_>>(), [&300]);
        old.retire();
        assert_eq!(told.0.lock().len(), 2, "nobody is told again");
    }
}
