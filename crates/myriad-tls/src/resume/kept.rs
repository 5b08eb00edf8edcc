//! Ticket keys, session caches and OCSP answers, which outlive a reload: clients resume sessions that began before it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use myriad_acme::{Question, Staple};
use myriad_conf::Diagnostic;
use myriad_conf::settings::TlsSettings;
use zeroize::Zeroizing;

use super::keeper::KeepTicketKeys;
use super::sessions::SessionStore;
use super::tickets::Tickets;
use crate::offer::spoken::Spoken;

/// Keys of tickets, caches of sessions and OCSP answers, from one configuration to the next.
#[derive(Default)]
pub struct Kept {
    /// Tickets with keys of our own, by their life time in seconds.
    tickets: HashMap<u32, Arc<Tickets>>,
    /// The life times that the configuration which is compiled asks for.
    asked: HashSet<u32>,
    /// Caches of sessions, by name.
    caches: HashMap<String, Arc<SessionStore>>,
    /// OCSP answers with their questions.
    staples: Vec<Arc<Staple>>,
    /// Records of the keys of the process before this one, by life time in seconds; each is taken once.
    recorded: HashMap<u32, Zeroizing<Vec<u8>>>,
    /// What the server that was compiled last speaks: most speak the same.
    spoken: Option<Spoken>,
    /// Hands the keys to the process after this one.
    keeper: Option<Arc<dyn KeepTicketKeys>>,
}

impl Kept {
    /// Begins with the keys of the process before, as records by life time in seconds. `keeper` is told of new ones.
    pub fn inheriting(recorded: HashMap<u32, Zeroizing<Vec<u8>>>, keeper: Arc<dyn KeepTicketKeys>) -> Self {
        Self { recorded, keeper: Some(keeper), ..Self::default() }
    }

    /// Begins with the compilation of another configuration.
    pub fn begin(&mut self) {
        self.asked.clear();
    }

    /// Forgets what the configuration that was compiled last, and runs now, does not ask; `staples` are all of its own. The keeper
    /// is told to forget keys of tickets too, so that old sessions are not resumed when a later configuration has tickets again.
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

    /// The suites and groups that settings come to: one piece of memory for all servers, one after another, that speak the same.
    pub(crate) fn spoken(&mut self, settings: &TlsSettings) -> Result<Spoken, Box<Diagnostic>> {
        if let Some(known) = self.spoken.as_ref().filter(|known| known.is_of(settings)) {
            return Ok(known.clone());
        }
        let spoken = Spoken::of(settings)?;
        self.spoken = Some(spoken.clone());
        Ok(spoken)
    }

    /// The cache of a name, which all servers that name it share.
    pub(super) fn cache(&mut self, name: &str) -> Arc<SessionStore> {
        Arc::clone(self.caches.entry(name.to_owned()).or_default())
    }

    /// The tickets of a life time, which all servers that have it share. Without randomness there are none; then the
    /// handshake itself is going to say so.
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

    /// The place of an answer: the one that there is for the question, else a new one.
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
    fn an_answer_stays_while_somebody_asks_for_it() {
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
