//! Writing of a page file under a temporary name, and its renaming to the final name.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use crate::index::FileName;

use crate::faults::Operation;
use crate::file_index::{FileRole, IndexedFile, blocks_of, split_hash};
use crate::file_store::FileStore;
use crate::files::create_folder;
use crate::format::{ContentKind, HEADER, PIECE, PieceSums, Sections, variant_hash};
use crate::load;
use crate::stored_body::StoredBody;

/// Reason why a page was not written.
#[derive(Debug)]
pub enum WriteFailure {
    /// A purge covers the page, a later page of the same key and variant has been or is being written, or the marker
    /// file of the key's variants was removed meanwhile.
    Cancelled,
    /// Not enough space can be freed, or the page is too long.
    NoSpace,
    /// A system error occurred, a body to copy cannot be read, or this process may not write now.
    Failed,
}

/// Temporary file with reserved disk space. Dropping it deletes the file and releases the space, unless it has been
/// renamed.
pub struct StagedFile {
    file_store: Arc<FileStore>,
    file: File,
    path: PathBuf,
    blocks: u32,
    body_len: u64,
    sums: PieceSums,
    is_renamed: bool,
}

/// Parts that complete a temporary file after its body.
pub(crate) struct FileCompletion<'a> {
    /// Sections of the page file; [`StagedFile::commit`] sets their `family`.
    pub(crate) sections: Sections<'a>,
    /// Variant of the page, if it has a selector (`Vary`); otherwise `None`.
    pub(crate) variant: Option<&'a [u8]>,
    /// Number of the pending write, by which a purge or later write may have cancelled it.
    pub(crate) number: u64,
    /// Time of the page's last use, in seconds since the epoch.
    pub(crate) used_s: u32,
}

impl StagedFile {
    /// Creates a temporary file and reserves disk space for `len` bytes. More can be written later. Fails with
    /// `NoSpace` if the space cannot be freed, and with `Failed` if this process may not write or the file cannot be
    /// created.
    pub(crate) fn begin(file_store: &Arc<FileStore>, len: u64) -> Result<Self, WriteFailure> {
        if !file_store.may_write() {
            return Err(WriteFailure::Failed);
        }
        let blocks = blocks_of(len);
        if !file_store.make_room(blocks) {
            return Err(WriteFailure::NoSpace);
        }
        Self::create(file_store, blocks)
    }

    /// Creates a temporary file, which takes over `blocks` of 4 KB that have been reserved.
    fn create(file_store: &Arc<FileStore>, blocks: u32) -> Result<Self, WriteFailure> {
        let (path, created) = loop {
            let path = file_store.files.temporary().join(format!("{:x}", file_store.files.next_number()));
            match file_store.files.faults.check(Operation::Create, &path).and_then(|()| create(&path)) {
                // File of a former start, whose number was lost.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                created => break (path, created),
            }
        };
        match created {
            Ok(file) => Ok(Self {
                file_store: Arc::clone(file_store),
                file,
                path,
                blocks,
                body_len: 0,
                sums: PieceSums::default(),
                is_renamed: false,
            }),
            Err(error) => {
                file_store.file_index.lock().return_blocks(blocks);
                file_store.health.record_write_failure("open()", &path, error);
                Err(WriteFailure::Failed)
            }
        }
    }

    /// Reserves more disk space if the file has less than `len` bytes reserved. Fails with `NoSpace` if `len` is above
    /// the maximum for a page, or the space cannot be freed.
    fn reserve(&mut self, len: u64) -> Result<(), WriteFailure> {
        let blocks = blocks_of(len);
        if len > self.file_store.max_page_bytes() {
            return Err(WriteFailure::NoSpace);
        }
        if blocks > self.blocks {
            if !self.file_store.make_room(blocks - self.blocks) {
                return Err(WriteFailure::NoSpace);
            }
            self.blocks = blocks;
        }
        Ok(())
    }

    fn write_at(&self, bytes: &[u8], at: u64) -> Result<(), WriteFailure> {
        let pass = self.file_store.files.faults.check(Operation::Write, &self.path);
        pass.and_then(|()| self.file.write_all_at(bytes, at)).map_err(|error| {
            self.file_store.health.record_write_failure("write()", &self.path, error);
            WriteFailure::Failed
        })
    }

    /// Appends to the body, reserving space as necessary. Fails with `NoSpace` if the page becomes too long or the
    /// space cannot be freed, and with `Failed` on a system error.
    pub fn append(&mut self, bytes: &[u8]) -> Result<(), WriteFailure> {
        let at = HEADER as u64 + self.body_len;
        self.reserve(at + bytes.len() as u64)?;
        self.write_at(bytes, at)?;
        self.sums.update(bytes);
        self.body_len += bytes.len() as u64;
        Ok(())
    }

