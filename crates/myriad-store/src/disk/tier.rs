//! Disk tier of a zone: conversion between objects and files.

use std::sync::{Arc, Weak};

use myriad_disk::index::{FileName, HashedKeyRef, PurgeVerdict, Seed};
use myriad_disk::{
    DiskOptions, DiskPool, DiskStore, IndexedFile, MemoryTier, PageBody, PageId, PageParts, ReadPage,
    StagedFile, WriteFailure, write_encoding,
};

use crate::object::ObjectParts;
use crate::{ALTERNATIVES, AlternativeEncoding, Body, Metadata, Object, Persist};

/// Conversion of the caller's metadata to bytes and back. Contains the functions of [`Persist`], so that other parts of
/// a zone need not require that trait.
pub(super) struct MetaCodec<M: Metadata> {
    encode: fn(M::MetaView<'_>, &mut Vec<u8>),
    pub(super) decode: fn(&[u8]) -> Option<M>,
    shifted: fn(M, i64) -> M,
    encode_alternative: fn(&M::EncodingMeta, &mut Vec<u8>),
    pub(super) decode_alternative: fn(&[u8]) -> Option<M::EncodingMeta>,
}

/// Disk tier of a zone, with the conversion of objects to pages in files and back.
pub(crate) struct DiskTier<M: Metadata> {
    pub(crate) disk: DiskStore,
    pub(super) codec: MetaCodec<M>,
}

impl<M: Persist> DiskTier<M> {
    pub(crate) fn new(
        options: DiskOptions,
        seed: Seed,
        pool: &DiskPool,
        memory: Weak<dyn MemoryTier>,
    ) -> Self {
        Self {
            disk: DiskStore::new(options, seed, M::VERSION, pool, memory),
            codec: MetaCodec {
                encode: M::encode,
                decode: M::decode,
                shifted: M::shifted,
                encode_alternative: M::encode_alternative,
                decode_alternative: M::decode_alternative,
            },
        }
    }
}

impl<M: Metadata> DiskTier<M> {
    /// Returns the identity of an object (key, variant, fetch) for the disk tier.
    pub(crate) fn id<'o>(&self, object: &'o Object<M>) -> PageId<'o> {
        PageId {
            key: object.key(),
            hash: self.disk.seed().hash(object.key()),
            selection: object.selection(),
            generation: object.generation(),
        }
    }

    /// Reads the object of a key from a file. A body longer than `most_in_memory` and 256 KB is left in the file.
    /// Returns `None` if the file is missing, does not belong to the key, or cannot be used; an invalid file is
    /// quarantined.
    pub(crate) fn read_object(
        &self,
        name: FileName,
        most_in_memory: u64,
        now: u64,
        key: HashedKeyRef<'_>,
    ) -> Option<Object<M>> {
        let page = self.disk.read(name, most_in_memory, now, key)?;
        let parts = self.parts(page, now);
        if parts.is_none() {
            self.disk.quarantine_unreadable(name, key.hash());
        }
        Some(Object::new(key.bytes(), parts?))
    }

    /// Decodes an object's metadata from a file, and adds `shift_ms` milliseconds to its times. Returns `None` if the
    /// bytes are invalid.
    pub(super) fn decode(&self, bytes: &[u8], shift_ms: i64) -> Option<M> {
        Some((self.codec.shifted)((self.codec.decode)(bytes)?, shift_ms))
    }

    fn parts(&self, page: ReadPage, now: u64) -> Option<ObjectParts<M>> {
        let mut alternatives = [const { None }; ALTERNATIVES];
        for (index, meta, bytes) in page.encodings {
            let meta = (self.codec.decode_alternative)(&meta)?;
            *alternatives.get_mut(usize::from(index))? = Some(AlternativeEncoding { bytes, meta });
        }
        Some(ObjectParts {
            meta: self.decode(&page.meta, page.shift_ms)?,
            body: page.body.into(),
            selection: page.selection,
            generation: page.generation,
            stored_at: page.stored_at,
            fresh_until: page.fresh_until,
            alternatives,
            now,
        })
    }

    /// Applies the combined verdict of the purges up to `number` to the file of an object. Returns false if the verdict
    /// is `Removed`.
    pub(crate) fn apply_verdict(
        &self,
        name: FileName,
        object: &Object<M>,
        verdict: PurgeVerdict,
        number: u64,
    ) -> bool {
        self.disk.apply_verdict(name, &self.id(object), verdict, number)
    }

    /// Returns the verdict of `judge` on the page in a file, from its key and metadata. A missing file is `Unaffected`.
    /// A file that cannot be read or decoded, or contains a page of another fetch than its index entry, is `Removed`.
    pub(crate) fn judge_file_with(
        &self,
        filed: &IndexedFile,
        judge: impl FnOnce(&[u8], M::MetaView<'_>) -> PurgeVerdict,
    ) -> PurgeVerdict {
        self.disk.judge_file_with(filed, |key, meta| {
            (self.codec.decode)(meta).map_or(PurgeVerdict::Removed, |meta| judge(key, meta.view()))
        })
    }

    /// Queues the write of an object; has no effect if a later page of the same key and variant is being written.
    /// `is_stored` is called once the write is registered, and must return false if a purge has removed the object
    /// meanwhile. `written` is called with the name of the complete file, unless the write fails.
    pub(crate) fn write(
        self: &Arc<Self>,
        object: &Object<M>,
        is_stored: impl Fn() -> bool,
        written: impl FnOnce(&Self, FileName, &Object<M>) + Send + 'static,
    ) {
        let id = self.id(object);
        let Some(number) = self.disk.begin_write(&id) else { return };
        if !is_stored() {
            self.disk.end_write(&id, number);
            return;
        }
        let (tier, page) = (Arc::clone(self), object.clone());
        let job = move || {
            let id = tier.id(&page);
            match tier.write_now(&page, &id, number) {
                Ok(name) => written(&tier, name, &page),
                Err(why) => tier.disk.write_failed(&id, number, &why),
            }
        };
        self.disk.queue_write(&id, number, object.weight(), Box::new(job));
    }

    fn write_now(&self, object: &Object<M>, id: &PageId<'_>, number: u64) -> Result<FileName, WriteFailure> {
        let body = object.body();
        let mut file = self.disk.begin_file(id, number, body.len())?;
        if let Some(stored) = body.stored() {
            file.append_stored(stored)?;
        }
        for segment in body.segments() {
            file.append(segment)?;
        }
        self.commit_file(file, object, id, number)
    }

    fn commit_file(
        &self,
        file: StagedFile,
        object: &Object<M>,
        id: &PageId<'_>,
        number: u64,
    ) -> Result<FileName, WriteFailure> {
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
        let parts = PageParts {
            stored_at: object.stored_at(),
            fresh_until: object.fresh_until(),
            used_s: object.last_used_s(),
            labels: &labels,
            meta: &meta,
            encodings: &encodings,
        };
        self.disk.commit_file(file, id, &parts, number)
    }

    /// Completes the file of a body too long for memory and renames it to its final name. Returns the object, or `None`
    /// if it was not stored.
    ///
    /// `make` creates the object from its body. `is_wanted` is called once the write is registered, and must return
    /// false if the object was purged. `passes` is called once the file has its final name, and must return false if a
    /// purge covers it.
    pub(crate) fn commit_spilled(
        &self,
        file: StagedFile,
        is_wanted: impl Fn() -> bool,
        passes: impl FnOnce(&Self, FileName, &Object<M>) -> bool,
        make: impl FnOnce(Body) -> Object<M>,
    ) -> Option<Object<M>> {
        // The object initially has no body; its body is created from the complete file.
        let object = make(Body::default());
        let id = self.id(&object);
        let number = self.disk.begin_write(&id)?;
        if !is_wanted() {
            self.disk.end_write(&id, number);
            return None;
        }
        match self.commit_file(file, &object, &id, number) {
            Ok(name) if !passes(self, name, &object) => None,
            Ok(name) => {
                // The file may already have been replaced by a later fetch or another process.
                let body = self.disk.body_of(name, object.generation())?;
                object.with_body(body.into())
            }
            Err(why) => {
                self.disk.spill_failed(&id, number, &why);
                None
            }
        }
    }
}

impl From<PageBody> for Body {
    fn from(body: PageBody) -> Self {
        match body {
            PageBody::Whole(bytes) => Self::compact([&bytes], bytes.len() as u64),
            PageBody::Stored(stored) => Self::on_disk(stored),
        }
    }
}
