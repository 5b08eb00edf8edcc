//! The disk tier of a zone: pages in files, files as pages.

use std::collections::HashMap;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;

use super::backlog::Backlog;
use super::catalogue::{Filed, Role, Sought, blocks_of, halves};
use super::folder::Folder;
use super::format::{FormatError, HEADER, Kind, PIECE, Sections, variant_hash, write_encoding};
use super::keeper::Keeper;
use super::load::{self, Loaded};
use super::memory_tier::MemoryTier;
use super::name::Name;
use super::options::DiskOptions;
use super::pool::DiskPool;
use super::purges::Purges;
use super::read::{self, Unread};
use super::shelf::Shelf;
use super::stage::{Placing, Stage, Unwritten};
use crate::key::{Hashed, Seed};
use crate::object::Parts;
use crate::purge::Verdict;
use crate::{ALTERNATIVES, Alternative, Body, Metadata, Object, Persist, Selection};

/// Milliseconds after which a page that got another encoding is written anew.
const CHANGED_AFTER_MS: u64 = 2000;
/// Files that are removed at the end of a run, of those that count as gone; others are noted as purged.
const BURIED_AT_LAST: usize = 4096;
/// Files that are to be removed without a look whether they are there; beyond that the disk is asked first.
pub(super) const UNASKED: usize = 1 << 14;
/// Pages that wait to be written anew.
const CHANGED: usize = 4096;

/// The caller's metadata as bytes.
pub(super) struct Codec<M: Metadata> {
    encode: fn(M::View<'_>, &mut Vec<u8>),
    pub(super) decode: fn(&[u8]) -> Option<M>,
    encode_alternative: fn(&M::Alternative, &mut Vec<u8>),
    pub(super) decode_alternative: fn(&[u8]) -> Option<M::Alternative>,
}

/// Hash of the key and generation of a page, and when it is to be written anew.
type Changed = HashMap<(u128, u64), u64>;

pub(crate) struct Tier<M: Metadata> {
    pub(crate) shelf: Arc<Shelf>,
    pub(crate) purges: Arc<Purges>,
    pub(crate) keeper: Arc<Keeper>,
    pub(super) codec: Codec<M>,
    changed: Mutex<Changed>,
    backlog: Backlog,
}

impl<M: Persist> Tier<M> {
    pub(crate) fn new(
        options: DiskOptions,
        seed: Seed,
        pool: &DiskPool,
        memory: Weak<dyn MemoryTier>,
    ) -> Self {
        let shelf = Arc::new(Shelf::new(options, seed, M::VERSION, pool, memory));
        let folder = Arc::new(Folder::new(&shelf));
        let purges = Arc::new(Purges::new(&shelf, &folder));
        Self {
            keeper: Arc::new(Keeper::new(&shelf, &folder, &purges)),
            shelf,
            purges,
            codec: Codec {
                encode: M::encode,
                decode: M::decode,
                encode_alternative: M::encode_alternative,
                decode_alternative: M::decode_alternative,
            },
            changed: Mutex::default(),
            backlog: Backlog::default(),
        }
    }
}

impl<M: Metadata> Tier<M> {
    /// What the catalogue knows a page by: hash of the key, and variant.
    fn named<'o>(&self, object: &'o Object<M>) -> (u128, Option<&'o [u8]>) {
        let variant = object.selection().map(|selection| &*selection.variant);
        (self.shelf.files.seed.hash(object.key()), variant)
    }

    /// Where the page for a request may be.
    pub(crate) fn seek(&self, key: Hashed<'_>, variant: &impl Fn(&[u8], &mut Vec<u8>)) -> Option<Name> {
        if !self.shelf.health.has_begun() {
            return None;
        }
        match self.shelf.catalogue.lock().seek(key.bytes(), key.hash(), variant) {
            Sought::In(name) => Some(name),
            Sought::Absent => None,
        }
    }

