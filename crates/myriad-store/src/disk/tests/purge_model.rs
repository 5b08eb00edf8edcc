//! Random schedules of all kinds of purges over both tiers, with fetches in progress, restarts, kills and power losses.
//!
//! Checked after every step: a page that is found has exactly the bytes of one writer; no active hard purge covers it;
//! if an active soft purge covers it, it is not fresh. A purge is active from its request on, and after a crash if it
//! was completed before. Exact numbers of purged pages are correct.
//!
//! A power loss reverts changes since the last sync, by file and by sector: pages that were written, replaced, removed
//! or marked as stale have their former state, their new state, or are torn.

use std::collections::{BTreeMap, HashMap};

use super::*;
use crate::tests::{GROUPS, asking, labelled, selection};

const KEYS: u8 = 6;
const VALUES: u8 = 3;
const MEMORY: usize = 30_000;
const DISK: u64 = 16 * 4096;
const SECTOR: usize = 512;

struct ModelPage {
    key: u8,
    value: u8,
    /// Step at which the page's fetch began.
    begun: u64,
    len: usize,
}

#[derive(Clone, Copy, Debug)]
enum ModelTarget {
    Key(u8),
    Group(u64),
    KeyOrGroup(u8, u64),
    Rule(u64),
    All,
}

impl ModelTarget {
    fn covers(self, id: u64, key: u8) -> bool {
        match self {
            Self::Key(target) => key == target,
            Self::Group(group) | Self::Rule(group) => id % GROUPS == group,
            Self::KeyOrGroup(target, group) => key == target || id % GROUPS == group,
            Self::All => true,
        }
    }
}

/// Active purge in the model.
struct ModelPurge {
    target: ModelTarget,
    purge: PurgeKind,
    step: u64,
    /// Future of the purge; `None` once it is complete.
    purging: Option<PurgeFuture>,
}

#[derive(Default, Debug)]
struct PurgeEvents {
    memory: u64,
    disk: u64,
    stale: u64,
    absent: u64,
    counted: u64,
    reported: u64,
    flights: u64,
    restarts: u64,
    kills: u64,
    losses: u64,
    undone: u64,
    unanswered: u64,
    syncs: u64,
}

type FileContents = BTreeMap<PathBuf, Vec<u8>>;

struct Model {
    rng: fastrand::Rng,
    folder: Folder,
    fixture: Fixture,
    step: u64,
    expected_pages: HashMap<u64, ModelPage>,
    made: Vec<ModelPurge>,
    flying: Vec<(u64, BodyWriter<TestPage>)>,
    /// Files and snapshot at the last sync, by path.
    durable: FileContents,
    syncs: u64,
    seen: PurgeEvents,
}

impl Model {
    fn new(seed: u64) -> Self {
        let folder = Folder::new();
        let fixture = cramped(&folder, MEMORY, DISK);
        Self {
            rng: fastrand::Rng::with_seed(seed),
            folder,
            fixture,
            step: 0,
            expected_pages: HashMap::new(),
            made: Vec::new(),
            flying: Vec::new(),
            durable: FileContents::new(),
            syncs: 0,
            seen: PurgeEvents::default(),
        }
    }

    fn step(&mut self) {
        self.step += 1;
        self.fixture.now.fetch_add(self.rng.u64(..4000), Relaxed);
        match self.rng.u8(..100) {
            0..18 => {
                let id = self.begin();
                self.complete(id);
            }
            18..24 => _ = self.begin(),
            24..29 => {
                if let Some((id, _)) = self.rng.choice(&self.flying) {
                    let id = *id;
                    self.complete(id);
                }
            }
            29..52 => self.get(),
            52..70 => _ = self.fixture.pool.run_one(self.rng.bool()),
            70..82 => self.fixture.pool.maintain(),
            82..88 => {
                self.seen.reported += self.fixture.zone.maintain_purges(self.rng.usize(1..40)).len() as u64;
            }
            88..95 => self.purge(),
            95 | 96 => self.fixture.recover(),
            97 if self.rng.bool() => self.restart(),
            97 => self.kill(),
            98 => self.lose_power(),
            _ => _ = self.fixture.tend(),
        }
        self.note_answers();
        let syncs = self.fixture.zone.tier().unwrap().disk.syncs();
        if syncs != self.syncs {
            (self.syncs, self.durable) = (syncs, self.files());
            self.seen.syncs += 1;
        }
    }

