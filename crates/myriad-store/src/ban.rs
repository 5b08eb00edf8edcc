//! Purges that are not of one key: what they cover is told of each object when it is looked up.
//!
//! ```text
//!   ban --> live: asked at look-ups and by fetches that end --> swept: every stored object was asked
//!             '------------------------ no fetch from before it is left --------------'--> retired
//! ```
//!
//! A ban has a number out of the sequence that also numbers fetches, so what it covers is what began before it,
//! whatever the clocks say. An object that no ban covers remembers the newest it was asked by: each ban costs one question.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};

use parking_lot::RwLock;

use crate::{Metadata, Object};

/// What a purge does with what it covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purge {
    /// Takes it out.
    Hard,
    /// Leaves it, stale from this moment on: the next visitor has it refreshed.
    Soft,
}

/// Whether a purge covers a stored object, by its key and metadata.
pub type Covers<M> = Box<dyn Fn(&[u8], &M) -> bool + Send + Sync>;

/// A purge whose objects were all found; see [`crate::Zone::tend_bans`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retired {
    /// What the purge was called when it was made.
    pub name: Arc<str>,
    /// Its place in the zone's sequence.
    pub number: u64,
    /// Objects that were taken out, or made stale.
    pub count: usize,
}

pub(crate) struct Ban<M: Metadata> {
    pub(crate) name: Arc<str>,
    pub(crate) number: u64,
    pub(crate) purge: Purge,
    covers: Covers<M>,
    pub(crate) count: AtomicUsize,
    /// Whether every object stored before it was asked; what is left are fetches.
    swept: AtomicBool,
    /// Whether its end is told.
    told: bool,
}

impl<M: Metadata> Ban<M> {
    pub(crate) fn covers(&self, key: &[u8], meta: &M) -> bool {
        (self.covers)(key, meta)
    }
}

/// The bans of a zone that are not retired.
pub(crate) struct Bans<M: Metadata> {
    /// The number of the newest, zero where there is none: most look-ups read nothing else.
    newest: AtomicU64,
    live: RwLock<Vec<Arc<Ban<M>>>>,
}

impl<M: Metadata> Bans<M> {
    pub(crate) fn new() -> Self {
        Self { newest: AtomicU64::new(0), live: RwLock::new(Vec::new()) }
    }

    /// Adds a ban under the number that `sequence` gives: numbers and list go up together.
    pub(crate) fn add(
        &self,
        sequence: &AtomicU64,
        name: Arc<str>,
        purge: Purge,
        covers: Covers<M>,
        told: bool,
    ) -> Arc<Ban<M>> {
        let mut live = self.live.write();
        let ban = Arc::new(Ban {
            name,
            number: sequence.fetch_add(1, SeqCst),
            purge,
            covers,
            count: AtomicUsize::new(0),
            swept: AtomicBool::new(false),
            told,
        });
        live.push(Arc::clone(&ban));
        self.newest.store(ban.number, SeqCst);
        ban
    }

    /// Whether a ban is newer than `number`.
    #[inline]
    pub(crate) fn any_since(&self, number: u64) -> bool {
        self.newest.load(SeqCst) > number
    }

    /// The bans whose number is above `number`, oldest first.
    pub(crate) fn since(&self, number: u64) -> Vec<Arc<Ban<M>>> {
        self.live.read().iter().filter(|ban| ban.number > number).map(Arc::clone).collect()
    }

    /// Judges a stored object: what covers it makes it stale, or says that it must go, and is counted. It is asked by each
    /// ban once.
    #[cold]
    pub(crate) fn judge(&self, object: &Object<M>) -> Verdict {
        self.judge_by(object, |ban| _ = ban.count.fetch_add(1, Relaxed))
    }

    /// As [`Self::judge`], of an object that is about to be stored: it was not there to be purged.
    #[cold]
    pub(crate) fn judge_arriving(&self, object: &Object<M>) -> Verdict {
        self.judge_by(object, |_| {})
    }

    fn judge_by(&self, object: &Object<M>, count: impl Fn(&Ban<M>)) -> Verdict {
        let live = self.live.read();
        let Some(newest) = live.last().map(|ban| ban.number) else { return Verdict::Stays };
        let since = object.asked_by();
        for ban in live.iter().filter(|ban| ban.number > since) {
            if !ban.covers(object.key(), object.meta()) {
                continue;
            }
            count(ban);
            if ban.purge == Purge::Hard {
                return Verdict::Goes;
            }
            object.expire();
        }
        object.note_asked(newest);
        Verdict::Stays
    }

    /// Whether a flight that began at `generation` takes no newcomers: a ban covers its head, or may, once there is one.
    #[cold]
    pub(crate) fn may_cover(&self, generation: u64, key: &[u8], head: Option<&M>) -> bool {
        let live = self.live.read();
        live.iter()
            .filter(|ban| ban.number > generation)
            .any(|ban| head.is_none_or(|head| ban.covers(key, head)))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.newest.load(SeqCst) == 0
    }

    pub(crate) fn newest(&self) -> u64 {
        self.newest.load(SeqCst)
    }

    /// Notes that all objects from before `number` were asked by the bans up to it.
    pub(crate) fn note_swept(&self, number: u64) {
        self.live
            .read()
            .iter()
            .filter(|ban| ban.number <= number)
            .for_each(|ban| ban.swept.store(true, SeqCst));
    }

    /// Drops the bans that were swept and have no fetch from before them, the oldest of which began at `oldest`.
    pub(crate) fn retire(&self, oldest: u64) -> Vec<Retired> {
        let mut live = self.live.write();
        let mut retired = Vec::new();
        live.retain(|ban| {
            let over = ban.swept.load(SeqCst) && ban.number < oldest;
            if over && ban.told {
                let count = ban.count.load(Relaxed);
                retired.push(Retired { name: Arc::clone(&ban.name), number: ban.number, count });
            }
            !over
        });
        self.newest.store(live.last().map_or(0, |ban| ban.number), SeqCst);
        retired
    }
}

/// What the bans say of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Stays,
    Goes,
}

impl<M: Metadata> fmt::Debug for Bans<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bans").field("newest", &self.newest).finish_non_exhaustive()
    }
}