    /// Appends a body that is in another file. Fails with `Failed` if that body cannot be read, and for the reasons of
    /// [`Self::append`]. Must be called on a disk thread, because it blocks.
    pub fn append_stored(&mut self, stored: &StoredBody) -> Result<(), WriteFailure> {
        let open = stored.open_now().ok_or(WriteFailure::Failed)?;
        let mut at = 0;
        while at < stored.len() {
            let piece = open.piece(at, stored.len()).map_err(|_| WriteFailure::Failed)?;
            at += PIECE.min(piece.len() as u64);
            self.append(&piece)?;
        }
        Ok(())
    }

    /// Writes the sections around the body. Space for them must have been reserved. Returns the length of the file in
    /// bytes. Fails with `NoSpace` if a section is too long for the format, and with `Failed` on a system error.
    fn seal(&mut self, sections: &Sections<'_>) -> Result<u64, WriteFailure> {
        let sums = std::mem::take(&mut self.sums).finish();
        let (header, tail) = sections.around(self.body_len, &sums).ok_or(WriteFailure::NoSpace)?;
        let at = HEADER as u64 + self.body_len;
        self.write_at(&tail, at)?;
        self.write_at(&header, 0)?;
        Ok(at + tail.len() as u64)
    }

    /// Completes the file, renames it to its final name, which is returned, and adds it to the file index. For a
    /// variant, also writes the key's marker file if necessary, and removes variants beyond the maximum per key.
    /// Fails with `Cancelled` if a purge, a later page of the same key and variant, or the removal of the marker file
    /// has intervened, with `NoSpace` if the sections do not fit, and otherwise with `Failed`.
    pub(crate) fn commit(mut self, mut placing: FileCompletion<'_>) -> Result<FileName, WriteFailure> {
        let file_store = Arc::clone(&self.file_store);
        let (key, hash) = (placing.sections.key, placing.sections.key_hash);
        // All space is reserved before the stripe is locked, because freeing space locks the stripes of other keys.
        self.reserve(
            HEADER as u64 + self.body_len + self.body_len.div_ceil(PIECE) * 8 + placing.sections.len(),
        )?;
        let mut for_marker = SpaceReservation { file_store: &file_store, blocks: 0 };
        if placing.variant.is_some() {
            for_marker.make(placing.sections.len() + HEADER as u64)?;
        }
        // Another process may have taken over since the start of the write.
        let Some(lease) = file_store.lease.hold() else { return Err(WriteFailure::Failed) };
        let stripe = file_store.stripe(hash);
        let main = FileName::of_key(key);
        let selection = placing.variant.map(|variant| (placing.sections.selector, variant));
        {
            let mut file_index = file_store.file_index.lock();
            // Long bodies of a key may arrive concurrently, and an earlier fetch may complete after a later one.
            if !file_index.writes.end(hash, placing.variant, placing.number)
                || file_index.is_superseded(main, hash, selection, placing.sections.generation)
            {
                return Err(WriteFailure::Cancelled);
            }
        }
        let (name, role) = match placing.variant {
            None => (main, FileRole::Plain),
            Some(variant) => {
                let family = family(&file_store, main, &placing.sections, &mut for_marker);
                // The key's own file is older, and its variants differ by other request fields.
                let family = family.inspect_err(|_| file_store.file_index.lock().doom_unknown(main, hash))?;
                placing.sections.family = family;
                (FileName::of_variant(key, family, variant), FileRole::Variant)
            }
        };
        let placed = self.seal(&placing.sections).and_then(|_| {
            let mut file_index = file_store.file_index.lock();
            match role {
                FileRole::Plain => file_index.clear_marker(main, hash),
                // The marker has been removed together with the last other variant.
                _ if file_index.find(main).is_none() => return Err(WriteFailure::Cancelled),
                _ => {}
            }
            let filed = IndexedFile {
                name,
                hash: split_hash(hash),
                generation: placing.sections.generation,
                variant: variant_hash(placing.variant) as u32,
                blocks: self.blocks,
                used_s: placing.used_s,
                role,
                was_seen: true,
                is_trusted: true,
                share: 0,
            };
            file_index.insert(filed, placing.sections.labels);
            drop(file_index);
            // The file index accounts for the blocks from now on.
            self.blocks = 0;
            self.rename_to(name)
        });
        if placed.is_err() {
            // An existing file with the name is older than the page.
            file_store.file_index.lock().doom_unknown(name, hash);
        } else {
            file_store.counts.writes.fetch_add(1, Relaxed);
            file_store.health.record_success();
        }
        drop(stripe);
        drop(lease);
        if role == FileRole::Variant {
            file_store.enforce_variant_limit(hash, Some(name));
        }
        placed.map(|()| name)
    }