    /// Starts a fetch. Odd keys have variants.
    fn begin(&mut self) -> u64 {
        let (key, value, id) = (self.rng.u8(..KEYS), self.rng.u8(..VALUES), self.step);
        let len = self.rng.usize(8..9000);
        self.expected_pages.insert(id, ModelPage { key, value, begun: self.step, len });
        let selected = (key % 2 == 1).then(|| selection(b"s", value));
        let now = self.fixture.now();
        let writer = self.fixture.zone.fetch_unshared(KeyRef::new(&page_key(key)), now);
        self.flying.push((id, writer.admit(admission(id, selected))));
        self.seen.flights += 1;
        id
    }

    fn complete(&mut self, id: u64) {
        let at = self.flying.iter().position(|(other, _)| *other == id).unwrap();
        let (_, mut body) = self.flying.swap_remove(at);
        body.push(content(id, self.expected_pages[&id].len).into());
        let stored = body.complete(completion(id, self.fixture.now(), u64::MAX));
        if let Completed::Stored(object) = stored {
            self.may_be_found(&object);
        }
    }

    /// Asserts that no purge forbids serving a page at this moment.
    fn may_be_found(&self, object: &Object<TestPage>) {
        let id = object.meta().id;
        let model_page = &self.expected_pages[&id];
        for made in self
            .made
            .iter()
            .filter(|made| made.step > model_page.begun && made.target.covers(id, model_page.key))
        {
            let what = format!("page {id} of {}, purge {:?} of {}", model_page.begun, made.target, made.step);
            assert!(made.purge == PurgeKind::Soft, "purged: {what}");
            assert!(!object.is_fresh(0), "fresh: {what}");
        }
        assert!(object.body().segments().concat() == content(id, model_page.len), "other bytes");
    }

    fn get(&mut self) {
        let (key, value) = (self.rng.u8(..KEYS), self.rng.u8(..VALUES));
        self.look_up(key, value);
    }

    fn look_up(&mut self, key: u8, value: u8) {
        let bytes = page_key(key);
        let in_memory =
            self.fixture.zone.get(KeyRef::new(&bytes), asking(value), self.fixture.now()).is_some();
        let Some(object) = self.fixture.get(&bytes, asking(value)) else {
            self.seen.absent += 1;
            return;
        };
        *(if in_memory { &mut self.seen.memory } else { &mut self.seen.disk }) += 1;
        self.seen.stale += u64::from(!object.is_fresh(0));
        let model_page = &self.expected_pages[&object.meta().id];
        assert_eq!(model_page.key, key, "another key's page");
        assert!(key.is_multiple_of(2) || model_page.value == value, "another variant");
        self.may_be_found(&object);
    }

    fn purge(&mut self) {
        let (key, group) = (self.rng.u8(..KEYS), self.rng.u64(..GROUPS));
        let target = match self.rng.u8(..9) {
            0..2 => ModelTarget::Key(key),
            2..4 => ModelTarget::Group(group),
            4..6 => ModelTarget::KeyOrGroup(key, group),
            6..8 => ModelTarget::Rule(group),
            _ => ModelTarget::All,
        };
        let purge = if self.rng.bool() { PurgeKind::Hard } else { PurgeKind::Soft };
        // If a purge has not found a page yet, the page hides the older page in its file.
        let all_found = self.made.iter().all(|made| made.purging.is_none())
            && self.fixture.zone.purges_by_rule().is_empty();
        let is_known = self.fixture.stats().recovered && all_found;
        let there = self.shown().into_iter().filter(|(id, key)| target.covers(*id, *key)).count();
        let mut purging = self.ask(target, purge);
        if self.rng.bool() {
            // This job runs before all other pending jobs.
            assert!(self.fixture.pool.run_one(true));
            let end = crate::tests::completed_purge(std::mem::replace(
                &mut purging,
                PurgeFuture::done(Err(PurgeError::Rule)),
            ));
            // A file that the recovery has not found yet is not inspected, but the purge of its key finds it.
            if let PurgeCount::Exact(count) = end.count
                && is_known
            {
                // A file torn by a power loss counts as a page until it is read.
                let is_exact = if self.seen.losses == 0 { count == there } else { count >= there };
                assert!(is_exact, "{count} of {there}: {target:?} {purge:?}");
                self.seen.counted += count as u64;
            }
            self.made.push(ModelPurge { target, purge, step: self.step, purging: None });
        } else {
            self.made.push(ModelPurge { target, purge, step: self.step, purging: Some(purging) });
        }
    }