    /// Has something done on a thread that reads; false where the queue is full.
    pub(crate) fn on_reader(&self, job: impl FnOnce() + Send + 'static) -> bool {
        self.shelf.pool.read(Box::new(job)).is_ok()
    }

    /// The key of the page in a file.
    pub(crate) fn key_in(&self, name: Name) -> Option<Box<[u8]>> {
        load::load(&self.shelf, name, 0).ok().map(|loaded| loaded.key)
    }

    /// Reads the page of a key from a file. What cannot be that page is dealt with.
    pub(crate) fn read_object(
        &self,
        name: Name,
        most_in_memory: u64,
        now: u64,
        key: Hashed<'_>,
    ) -> Option<Object<M>> {
        let shelf = &self.shelf;
        let hash = key.hash();
        let loaded = match load::load(shelf, name, most_in_memory) {
            Ok(loaded) => loaded,
            Err(Unread::Missing) => {
                shelf.check_presence(name);
                return None;
            }
            Err(Unread::Unfit(why)) => {
                let _stripe = shelf.stripe(hash);
                // It may have been replaced by a sound one while it was read.
                if load::load(shelf, name, most_in_memory).is_err() {
                    shelf.quarantine(name, why);
                }
                return None;
            }
            Err(Unread::Failed(error)) => {
                shelf.unreadable(name, hash, error);
                return None;
            }
        };
        shelf.counts.reads.fetch_add(1, Relaxed);
        if loaded.key[..] != key.bytes()[..] {
            // Two keys of one MD5: the page is another's.
            return None;
        }
        let is_void = loaded.header.generation < shelf.files.barrier.load(Relaxed)
            || shelf.memory.upgrade().is_none_or(|memory| loaded.header.generation >= memory.sequence());
        if is_void {
            shelf.catalogue.lock().doom_unknown(name, hash);
            shelf.bury(name, hash);
            return None;
        }
        self.note_read(name, hash, &loaded, now)?;
        if loaded.header.kind == Kind::Marker {
            return None;
        }
        let parts = self.parts(loaded, now);
        if parts.is_none() {
            let _stripe = shelf.stripe(hash);
            shelf.quarantine(name, FormatError::Foreign);
        }
        Some(Object::new(key.bytes(), parts?))
    }

    /// Enters a file that was read, unless it has been removed meanwhile.
    fn note_read(&self, name: Name, key_hash: u128, loaded: &Loaded, now: u64) -> Option<()> {
        let shelf = &self.shelf;
        let main = Name::of_key(&loaded.key);
        let role = match loaded.header.kind {
            Kind::Marker => Role::Marker,
            Kind::Object if name == main => Role::Plain,
            Kind::Object => Role::Variant,
        };
        let stripe = shelf.stripe(key_hash);
        // Watched first, then looked at: its removal must not fall between the two.
        shelf.files.watch(name);
        if std::fs::symlink_metadata(shelf.files.path(name)).is_err() {
            drop(stripe);
            shelf.check_presence(name);
            return None;
        }
        let mut catalogue = shelf.catalogue.lock();
        if catalogue.is_doomed(name) {
            return None;
        }
        let generation = loaded.header.generation;
        if !catalogue.see(name) {
            let blocks = blocks_of(loaded.len);
            catalogue.take_blocks(blocks);
            let (hash, used_s) = (halves(key_hash), (now / 1000) as u32);
            let variant = variant_hash((role == Role::Variant).then_some(&loaded.variant)) as u32;
            let filed = Filed {
                name,
                hash,
                generation,
                variant,
                blocks,
                used_s,
                role,
                seen: true,
                sure: true,
                share: 0,
            };
            catalogue.enter(filed, &loaded.labels);
        }
        if role != Role::Marker && catalogue.get(name).is_some_and(|filed| filed.generation != generation) {
            // Replaced while it was read; or what was there before came back with a power loss, and no index knows it.
            let is_replaced = read::open(&shelf.files, name).is_ok_and(|file| {
                read::header(&shelf.files, &file).is_ok_and(|(header, _)| header.generation != generation)
            });
            if !is_replaced {
                catalogue.doom(name);
            }
            return None;
        }
        catalogue.touch(name, (now / 1000) as u32);
        if role == Role::Marker {
            catalogue.mark(name, key_hash, &loaded.selector, loaded.header.family);
        }
        Some(())
    }

