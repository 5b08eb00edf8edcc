//! Ticket keys, session caches and OCSP responses, which outlive a reload: clients resume sessions that started before
//! it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::acme_client::{Question, Staple};
use myriad_conf::Diagnostic;
use myriad_conf::settings::TlsSettings;
use zeroize::Zeroizing;

use super::keeper::KeepTicketKeys;
use super::sessions::SessionStore;
use super::tickets::Tickets;
use crate::offer::spoken::Spoken;

/// Ticket keys, session caches and OCSP responses, passed from one configuration to the next.
#[derive(Default)]
pub struct Kept {
    /// Tickets with generated keys, by their lifetime in seconds.
    tickets: HashMap<u32, Arc<Tickets>>,
    /// Lifetimes used by the configuration being compiled.
    asked: HashSet<u32>,
    /// Session caches, by name.
    caches: HashMap<String, Arc<SessionStore>>,
    /// OCSP responses with their requests.
    staples: Vec<Arc<Staple>>,
    /// Key records of the previous process, by lifetime in seconds; each is taken once.
    recorded: HashMap<u32, Zeroizing<Vec<u8>>>,
    /// Suites and groups of the last compiled server: most servers have the same.
    spoken: Option<Spoken>,
    /// Passes the keys to the next process.
    keeper: Option<Arc<dyn KeepTicketKeys>>,
}

impl Kept {
    /// Starts with the keys of the previous process, as records by lifetime in seconds. `keeper` gets new keys.
    pub fn inheriting(recorded: HashMap<u32, Zeroizing<Vec<u8>>>, keeper: Arc<dyn KeepTicketKeys>) -> Self {
        Self { recorded, keeper: Some(keeper), ..Self::default() }
    }

    /// Starts the compilation of another configuration.
    pub fn begin(&mut self) {
        self.asked.clear();
    }

    /// Drops the ticket keys and OCSP responses that the last compiled configuration, which runs now, does not use;
    /// `staples` are all of its staples. The keeper removes the ticket keys too, so that old sessions are not resumed
    /// when a later configuration has tickets again.
    pub fn settle<'a>(&mut self, staples: impl IntoIterator<Item = &'a Arc<Staple>>) {
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
        let asked: Vec<&Arc<Staple>> = staples.into_iter().collect();
        self.staples.retain(|staple| asked.iter().any(|asked| Arc::ptr_eq(asked, staple)));
    }

    /// Returns the suites and groups of these settings: shared by consecutive servers with the same settings.
    pub(crate) fn spoken(&mut self, settings: &TlsSettings) -> Result<Spoken, Box<Diagnostic>> {
        if let Some(known) = self.spoken.as_ref().filter(|known| known.is_of(settings)) {
            return Ok(known.clone());
        }
        let spoken = Spoken::of(settings)?;
        self.spoken = Some(spoken.clone());
        Ok(spoken)
    }

    /// Returns the cache of a name, shared by all servers that use the name.
    pub(super) fn cache(&mut self, name: &str) -> Arc<SessionStore> {
        Arc::clone(self.caches.entry(name.to_owned()).or_default())
    }

    /// Returns the tickets of a lifetime, shared by all servers with that lifetime; `None` without randomness, in which
    /// case the handshake itself fails.
    pub(super) fn tickets(&mut self, lifetime_s: u32) -> Option<Arc<Tickets>> {
        self.asked.insert(lifetime_s);
        if let Some(tickets) = self.tickets.get(&lifetime_s) {
            return Some(Arc::clone(tickets));
        }
        let record = self.recorded.remove(&lifetime_s);
        let tickets = Arc::new(Tickets::rotating(
            lifetime_s,
            record.as_ref().map(|record| record.as_slice()),
            self.keeper.clone(),
        )?);
        self.tickets.insert(lifetime_s, Arc::clone(&tickets));
        Some(tickets)
    }

    /// Returns the staple of a request: the existing staple, otherwise a new one.
    pub(crate) fn staple(&mut self, question: Question) -> Arc<Staple> {
        if let Some(known) = self.staples.iter().find(|staple| staple.question == question) {
            return Arc::clone(known);
        }
        let staple = Staple::new(question);
        self.staples.push(Arc::clone(&staple));
        staple
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resume::keeper::tests::Told;

    #[test]
    fn keys_of_tickets_that_no_server_gives_are_forgotten_everywhere() {
        let told = Arc::new(Told::default());
        let mut kept = Kept::inheriting(HashMap::from([(60, vec![1].into())]), Arc::clone(&told) as _);
        kept.begin();
        let [_, old] = [300, 900].map(|lifetime_s| kept.tickets(lifetime_s).expect("randomness"));
        told.0.lock().clear();
        kept.begin();
        kept.tickets(300);
        kept.settle([]);
        told.0.lock().sort_unstable();
        assert_eq!(*told.0.lock(), [(60, None), (900, None)]);
        assert_eq!(kept.tickets.keys().collect::<Vec<_>>(), [&300]);
        old.retire();
        assert_eq!(told.0.lock().len(), 2, "nobody is told again");
    }

    #[test]
    fn tickets_and_caches_are_the_same_after_a_reload() {
        let mut kept = Kept::default();
        let before = (kept.tickets(300).unwrap(), kept.cache("one"));
        kept.begin();
        let after = (kept.tickets(300).unwrap(), kept.cache("one"));
        kept.settle([]);
        assert!(Arc::ptr_eq(&before.0, &after.0) && Arc::ptr_eq(&before.1, &after.1));
        assert!(!Arc::ptr_eq(&before.1, &kept.cache("two")));
        assert!(!Arc::ptr_eq(&before.0, &kept.tickets(301).unwrap()));
    }

    #[test]
    fn ocsp_response_is_retained_while_its_query_is_in_use() {
        let question = |name: &str| Question {
            name: name.to_owned(),
            certificate: vec![1],
            issuer: vec![2],
            url: "http://ocsp.test".to_owned(),
            verify: false,
        };
        let mut kept = Kept::default();
        let [one, two] = ["one", "two"].map(|name| kept.staple(question(name)));
        assert!(Arc::ptr_eq(&one, &kept.staple(question("one"))));
        kept.settle([&two]);
        assert!(Arc::ptr_eq(&two, &kept.staple(question("two"))));
        assert!(!Arc::ptr_eq(&one, &kept.staple(question("one"))));
    }
}