    fn ask(&self, target: ModelTarget, purge: PurgeKind) -> PurgeFuture {
        let zone = &self.fixture.zone;
        let named = match target {
            ModelTarget::Key(key) | ModelTarget::KeyOrGroup(key, _) => page_key(key),
            _ => Vec::new(),
        };
        let keys = &[KeyRef::new(&named)];
        match target {
            ModelTarget::Key(_) => zone.purge(PurgeScope::Exact { keys, addresses: &[], labels: &[] }, purge),
            ModelTarget::Group(group) => zone.purge(labelled(&[group]), purge),
            ModelTarget::KeyOrGroup(_, group) => {
                zone.purge(PurgeScope::Exact { keys, addresses: &[group], labels: &[] }, purge)
            }
            ModelTarget::Rule(group) => {
                zone.purge(PurgeScope::Rule { name: "rule", rule: &[group as u8] }, purge)
            }
            ModelTarget::All => zone.purge(PurgeScope::All, purge),
        }
    }

    /// Returns writer and key of all pages that an inspection of both tiers returns.
    fn shown(&self) -> Vec<(u64, u8)> {
        let mut ids = Vec::new();
        let mut at = Some(Cursor::default());
        while let Some(cursor) = at {
            let (objects, next) = self.fixture.zone.inspect(cursor);
            ids.extend(objects.iter().map(|object| object.meta().id));
            at = next;
        }
        let mut at = Some(0);
        while let Some(slot) = at {
            let (pages, next) = self.fixture.zone.inspect_disk(slot);
            ids.extend(pages.iter().map(|page| page.meta.id));
            at = next;
        }
        ids.into_iter().map(|id| (id, self.expected_pages[&id].key)).collect()
    }

    fn note_answers(&mut self) {
        for made in &mut self.made {
            let Some(purging) = &mut made.purging else { continue };
            let polled = std::pin::Pin::new(purging).poll(&mut Context::from_waker(Waker::noop()));
            if let Poll::Ready(end) = polled {
                end.unwrap();
                made.purging = None;
            }
        }
    }

    fn restart(&mut self) {
        self.seen.restarts += 1;
        self.flying.clear();
        self.fixture.settle();
        self.fixture.zone.close_disk(std::time::Duration::ZERO);
        self.note_answers();
        self.open_again();
    }

    /// Kills the process; files that it has written remain.
    fn kill(&mut self) {
        self.seen.kills += 1;
        self.forget_unanswered();
        self.open_again();
    }

    fn forget_unanswered(&mut self) {
        self.note_answers();
        self.seen.unanswered += self.made.iter().filter(|made| made.purging.is_some()).count() as u64;
        self.made.retain(|made| made.purging.is_none());
    }

    fn open_again(&mut self) {
        self.flying.clear();
        let now = self.fixture.now();
        self.fixture.die();
        self.fixture = cramped(&self.folder, MEMORY, DISK);
        self.fixture.now.store(now, Relaxed);
        self.syncs = 0;
    }

    fn files(&self) -> FileContents {
        let catalogue = self.folder.path().join(".catalogue");
        let paths = self.folder.files().into_iter().chain(Some(catalogue));
        paths.filter_map(|path| Some((path.clone(), fs::read(path).ok()?))).collect()
    }