    /// Up to which number soft purges have counted the page in a file: those do not count it again, however often it is read.
    pub(crate) fn counted_upto(&self, name: Name) -> u64 {
        self.shelf.catalogue.lock().softened_by(name)
    }

    /// Does to a file what a purge says of its page; whether the page stays.
    pub(crate) fn obey(&self, name: Name, object: &Object<M>, verdict: Verdict, number: u64) -> bool {
        let hash = self.shelf.files.seed.hash(object.key());
        let filed = self.shelf.catalogue.lock().get(name);
        if let Some(filed) = filed.filter(|filed| filed.generation == object.generation()) {
            self.shelf.obey(&filed, verdict, number);
            if verdict == Verdict::Goes {
                self.shelf.bury(name, hash);
            }
        }
        verdict != Verdict::Goes
    }

    /// Asks `judge` about the page in a file.
    pub(crate) fn ask_file(
        &self,
        filed: &Filed,
        judge: impl FnOnce(&[u8], M::View<'_>) -> Verdict,
    ) -> Verdict {
        let asked = read::head(&self.shelf.files, filed.name, |header, head| {
            // Replaced since by a page that was asked on its way here, or not what it is taken for.
            let is_it = header.generation == filed.generation;
            is_it.then(|| {
                (self.codec.decode)(head.meta).map_or(Verdict::Goes, |meta| judge(head.key, meta.view()))
            })
        });
        match asked {
            Ok(Some(verdict)) => verdict,
            Err(Unread::Missing) => Verdict::Stays,
            // What cannot be asked is not kept.
            Ok(None) | Err(Unread::Unfit(_) | Unread::Failed(_)) => Verdict::Goes,
        }
    }

    /// A page in memory was purged: its file goes, and what is being written of it.
    pub(crate) fn discard(self: &Arc<Self>, object: &Object<M>) {
        let hash = self.shelf.files.seed.hash(object.key());
        let variant = object.selection().map(|selection| &*selection.variant);
        let bits = variant_hash(variant) as u32;
        let mut catalogue = self.shelf.catalogue.lock();
        catalogue.cancel(hash, variant);
        let is_it = |filed: &&Filed| filed.role != Role::Marker && filed.variant == bits;
        // Those of a family that is no more are of the same variant.
        let files: Vec<Filed> = catalogue.of_hash(hash).filter(is_it).copied().collect();
        for filed in &files {
            if !filed.sure {
                catalogue.doom_unknown(filed.name, hash);
            } else if filed.generation <= object.generation() {
                catalogue.doom(filed.name);
            }
        }
        // The walk that finds the file of a variant later asks the purge.
        if files.is_empty() && !catalogue.complete && variant.is_none() {
            catalogue.doom_unknown(Name::of_key(object.key()), hash);
        }
    }

    /// Whether a page, or a later one, is in its file.
    pub(crate) fn has_file_of(&self, object: &Object<M>) -> bool {
        let (hash, variant) = self.named(object);
        let catalogue = self.shelf.catalogue.lock();
        catalogue.has_page(hash, variant, |generation| generation >= object.generation())
    }

    /// Whether a later page than this is in its file, or on its way there.
    pub(crate) fn has_or_writes_newer(&self, object: &Object<M>) -> bool {
        let (hash, variant) = self.named(object);
        let catalogue = self.shelf.catalogue.lock();
        catalogue.writes_newer(hash, variant, object.generation())
            || catalogue.has_page(hash, variant, |generation| generation > object.generation())
    }

    fn parts(&self, loaded: Loaded, now: u64) -> Option<Parts<M>> {
        let mut alternatives = [const { None }; ALTERNATIVES];
        for (index, meta, bytes) in loaded.encodings {
            let meta = (self.codec.decode_alternative)(&meta)?;
            *alternatives.get_mut(usize::from(index))? = Some(Alternative { bytes, meta });
        }
        let header = loaded.header;
        let selection = (header.family != 0)
            .then(|| Selection { selector: loaded.selector.into(), variant: loaded.variant.into() });
        Some(Parts {
            meta: (self.codec.decode)(&loaded.meta)?,
            body: loaded.body,
            selection,
            generation: header.generation,
            stored_at: header.stored_at,
            fresh_until: header.fresh_until,
            alternatives,
            now,
        })
    }

    /// Has a page written. `is_stored` says, once the write has begun, whether no purge has come before it; `written` is told
    /// of the file.
    pub(crate) fn write(
        self: &Arc<Self>,
        object: &Object<M>,
        is_stored: impl Fn() -> bool,
        written: impl FnOnce(&Self, Name, &Object<M>) + Send + 'static,
    ) {
        let hash = self.shelf.files.seed.hash(object.key());
        let variant = object.selection().map(|selection| &*selection.variant);
        // A later page of the same key is on its way.
        let begun = self.shelf.catalogue.lock().begin_write(hash, variant, object.generation());
        let Some(number) = begun else { return };
        if !is_stored() {
            self.shelf.catalogue.lock().end_write(hash, variant, number);
            return;
        }
        let (tier, page) = (Arc::clone(self), object.clone());
        let job = move || {
            match tier.write_now(&page, hash, number) {
                Ok(name) => written(&tier, name, &page),
                Err(Unwritten::Unwanted) => {}
                Err(Unwritten::NoRoom | Unwritten::Failed) => {
                    tier.abandon(&page, hash, number);
                    // The lease went while it waited: it may come back.
                    if !tier.shelf.lease.is_lost() || !tier.backlog.push(hash) {
                        tier.shelf.counts.dropped.fetch_add(1, Relaxed);
                    }
                }
            }
        };
        let may_write = self.shelf.health.has_begun() && self.shelf.may_write();
        if may_write && self.shelf.pool.write(object.weight(), Box::new(job)).is_ok() {
            return;
        }
        self.abandon(object, hash, number);
        // While the folder is another process's, which may end before this one.
        let is_early = self.shelf.health.has_begun() && !self.shelf.lease.is_held();
        if !(may_write || is_early) || !self.backlog.push(hash) {
            self.shelf.counts.dropped.fetch_add(1, Relaxed);
        }
    }

    /// A write that came to nothing: what it was to replace is older than what is in memory, and goes.
    pub(super) fn abandon(&self, object: &Object<M>, hash: u128, number: u64) {
        let shelf = &self.shelf;
        let (key, selection) = (object.key(), object.selection());
        let main = Name::of_key(key);
        let name = {
            let mut catalogue = shelf.catalogue.lock();
            if !catalogue.end_write(hash, selection.map(|selection| &*selection.variant), number) {
                return;
            }
            let name = match (selection, catalogue.marker(main)) {
                (Some(own), Some(marker)) if own.selector == marker.selector => {
                    Name::of_variant(key, marker.family, &own.variant)
                }
                // A marker that nobody has read may say the same.
                (Some(_), None) if catalogue.get(main).is_none_or(|filed| filed.role != Role::Plain) => {
                    return;
                }
                _ => main,
            };
            match catalogue.get(name) {
                Some(filed) if filed.generation > object.generation() => return,
                Some(_) => return catalogue.doom(name),
                None if catalogue.complete => return,
                // A worker does not wait for a disk that has too much to do: whoever removes the file soon sees whether it is there.
                None if shelf.lease.is_held() && catalogue.doomed() < UNASKED => {
                    return catalogue.doom_unknown(name, hash);
                }
                None => name,
            }
        };
        // What is not there need not be remembered: visitors choose how many such there are.
        if std::fs::symlink_metadata(shelf.files.path(name)).is_ok() {
            let mut catalogue = shelf.catalogue.lock();
            if catalogue.get(name).is_none_or(|filed| filed.generation <= object.generation()) {
                catalogue.doom_unknown(name, hash);
            }
        }
    }

    fn write_now(&self, object: &Object<M>, hash: u128, number: u64) -> Result<Name, Unwritten> {
        let variant = object.selection().map(|selection| &*selection.variant);
        if !self.shelf.catalogue.lock().is_wanted(hash, variant, number) {
            return Err(Unwritten::Unwanted);
        }
        let body = object.body();
        let mut stage = Stage::begin(&self.shelf, HEADER as u64 + body.len())?;
        if let Some(stored) = body.stored() {
            let open = stored.open_now().ok_or(Unwritten::Failed)?;
            let mut at = 0;
            while at < body.len() {
                let piece = open.piece(at, body.len()).map_err(|_| Unwritten::Failed)?;
                at += PIECE.min(piece.len() as u64);
                stage.append(&piece)?;
            }
        }
        for segment in body.segments() {
            stage.append(segment)?;
        }
        self.place(stage, object, hash, number)
    }

    fn place(&self, stage: Stage, object: &Object<M>, hash: u128, number: u64) -> Result<Name, Unwritten> {
        let mut meta = Vec::with_capacity(1024);
        (self.codec.encode)(object.meta(), &mut meta);
        let (mut encodings, mut own) = (Vec::new(), Vec::new());
        for index in 0..ALTERNATIVES as u8 {
            if let Some(alternative) = object.alternative(index) {
                own.clear();
                (self.codec.encode_alternative)(&alternative.meta, &mut own);
                write_encoding(index, &own, &alternative.bytes, &mut encodings);
            }
        }
        let mut labels = Vec::new();
        object.labels(&mut |label| labels.push(label));
        let selection = object.selection();
        let variant = selection.map(|selection| &*selection.variant);
        stage.place(Placing {
            sections: Sections {
                kind: Kind::Object,
                version: self.shelf.files.version,
                generation: object.generation(),
                family: 0,
                stored_at: object.stored_at(),
                fresh_until: object.fresh_until(),
                labels: &labels,
                key: object.key(),
                key_hash: hash,
                selector: selection.map_or(&[], |selection| &*selection.selector),
                variant: variant.unwrap_or_default(),
                meta: &meta,
                encodings: &encodings,
            },
            variant,
            number,
            used_s: object.last_used_s(),
        })
    }

    /// Gives a spilled body its name. `make` makes the object of a body on disk; `is_wanted` says, once the write has
    /// begun, whether no purge has come before it, and `passes` once it is there, whether one covers it.
    pub(crate) fn place_spilled(
        &self,
        stage: Stage,
        key: Hashed<'_>,
        is_wanted: impl Fn() -> bool,
        passes: impl FnOnce(&Self, Name, &Object<M>) -> bool,
        make: impl FnOnce(Body) -> Object<M>,
    ) -> Option<Object<M>> {
        let hash = key.hash();
        // The object without its body yet: the file is what makes that one.
        let object = make(Body::default());
        let variant = object.selection().map(|selection| &*selection.variant);
        let number = self.shelf.catalogue.lock().begin_write(hash, variant, object.generation())?;
        if !is_wanted() {
            self.shelf.catalogue.lock().end_write(hash, variant, number);
            return None;
        }
        match self.place(stage, &object, hash, number) {
            Ok(name) if !passes(self, name, &object) => None,
            // By now the file may be a later fetch's, or another process's.
            Ok(name) => match load::load(&self.shelf, name, 0) {
                Ok(loaded) if loaded.header.generation == object.generation() => {
                    object.with_body(loaded.body)
                }
                Ok(_) | Err(_) => None,
            },
            Err(Unwritten::Unwanted) => None,
            Err(_) => {
                self.shelf.counts.dropped.fetch_add(1, Relaxed);
                self.abandon(&object, hash, number);
                None
            }
        }
    }

    /// Notes that a page got another encoding, or other validity, which its file does not know.
    pub(crate) fn note_changed(&self, object: &Object<M>, now: u64) {
        let mut changed = self.changed.lock();
        if changed.len() < CHANGED {
            let due = now.saturating_add(CHANGED_AFTER_MS);
            let hash = self.shelf.files.seed.hash(object.key());
            changed.entry((hash, object.generation())).or_insert(due);
        }
    }

    /// The turn of a key has come of which memory has nothing any more.
    pub(crate) fn miss_turn(&self, hash: u128) {
        // Where there is a file, a later turn of the same key came to it.
        if self.shelf.catalogue.lock().of_hash(hash).next().is_none() {
            self.shelf.counts.dropped.fetch_add(1, Relaxed);
        }
    }

    /// Keys of pages that came when the disk had too much to do, as many as it has time for now.
    pub(crate) fn take_backlog(&self) -> Vec<u128> {
        if !self.shelf.may_write() {
            return Vec::new();
        }
        self.backlog.take(self.shelf.pool.room_to_write())
    }

    /// The changed pages whose time has come: hash of the key, generation.
    pub(crate) fn take_changed(&self, now: u64) -> Vec<(u128, u64)> {
        let mut due = Vec::new();
        self.changed.lock().retain(|page, at| {
            if *at <= now {
                due.push(*page);
            }
            *at > now
        });
        due
    }

    /// Removes all files of a key, soon; how many objects that were.
    pub(crate) fn remove(&self, key: Hashed<'_>) -> usize {
        let (count, doomed) = {
            let mut catalogue = self.shelf.catalogue.lock();
            (catalogue.remove_key(key.bytes(), key.hash()), catalogue.doomed() > 0)
        };
        if doomed {
            self.shelf.bury_soon();
        }
        count
    }

    /// As [`Self::remove`], but for files of fetches that began at `generation` or later, which stay. `is_overtaken` says that
    /// memory has such a page.
    pub(crate) fn remove_older(&self, key: Hashed<'_>, generation: u64, is_overtaken: bool) -> usize {
        let (older, is_overtaken) = {
            let catalogue = self.shelf.catalogue.lock();
            let mut files: Vec<Filed> = catalogue.of_hash(key.hash()).copied().collect();
            files.retain(|filed| filed.role != Role::Marker);
            let all = files.len();
            files.retain(|filed| filed.generation < generation);
            (files.clone(), is_overtaken || files.len() < all)
        };
        if !is_overtaken {
            return self.remove(key);
        }
        for filed in &older {
            self.shelf.obey(filed, Verdict::Goes, 0);
        }
        if !older.is_empty() {
            self.shelf.bury_soon();
        }
        older.len()
    }

    /// Removes all files, soon. What a recovery has yet to find counts as removed if it was fetched before `sequence`.
    pub(crate) fn clear(&self, sequence: u64) -> usize {
        self.shelf.files.barrier.fetch_max(sequence, Relaxed);
        let count = self.shelf.catalogue.lock().remove_all();
        self.shelf.bury_soon();
        count
    }

    /// Writes what waits, and the catalogue, for the next start. What could not be written in time is purged from it: its former
    /// file must not come back as if it were the page.
    pub(crate) fn close(&self, patience: Duration) {
        let shelf = &self.shelf;
        shelf.pool.settle(patience);
        shelf.health.closed.store(true, Relaxed);
        // What was begun before that.
        let settled = shelf.pool.settle(patience);
        if shelf.lease.is_lost() {
            // What another process has written is of no past that this one knows.
            return;
        }
        shelf.bury_doomed(BURIED_AT_LAST);
        self.keeper.write_last_snapshot(settled);
        self.purges.void(self.backlog.take(usize::MAX));
        shelf.lease.leave();
    }
}
