//! Conversion between objects and files.

use std::sync::{Arc, Weak};

use myriad_disk::index::{Hashed, Name, Seed, Verdict};
use myriad_disk::{
    Disk, DiskOptions, DiskPool, Filed, MemoryTier, PageBody, PageId, PageParts, ReadPage, Stage, Unwritten,
    write_encoding,
};

use crate::object::Parts;
use crate::{ALTERNATIVES, Alternative, Body, Metadata, Object, Persist};

/// Conversion of the caller's metadata to bytes: functions of [`Persist`], so that the other parts of a zone do not
/// require this trait.
pub(super) struct Codec<M: Metadata> {
    encode: fn(M::View<'_>, &mut Vec<u8>),
    pub(super) decode: fn(&[u8]) -> Option<M>,
    shifted: fn(M, i64) -> M,
    encode_alternative: fn(&M::Alternative, &mut Vec<u8>),
    pub(super) decode_alternative: fn(&[u8]) -> Option<M::Alternative>,
}

/// Disk tier of a zone, with the conversion of its objects.
pub(crate) struct Tier<M: Metadata> {
    pub(crate) disk: Disk,
    pub(super) codec: Codec<M>,
}

impl<M: Persist> Tier<M> {
    pub(crate) fn new(
        options: DiskOptions,
        seed: Seed,
        pool: &DiskPool,
        memory: Weak<dyn MemoryTier>,
    ) -> Self {
        Self {
            disk: Disk::new(options, seed, M::VERSION, pool, memory),
            codec: Codec {
                encode: M::encode,
                decode: M::decode,
                shifted: M::shifted,
                encode_alternative: M::encode_alternative,
                decode_alternative: M::decode_alternative,
            },
        }
    }
}

impl<M: Metadata> Tier<M> {
    /// Returns the identity of an object in the disk tier.
    pub(crate) fn id<'o>(&self, object: &'o Object<M>) -> PageId<'o> {
        PageId {
            key: object.key(),
            hash: self.disk.seed().hash(object.key()),
            selection: object.selection(),
            generation: object.generation(),
        }
    }

    /// Reads the object of a key from a file. A body of more than `most_in_memory` bytes remains in the file. A file
    /// that cannot be that object is removed or quarantined.
    pub(crate) fn read_object(
        &self,
        name: Name,
        most_in_memory: u64,
        now: u64,
        key: Hashed<'_>,
    ) -> Option<Object<M>> {
        let page = self.disk.read(name, most_in_memory, now, key)?;
        let parts = self.parts(page, now);
        if parts.is_none() {
            self.disk.refuse(name, key.hash());
        }
        Some(Object::new(key.bytes(), parts?))
    }

    /// Decodes metadata and adds `shift_ms` to its times.
    pub(super) fn decode(&self, bytes: &[u8], shift_ms: i64) -> Option<M> {
        Some((self.codec.shifted)((self.codec.decode)(bytes)?, shift_ms))
    }

    fn parts(&self, page: ReadPage, now: u64) -> Option<Parts<M>> {
        let mut alternatives = [const { None }; ALTERNATIVES];
        for (index, meta, bytes) in page.encodings {
            let meta = (self.codec.decode_alternative)(&meta)?;
            *alternatives.get_mut(usize::from(index))? = Some(Alternative { bytes, meta });
        }
        Some(Parts {
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

    /// Applies the verdict of the purges up to `number` to a file. Returns whether the object remains.
    pub(crate) fn obey(&self, name: Name, object: &Object<M>, verdict: Verdict, number: u64) -> bool {
        self.disk.obey(name, &self.id(object), verdict, number)
    }

    /// Returns the verdict of `judge` on the page in a file. A page whose metadata cannot be read is removed.
    pub(crate) fn ask_file(
        &self,
        filed: &Filed,
        judge: impl FnOnce(&[u8], M::View<'_>) -> Verdict,
    ) -> Verdict {
        self.disk.ask_file(filed, |key, meta| {
            (self.codec.decode)(meta).map_or(Verdict::Goes, |meta| judge(key, meta.view()))
        })
    }

    /// Queues the write of an object. `is_stored` is called after the write has been registered, and returns false
    /// after a purge; `written` is called with the file.
    pub(crate) fn write(
        self: &Arc<Self>,
        object: &Object<M>,
        is_stored: impl Fn() -> bool,
        written: impl FnOnce(&Self, Name, &Object<M>) + Send + 'static,
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

    fn write_now(&self, object: &Object<M>, id: &PageId<'_>, number: u64) -> Result<Name, Unwritten> {
        let body = object.body();
        let mut file = self.disk.begin_file(id, number, body.len())?;
        if let Some(stored) = body.stored() {
            file.append_stored(stored)?;
        }
        for segment in body.segments() {
            file.append(segment)?;
        }
        self.place(file, object, id, number)
    }

    fn place(
        &self,
        file: Stage,
        object: &Object<M>,
        id: &PageId<'_>,
        number: u64,
    ) -> Result<Name, Unwritten> {
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
        self.disk.place(file, id, &parts, number)
    }

    /// Renames the file of a body too long for memory to its final name.
    ///
    /// `make` creates the object from a body on disk. `is_wanted` is called after the write has been registered, and
    /// returns false after a purge. `passes` is called once the file exists, and returns false if a purge covers it.
    pub(crate) fn place_spilled(
        &self,
        file: Stage,
        is_wanted: impl Fn() -> bool,
        passes: impl FnOnce(&Self, Name, &Object<M>) -> bool,
        make: impl FnOnce(Body) -> Object<M>,
    ) -> Option<Object<M>> {
        // The object has no body yet; the body is created from the file.
        let object = make(Body::default());
        let id = self.id(&object);
        let number = self.disk.begin_write(&id)?;
        if !is_wanted() {
            self.disk.end_write(&id, number);
            return None;
        }
        match self.place(file, &object, &id, number) {
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
