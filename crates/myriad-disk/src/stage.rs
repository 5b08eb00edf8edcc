//! Writing of a file under a temporary name, which is then renamed.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use crate::index::Name;

use crate::catalogue::{Filed, Role, blocks_of, halves};
use crate::faults::Operation;
use crate::files::make_folder;
use crate::format::{HEADER, Kind, PIECE, PieceSums, Sections, variant_hash};
use crate::load;
use crate::shelf::Shelf;
use crate::stored_body::StoredBody;

/// Reason why a file was not written.
#[derive(Debug)]
pub enum Unwritten {
    /// A purge covers it, or a later write of the same object has begun.
    Unwanted,
    /// No space is left for it, or a section is too long.
    NoRoom,
    /// A system error occurred, which has already been reported.
    Failed,
}

/// Temporary file with its reserved blocks. Dropping it releases both, unless it has been renamed.
pub struct Stage {
    shelf: Arc<Shelf>,
    file: File,
    path: PathBuf,
    blocks: u32,
    body_len: u64,
    sums: PieceSums,
    named: bool,
}

/// Parts that complete a temporary file with a whole body.
pub(crate) struct Placing<'a> {
    /// Sections; `family` is set by [`Stage::place`].
    pub(crate) sections: Sections<'a>,
    /// Variant, if the page has a selector.
    pub(crate) variant: Option<&'a [u8]>,
    /// Number of the write.
    pub(crate) number: u64,
    /// Time of the page's last use, in seconds since the epoch.
    pub(crate) used_s: u32,
}

impl Stage {
    /// Begins a file of about `len` bytes.
    pub(crate) fn begin(shelf: &Arc<Shelf>, len: u64) -> Result<Self, Unwritten> {
        if !shelf.may_write() {
            return Err(Unwritten::Failed);
        }
        let blocks = blocks_of(len);
        if !shelf.make_room(blocks) {
            return Err(Unwritten::NoRoom);
        }
        Self::create(shelf, blocks)
    }

    /// Creates a file with blocks that have been reserved for it.
    fn create(shelf: &Arc<Shelf>, blocks: u32) -> Result<Self, Unwritten> {
        let (path, created) = loop {
            let path = shelf.files.temporary().join(format!("{:x}", shelf.files.next_number()));
            match shelf.files.faults.pass(Operation::Create, &path).and_then(|()| create(&path)) {
                // A file of a start whose number was lost.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                created => break (path, created),
            }
        };
        match created {
            Ok(file) => Ok(Self {
                shelf: Arc::clone(shelf),
                file,
                path,
                blocks,
                body_len: 0,
                sums: PieceSums::default(),
                named: false,
            }),
            Err(error) => {
                shelf.catalogue.lock().return_blocks(blocks);
                shelf.health.failed("open()", &path, error);
                Err(Unwritten::Failed)
            }
        }
    }

    /// Reserves blocks until the file has enough for `len` bytes.
    fn hold(&mut self, len: u64) -> Result<(), Unwritten> {
        let blocks = blocks_of(len);
        if len > self.shelf.most_of_one() {
            return Err(Unwritten::NoRoom);
        }
        if blocks > self.blocks {
            if !self.shelf.make_room(blocks - self.blocks) {
                return Err(Unwritten::NoRoom);
            }
            self.blocks = blocks;
        }
        Ok(())
    }

    fn write_at(&self, bytes: &[u8], at: u64) -> Result<(), Unwritten> {
        let pass = self.shelf.files.faults.pass(Operation::Write, &self.path);
        pass.and_then(|()| self.file.write_all_at(bytes, at)).map_err(|error| {
            self.shelf.health.failed("write()", &self.path, error);
            Unwritten::Failed
        })
    }

    /// Appends to the body.
    pub fn append(&mut self, bytes: &[u8]) -> Result<(), Unwritten> {
        let at = HEADER as u64 + self.body_len;
        self.hold(at + bytes.len() as u64)?;
        self.write_at(bytes, at)?;
        self.sums.update(bytes);
        self.body_len += bytes.len() as u64;
        Ok(())
    }

