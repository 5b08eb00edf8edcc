//! State of TLS that is kept over reloads, so that clients can resume earlier sessions.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::acme_client::{OcspStaple, StapleRequest};
use myriad_conf::Diagnostic;
use myriad_conf::settings::TlsSettings;
use zeroize::Zeroizing;

use super::sessions::SessionStore;
use super::shared_ticket_keys::SharedTicketKeys;
use super::ticket_key_store::TicketKeyStore;
use super::tickets::TicketCipher;
use crate::offer::supported_suites::SupportedSuites;

/// TLS state passed from one configuration to the next: ticket keys, session caches and OCSP responses.
#[derive(Default)]
pub struct TlsReloadState {
    /// Ticket ciphers with generated keys, by ticket lifetime in seconds.
    tickets: HashMap<u32, Arc<TicketCipher>>,
    /// Ticket lifetimes in seconds that the configuration being compiled uses.
    used_lifetimes: HashSet<u32>,
    /// Session caches by name: that in `ssl_session_cache`, or `early data`.
    caches: HashMap<String, Arc<SessionStore>>,
    /// OCSP responses for stapling, one for each query.
    staples: Vec<Arc<OcspStaple>>,
    /// Serialized ticket keys inherited from the previous process, by ticket lifetime in seconds. Each is used once.
    recorded: HashMap<u32, Zeroizing<Vec<u8>>>,
    /// Cipher suites and groups of the server compiled last, for reuse, because most servers have the same; `None`
    /// before the first server.
    last_suites: Option<SupportedSuites>,
    /// Store that passes ticket keys to the next process; `None` if they are not passed.
    keeper: Option<Arc<dyn TicketKeyStore>>,
}

impl TlsReloadState {
    /// Creates a state with the ticket keys of the previous process: serialized keys by ticket lifetime in seconds. New
    /// keys are passed to `keeper`.
    pub fn with_inherited_keys(
        recorded: HashMap<u32, Zeroizing<Vec<u8>>>,
        keeper: Arc<dyn TicketKeyStore>,
    ) -> Self {
        Self { recorded, keeper: Some(keeper), ..Self::default() }
    }

    /// Clears the set of ticket lifetimes in use, before another configuration is compiled.
    pub fn begin_compilation(&mut self) {
        self.used_lifetimes.clear();
    }