    fn rename_to(&mut self, name: FileName) -> Result<(), WriteFailure> {
        let path = self.file_store.files.path(name);
        let pass = self.file_store.files.faults.check(Operation::Rename, &path);
        let mut renamed = pass.and_then(|()| fs::rename(&self.path, &path));
        if matches!(&renamed, Err(error) if error.kind() == ErrorKind::NotFound) {
            let folder = path.parent().unwrap_or(&self.file_store.files.root);
            renamed = create_folder(folder).and_then(|()| fs::rename(&self.path, &path));
        }
        match renamed {
            Ok(()) => {
                self.is_renamed = true;
                self.file_store.files.watch(name);
                Ok(())
            }
            // Another program removed the temporary file.
            Err(error) if error.kind() == ErrorKind::NotFound => Err(WriteFailure::Failed),
            Err(error) => {
                self.file_store.health.record_write_failure("rename()", &path, error);
                Err(WriteFailure::Failed)
            }
        }
    }
}

impl Drop for StagedFile {
    fn drop(&mut self) {
        if !self.is_renamed {
            let _ = fs::remove_file(&self.path);
        }
        if self.blocks > 0 {
            self.file_store.file_index.lock().return_blocks(self.blocks);
        }
    }
}

fn create(path: &Path) -> io::Result<File> {
    let open = || OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path);
    match open() {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            create_folder(path.parent().unwrap_or(path))?;
            open()
        }
        opened => opened,
    }
}

/// Disk space reserved for a marker file that may turn out to exist. Unused space is released on drop.
struct SpaceReservation<'a> {
    file_store: &'a FileStore,
    blocks: u32,
}

impl SpaceReservation<'_> {
    fn make(&mut self, len: u64) -> Result<(), WriteFailure> {
        let blocks = blocks_of(len);
        if !self.file_store.make_room(blocks) {
            return Err(WriteFailure::NoSpace);
        }
        self.blocks = blocks;
        Ok(())
    }
}

impl Drop for SpaceReservation<'_> {
    fn drop(&mut self) {
        if self.blocks > 0 {
            self.file_store.file_index.lock().return_blocks(self.blocks);
        }
    }
}

fn marker_file(
    file_store: &FileStore,
    name: FileName,
    sections: &Sections<'_>,
    generation: u64,
    blocks: u32,
) -> IndexedFile {
    let used_s = (file_store.health.now() / 1000) as u32;
    let hash = split_hash(sections.key_hash);
    IndexedFile {
        name,
        hash,
        generation,
        variant: 0,
        blocks,
        used_s,
        role: FileRole::Marker,
        was_seen: true,
        is_trusted: true,
        share: 0,
    }
}

/// Returns the family number of a key's variants from its marker file. Writes a new marker file if there is none with
/// the same selector.
fn family(
    file_store: &Arc<FileStore>,
    main: FileName,
    sections: &Sections<'_>,
    room: &mut SpaceReservation<'_>,
) -> Result<u64, WriteFailure> {
    let known = {
        let file_index = file_store.file_index.lock();
        let marker = file_index.marker(main).map(|marker| (marker.selector.clone(), marker.family));
        if file_index.is_doomed(main) { Some(None) } else { marker.map(Some) }
    };
    let known = known.unwrap_or_else(|| {
        // The folder is watched before the file is read, because removing the marker clears all variants of its family.
        file_store.files.watch(main);
        load::marker(file_store, main, sections.key)
    });
    if let Some((selector, family)) = known
        && *selector == *sections.selector
    {
        let mut file_index = file_store.file_index.lock();
        file_index.set_marker(main, sections.key_hash, sections.selector, family);
        if file_index.find(main).is_none() {
            // The recovery has not found the marker file yet.
            let blocks = blocks_of((HEADER + sections.key.len() + sections.selector.len()) as u64);
            file_index.take_blocks(blocks);
            file_index.insert(marker_file(file_store, main, sections, family, blocks), &[]);
        } else {
            // The file is known from a snapshot, and now known to exist.
            file_index.mark_seen(main);
        }
        return Ok(family);
    }
    let mut stage = StagedFile::create(file_store, std::mem::take(&mut room.blocks))?;
    let marker = Sections {
        kind: ContentKind::Marker,
        family: sections.generation,
        variant: b"",
        labels: &[],
        meta: b"",
        encodings: b"",
        ..*sections
    };
    stage.seal(&marker)?;
    {
        let mut file_index = file_store.file_index.lock();
        let blocks = std::mem::take(&mut stage.blocks);
        // Variants of the former family are unreachable now.
        file_index.clear_marker(main, sections.key_hash);
        file_index.insert(marker_file(file_store, main, sections, sections.generation, blocks), &[]);
        file_index.set_marker(main, sections.key_hash, sections.selector, sections.generation);
    }
    stage.rename_to(main)?;
    Ok(sections.generation)
}