    /// Appends a body from another file. Must be called on a disk thread.
    pub fn append_stored(&mut self, stored: &StoredBody) -> Result<(), Unwritten> {
        let open = stored.open_now().ok_or(Unwritten::Failed)?;
        let mut at = 0;
        while at < stored.len() {
            let piece = open.piece(at, stored.len()).map_err(|_| Unwritten::Failed)?;
            at += PIECE.min(piece.len() as u64);
            self.append(&piece)?;
        }
        Ok(())
    }

    /// Writes the sections around the body, for which space must be reserved. Returns the length of the file.
    fn seal(&mut self, sections: &Sections<'_>) -> Result<u64, Unwritten> {
        let sums = std::mem::take(&mut self.sums).finish();
        let (header, tail) = sections.around(self.body_len, &sums).ok_or(Unwritten::NoRoom)?;
        let at = HEADER as u64 + self.body_len;
        self.write_at(&tail, at)?;
        self.write_at(&header, 0)?;
        Ok(at + tail.len() as u64)
    }

    /// Renames the file to its name, unless a purge or a later write of the same object has intervened.
    pub(crate) fn place(mut self, mut placing: Placing<'_>) -> Result<Name, Unwritten> {
        let shelf = Arc::clone(&self.shelf);
        let (key, hash) = (placing.sections.key, placing.sections.key_hash);
        // All space is reserved before the stripe is locked, because freeing space locks the stripes of other keys.
        self.hold(
            HEADER as u64 + self.body_len + self.body_len.div_ceil(PIECE) * 8 + placing.sections.len(),
        )?;
        let mut for_marker = Room { shelf: &shelf, blocks: 0 };
        if placing.variant.is_some() {
            for_marker.make(placing.sections.len() + HEADER as u64)?;
        }
        // Another process may have taken over since the start of the write.
        let Some(lease) = shelf.lease.hold() else { return Err(Unwritten::Failed) };
        let stripe = shelf.stripe(hash);
        let main = Name::of_key(key);
        let selection = placing.variant.map(|variant| (placing.sections.selector, variant));
        {
            let mut catalogue = shelf.catalogue.lock();
            // Long bodies of a key may arrive concurrently, and a slow body may finish after a later body.
            if !catalogue.writes.end(hash, placing.variant, placing.number)
                || catalogue.is_overtaken(main, hash, selection, placing.sections.generation)
            {
                return Err(Unwritten::Unwanted);
            }
        }
        let (name, role) = match placing.variant {
            None => (main, Role::Plain),
            Some(variant) => {
                let family = family(&shelf, main, &placing.sections, &mut for_marker);
                // The key's own file is older, and varies by other fields.
                let family = family.inspect_err(|_| shelf.catalogue.lock().doom_unknown(main, hash))?;
                placing.sections.family = family;
                (Name::of_variant(key, family, variant), Role::Variant)
            }
        };
        let placed = self.seal(&placing.sections).and_then(|_| {
            let mut catalogue = shelf.catalogue.lock();
            match role {
                Role::Plain => catalogue.unmark(main, hash),
                // The marker was removed with the last of the other variants.
                _ if catalogue.find(main).is_none() => return Err(Unwritten::Unwanted),
                _ => {}
            }
            let filed = Filed {
                name,
                hash: halves(hash),
                generation: placing.sections.generation,
                variant: variant_hash(placing.variant) as u32,
                blocks: self.blocks,
                used_s: placing.used_s,
                role,
                seen: true,
                sure: true,
                share: 0,
            };
            catalogue.enter(filed, placing.sections.labels);
            drop(catalogue);
            // The catalogue accounts the blocks from now on.
            self.blocks = 0;
            self.name(name)
        });
        if placed.is_err() {
            // An existing file with the name is older than the page.
            shelf.catalogue.lock().doom_unknown(name, hash);
        } else {
            shelf.counts.writes.fetch_add(1, Relaxed);
            shelf.health.works();
        }
        drop(stripe);
        drop(lease);
        if role == Role::Variant {
            shelf.keep_variants(hash, Some(name));
        }
        placed.map(|()| name)
    }