    /// Simulates a power loss: only synced data is certain to remain.
    fn lose_power(&mut self) {
        self.seen.losses += 1;
        self.forget_unanswered();
        let log = self.folder.path().join(".purges");
        let before = fs::read(&log).ok();
        if self.rng.bool() {
            // The power fails during this write, so that the purge is never completed.
            self.fixture.pool.run_one(true);
        }
        let after = fs::read(&log).ok();
        self.flying.clear();
        self.fixture.die();
        self.fixture = cramped(&Folder::new(), MEMORY, DISK);
        if let (Some(before), Some(after)) = (&before, &after)
            && before.len() == after.len()
        {
            fs::write(&log, self.torn(before, after)).unwrap();
        }
        let written = self.files();
        let durable = std::mem::take(&mut self.durable);
        let paths: Vec<PathBuf> = written.keys().chain(durable.keys()).cloned().collect();
        for path in paths {
            let (former, new) = (durable.get(&path), written.get(&path));
            if former == new {
                continue;
            }
            self.seen.undone += 1;
            let torn;
            let end = match (self.rng.u8(..3), new) {
                (0, _) => former,
                (1, Some(new)) => {
                    let former = former.filter(|former| former.len() == new.len()).cloned();
                    torn = self.torn(&former.unwrap_or_else(|| vec![0; new.len()]), new);
                    Some(&torn)
                }
                _ => new,
            };
            match end {
                Some(bytes) => {
                    fs::create_dir_all(path.parent().unwrap()).unwrap();
                    fs::write(&path, bytes).unwrap();
                }
                None => _ = fs::remove_file(&path),
            }
        }
        self.durable = self.files();
        self.open_again();
    }

    /// Returns a mixture of sectors of the former and the new bytes.
    fn torn(&mut self, former: &[u8], new: &[u8]) -> Vec<u8> {
        let sectors = former.chunks(SECTOR).zip(new.chunks(SECTOR));
        sectors.flat_map(|(former, new)| if self.rng.bool() { former } else { new }).copied().collect()
    }

    /// Ends the schedule: waits until no purge is retained any more, and asserts that all purges still hold.
    fn finish(&mut self) {
        self.flying.clear();
        self.fixture.recover();
        self.note_answers();
        self.fixture.forget_purges();
        for restarted in [false, true] {
            if restarted {
                self.restart();
                self.fixture.recover();
            }
            (0..KEYS).for_each(|key| (0..VALUES).for_each(|value| self.look_up(key, value)));
        }
    }
}

#[test]
fn hundreds_of_schedules_with_power_losses_bring_nothing_back_that_was_purged() {
    let mut all: Vec<PurgeEvents> = Vec::new();
    for seed in 0..seeds(200) {
        let run = std::panic::catch_unwind(|| {
            let mut model = Model::new(seed);
            (0..200).for_each(|_| model.step());
            model.finish();
            model.seen
        });
        match run {
            Ok(seen) => all.push(seen),
            Err(panic) => {
                eprintln!("seed {seed}");
                std::panic::resume_unwind(panic);
            }
        }
    }
    assert!(
        all.iter().map(|seen| seen.losses).sum::<u64>() >= all.len() as u64,
        "a power loss for each seed"
    );
    let total = |what: fn(&PurgeEvents) -> u64| all.iter().map(what).sum::<u64>();
    let reached = [
        ("memory", total(|s| s.memory)),
        ("disk", total(|s| s.disk)),
        ("stale", total(|s| s.stale)),
        ("absent", total(|s| s.absent)),
        ("counted", total(|s| s.counted)),
        ("told", total(|s| s.reported)),
        ("flights", total(|s| s.flights)),
        ("restarts", total(|s| s.restarts)),
        ("kills", total(|s| s.kills)),
        ("power losses", total(|s| s.losses)),
        ("undone", total(|s| s.undone)),
        ("unanswered", total(|s| s.unanswered)),
        ("syncs", total(|s| s.syncs)),
    ];
    for (what, times) in reached {
        assert!(times >= 50, "{what} were reached only {times} times");
    }
}