    /// Drops the ticket keys, including inherited ones, and the OCSP responses that the configuration compiled last
    /// does not use; `staples` are all OCSP responses that it uses. The dropped ticket keys are also removed from the
    /// store, so that old sessions cannot be resumed if a later configuration uses tickets again.
    pub fn drop_unused<'a>(&mut self, staples: impl IntoIterator<Item = &'a Arc<OcspStaple>>) {
        self.tickets.retain(|lifetime_s, tickets| {
            let is_used = self.used_lifetimes.contains(lifetime_s);
            if !is_used {
                tickets.retire();
            }
            is_used
        });
        for (lifetime_s, _) in self.recorded.drain() {
            if let Some(keeper) = &self.keeper {
                keeper.ticket_keys(lifetime_s, None);
            }
        }
        let used: Vec<&Arc<OcspStaple>> = staples.into_iter().collect();
        self.staples.retain(|staple| used.iter().any(|used| Arc::ptr_eq(used, staple)));
    }

    /// Returns the sets of ticket keys that the nodes of a cluster may share, one for each ticket lifetime for which
    /// there are generated keys.
    pub fn shared_ticket_keys(&self) -> Vec<Arc<SharedTicketKeys>> {
        self.tickets.values().filter_map(|tickets| tickets.shared_keys().cloned()).collect()
    }

    /// Returns the cipher suites and groups of a server. They are shared with the previous server if the settings are
    /// equal. Fails if no configured suite or group is supported, or an OpenSSL command has no equivalent.
    pub(crate) fn suites(&mut self, settings: &TlsSettings) -> Result<SupportedSuites, Box<Diagnostic>> {
        if let Some(known) = self.last_suites.as_ref().filter(|known| known.has_settings(settings)) {
            return Ok(known.clone());
        }
        let last_suites = SupportedSuites::of(settings)?;
        self.last_suites = Some(last_suites.clone());
        Ok(last_suites)
    }

    /// Returns the TLS session cache with a name, which all servers with this name share.
    pub(super) fn cache(&mut self, name: &str) -> Arc<SessionStore> {
        Arc::clone(self.caches.entry(name.to_owned()).or_default())
    }

    /// Returns the cipher for session tickets of a lifetime, which all servers with this lifetime share. `None` if
    /// random numbers are not available; handshakes fail then as well.
    pub(super) fn tickets(&mut self, lifetime_s: u32) -> Option<Arc<TicketCipher>> {
        self.used_lifetimes.insert(lifetime_s);
        if let Some(tickets) = self.tickets.get(&lifetime_s) {
            return Some(Arc::clone(tickets));
        }
        let record = self.recorded.remove(&lifetime_s);
        let tickets = Arc::new(TicketCipher::rotating(
            lifetime_s,
            record.as_ref().map(|record| record.as_slice()),
            self.keeper.clone(),
        )?);
        self.tickets.insert(lifetime_s, Arc::clone(&tickets));
        Some(tickets)
    }

    /// Returns the stapled response for `question`: that of an earlier configuration, or a new, empty one.
    pub(crate) fn staple(&mut self, question: StapleRequest) -> Arc<OcspStaple> {
        if let Some(known) = self.staples.iter().find(|staple| staple.question == question) {
            return Arc::clone(known);
        }
        let staple = OcspStaple::new(question);
        self.staples.push(Arc::clone(&staple));
        staple
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resume::ticket_key_store::tests::RecordedTicketKeys;

    #[test]
    fn keys_of_tickets_that_no_server_gives_are_forgotten_everywhere() {
        let recorded = Arc::new(RecordedTicketKeys::default());
        let mut state = TlsReloadState::with_inherited_keys(
            HashMap::from([(60, vec![1].into())]),
            Arc::clone(&recorded) as _,
        );
        state.begin_compilation();
        let [_, old] = [300, 900].map(|lifetime_s| state.tickets(lifetime_s).expect("randomness"));
        recorded.0.lock().clear();
        state.begin_compilation();
        state.tickets(300);
        state.drop_unused([]);
        recorded.0.lock().sort_unstable();
        assert_eq!(*recorded.0.lock(), [(60, None), (900, None)]);
        assert_eq!(state.tickets.keys().collect::<Vec<_>>(), [&300]);
        let shared = state.shared_ticket_keys();
        assert_eq!(shared.iter().map(|keys| keys.lifetime_s()).collect::<Vec<_>>(), [300]);
        old.retire();
        assert_eq!(recorded.0.lock().len(), 2, "nobody is told again");
    }

    #[test]
    fn tickets_and_caches_are_the_same_after_a_reload() {
        let mut state = TlsReloadState::default();
        let before = (state.tickets(300).unwrap(), state.cache("one"));
        state.begin_compilation();
        let after = (state.tickets(300).unwrap(), state.cache("one"));
        state.drop_unused([]);
        assert!(Arc::ptr_eq(&before.0, &after.0) && Arc::ptr_eq(&before.1, &after.1));
        assert!(!Arc::ptr_eq(&before.1, &state.cache("two")));
        assert!(!Arc::ptr_eq(&before.0, &state.tickets(301).unwrap()));
    }

    #[test]
    fn ocsp_response_is_retained_while_its_query_is_in_use() {
        let question = |name: &str| StapleRequest {
            name: name.to_owned(),
            certificate: vec![1],
            issuer: vec![2],
            url: "http://ocsp.test".to_owned(),
            verify: false,
        };
        let mut state = TlsReloadState::default();
        let [one, two] = ["one", "two"].map(|name| state.staple(question(name)));
        assert!(Arc::ptr_eq(&one, &state.staple(question("one"))));
        state.drop_unused([&two]);
        assert!(Arc::ptr_eq(&two, &state.staple(question("two"))));
        assert!(!Arc::ptr_eq(&one, &state.staple(question("one"))));
    }
}