    fn name(&mut self, name: Name) -> Result<(), Unwritten> {
        let path = self.shelf.files.path(name);
        let pass = self.shelf.files.faults.pass(Operation::Rename, &path);
        let mut renamed = pass.and_then(|()| fs::rename(&self.path, &path));
        if matches!(&renamed, Err(error) if error.kind() == ErrorKind::NotFound) {
            let folder = path.parent().unwrap_or(&self.shelf.files.root);
            renamed = make_folder(folder).and_then(|()| fs::rename(&self.path, &path));
        }
        match renamed {
            Ok(()) => {
                self.named = true;
                self.shelf.files.watch(name);
                Ok(())
            }
            // The temporary file was removed from outside.
            Err(error) if error.kind() == ErrorKind::NotFound => Err(Unwritten::Failed),
            Err(error) => {
                self.shelf.health.failed("rename()", &path, error);
                Err(Unwritten::Failed)
            }
        }
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if !self.named {
            let _ = fs::remove_file(&self.path);
        }
        if self.blocks > 0 {
            self.shelf.catalogue.lock().return_blocks(self.blocks);
        }
    }
}

fn create(path: &Path) -> io::Result<File> {
    let open = || OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path);
    match open() {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            make_folder(path.parent().unwrap_or(path))?;
            open()
        }
        opened => opened,
    }
}

/// Reserved space for a file that may turn out to exist already. Unused space is released.
struct Room<'a> {
    shelf: &'a Shelf,
    blocks: u32,
}

impl Room<'_> {
    fn make(&mut self, len: u64) -> Result<(), Unwritten> {
        let blocks = blocks_of(len);
        if !self.shelf.make_room(blocks) {
            return Err(Unwritten::NoRoom);
        }
        self.blocks = blocks;
        Ok(())
    }
}

impl Drop for Room<'_> {
    fn drop(&mut self) {
        if self.blocks > 0 {
            self.shelf.catalogue.lock().return_blocks(self.blocks);
        }
    }
}

fn marker_file(shelf: &Shelf, name: Name, sections: &Sections<'_>, generation: u64, blocks: u32) -> Filed {
    let used_s = (shelf.health.now() / 1000) as u32;
    let hash = halves(sections.key_hash);
    Filed {
        name,
        hash,
        generation,
        variant: 0,
        blocks,
        used_s,
        role: Role::Marker,
        seen: true,
        sure: true,
        share: 0,
    }
}

/// Returns the family of a key's variants from its marker. Creates a new marker if none names the selector.
fn family(
    shelf: &Arc<Shelf>,
    main: Name,
    sections: &Sections<'_>,
    room: &mut Room<'_>,
) -> Result<u64, Unwritten> {
    let known = {
        let catalogue = shelf.catalogue.lock();
        let marker = catalogue.marker(main).map(|marker| (marker.selector.clone(), marker.family));
        if catalogue.is_doomed(main) { Some(None) } else { marker.map(Some) }
    };
    let known = known.unwrap_or_else(|| {
        // Watched before it is read, because its removal removes all variants of its family.
        shelf.files.watch(main);
        load::marker(shelf, main, sections.key)
    });
    if let Some((selector, family)) = known
        && *selector == *sections.selector
    {
        let mut catalogue = shelf.catalogue.lock();
        catalogue.mark(main, sections.key_hash, sections.selector, family);
        if catalogue.find(main).is_none() {
            // The recovery has not reached it yet.
            let blocks = blocks_of((HEADER + sections.key.len() + sections.selector.len()) as u64);
            catalogue.take_blocks(blocks);
            catalogue.enter(marker_file(shelf, main, sections, family, blocks), &[]);
        } else {
            // A file of a snapshot that exists: from now on it is watched like other files.
            catalogue.see(main);
        }
        return Ok(family);
    }
    let mut stage = Stage::create(shelf, std::mem::take(&mut room.blocks))?;
    let marker = Sections {
        kind: Kind::Marker,
        family: sections.generation,
        variant: b"",
        labels: &[],
        meta: b"",
        encodings: b"",
        ..*sections
    };
    stage.seal(&marker)?;
    {
        let mut catalogue = shelf.catalogue.lock();
        let blocks = std::mem::take(&mut stage.blocks);
        // Variants of a former family cannot be found any more.
        catalogue.unmark(main, sections.key_hash);
        catalogue.enter(marker_file(shelf, main, sections, sections.generation, blocks), &[]);
        catalogue.mark(main, sections.key_hash, sections.selector, sections.generation);
    }
    stage.name(main)?;
    Ok(sections.generation)
}
