//! Snapshot of the file index on disk: the files in eviction order, so that a restart can load frequently used pages
//! and need not open every file.
//!
//! A file in it counts as present only after the recovery has found it. Its generation and labels are trusted only if
//! the snapshot was written at the end of the former run ([`Snapshot::last_of`]), because no process can have changed
//! the file since.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::index::{EvictionPosition, FileName, Lane};
use xxhash_rust::xxh3::Xxh3Default;

use crate::file_index::{FileRole, IndexedFile};

const MAGIC: [u8; 8] = *b"\x89Myrcat\n";
const VERSION: u32 = 3;
/// Length of the record of a file in a snapshot of the file index, in bytes.
const RECORD: usize = 56;
/// Length of the record of a label in a snapshot of the file index, in bytes.
const LABEL: usize = 16;
/// Length in bytes of the start of a snapshot: magic number, snapshot version, version of the page files, and levels.
const HEAD: usize = 20;
/// Length in bytes of the part of a snapshot with `last_of` and the number of files.
const COUNTS: usize = 16;
/// Number of file records per write of a snapshot.
const BATCH: usize = 4096;
/// Number of labels per permitted file, for the maximum length of a snapshot that is read.
const MOST_LABELS: usize = 64;

/// Returns the path of the snapshot of the file index.
pub(crate) fn path(root: &Path) -> PathBuf {
    root.join(".catalogue")
}

/// Contents of a snapshot of the file index, from which the next start restores the eviction order.
#[derive(Debug, Default)]
pub(crate) struct Snapshot {
    /// First sequence number of the run that wrote the snapshot, if it did so at shutdown after all pending pages had
    /// been written; otherwise 0.
    pub(crate) last_of: u64,
    /// Files with their positions in the eviction queue: the queue of new files, then the main queue, each oldest
    /// first.
    pub(crate) files: Vec<(IndexedFile, EvictionPosition)>,
    /// Labels (hashes by which purges find pages), each with [`FileName::table_hash`] of the page's file.
    pub(crate) labels: Vec<(u64, u64)>,
}

fn head(version: u32, levels: &[u8]) -> [u8; HEAD] {
    let mut head = [0; HEAD];
    head[..8].copy_from_slice(&MAGIC);
    head[8..12].copy_from_slice(&VERSION.to_le_bytes());
    head[12..16].copy_from_slice(&version.to_le_bytes());
    head[16..16 + levels.len().min(3)].copy_from_slice(&levels[..levels.len().min(3)]);
    head
}

/// Bit of the position byte for a file in the main queue. The lower bits are its hits.
const IN_MAIN: u8 = 0x80;

fn record(filed: &IndexedFile, standing: EvictionPosition) -> [u8; RECORD] {
    let mut out = [0; RECORD];
    out[..16].copy_from_slice(&filed.name.0);
    out[16..24].copy_from_slice(&filed.hash[0].to_le_bytes());
    out[24..32].copy_from_slice(&filed.hash[1].to_le_bytes());
    out[32..36].copy_from_slice(&filed.blocks.to_le_bytes());
    out[36..40].copy_from_slice(&filed.used_s.to_le_bytes());
    out[40] = match filed.role {
        FileRole::Plain => 0,
        FileRole::Marker => 1,
        FileRole::Variant => 2,
    };
    out[41] = standing.uses | if standing.lane == Lane::Main { IN_MAIN } else { 0 };
    out[42] = filed.share;
    out[44..52].copy_from_slice(&filed.generation.to_le_bytes());
    out[52..].copy_from_slice(&filed.variant.to_le_bytes());
    out
}

fn parse(record: &[u8]) -> Option<(IndexedFile, EvictionPosition)> {
    let number = |at: usize| Some(u64::from_le_bytes(record.get(at..at + 8)?.try_into().ok()?));
    let short = |at: usize| Some(u32::from_le_bytes(record.get(at..at + 4)?.try_into().ok()?));
    let role = match record.get(40)? {
        0 => FileRole::Plain,
        1 => FileRole::Marker,
        2 => FileRole::Variant,
        _ => return None,
    };
    let filed = IndexedFile {
        name: FileName(record.get(..16)?.try_into().ok()?),
        hash: [number(16)?, number(24)?],
        generation: number(44)?,
        variant: short(52)?,
        blocks: short(32)?,
        used_s: short(36)?,
        role,
        was_seen: false,
        is_trusted: false,
        share: *record.get(42)?,
    };
    let standing = record.get(41)?;
    let lane = if standing & IN_MAIN == 0 { Lane::New } else { Lane::Main };
    Some((filed, EvictionPosition { lane, uses: standing & !IN_MAIN }))
}

/// Replaces the snapshot of the file index in the folder `root`.
pub(crate) fn write(root: &Path, version: u32, levels: &[u8], snapshot: &Snapshot) -> io::Result<()> {
    let unfinished = root.join(".catalogue.new");
    let mut file = File::options().write(true).create(true).truncate(true).mode(0o600).open(&unfinished)?;
    let mut hash = Xxh3Default::new();
    let mut batch = head(version, levels).to_vec();
    batch.extend_from_slice(&snapshot.last_of.to_le_bytes());
    batch.extend_from_slice(&(snapshot.files.len() as u64).to_le_bytes());
    let mut flush = |batch: &mut Vec<u8>, least: usize| {
        if batch.len() >= least {
            hash.update(batch);
            file.write_all(batch)?;
            batch.clear();
        }
        io::Result::Ok(())
    };
    for (filed, standing) in &snapshot.files {
        batch.extend_from_slice(&record(filed, *standing));
        flush(&mut batch, BATCH * RECORD)?;
    }
    for (label, name) in &snapshot.labels {
        batch.extend_from_slice(&label.to_le_bytes());
        batch.extend_from_slice(&name.to_le_bytes());
        flush(&mut batch, BATCH * RECORD)?;
    }
    flush(&mut batch, 0)?;
    file.write_all(&hash.digest().to_le_bytes())?;
    drop(file);
    fs::rename(&unfinished, path(root))
}

/// Reads a snapshot; `None` if it is missing, damaged, of another version or with other levels, or has more than `most`
/// files.
pub(crate) fn read(root: &Path, version: u32, levels: &[u8], most: usize) -> Option<Snapshot> {
    let mut file = File::open(path(root)).ok()?;
    let len = file.metadata().ok()?.len();
    // A longer file was not written by this program, and must not be loaded into memory.
    let most_of_one = (RECORD + MOST_LABELS * LABEL) as u64;
    if len > (HEAD + COUNTS + 8) as u64 + (most as u64).saturating_mul(most_of_one) {
        return None;
    }
    let mut bytes = Vec::with_capacity(len as usize);
    file.read_to_end(&mut bytes).ok()?;
    examine(&bytes, version, levels).filter(|snapshot| snapshot.files.len() <= most)
}

fn examine(bytes: &[u8], version: u32, levels: &[u8]) -> Option<Snapshot> {
    let (bytes, sum) = bytes.split_last_chunk::<8>()?;
    let mut hash = Xxh3Default::new();
    hash.update(bytes);
    if hash.digest().to_le_bytes() != *sum {
        return None;
    }
    let (first, rest) = bytes.split_first_chunk::<HEAD>()?;
    let (last_of, rest) = rest.split_first_chunk()?;
    let (count, rest) = rest.split_first_chunk()?;
    let files_len = usize::try_from(u64::from_le_bytes(*count)).ok()?.checked_mul(RECORD)?;
    let (files, labels) = rest.split_at_checked(files_len)?;
    if *first != head(version, levels) || labels.len() % LABEL != 0 {
        return None;
    }
    let label = |pair: &[u8]| {
        let (label, name) = pair.split_first_chunk()?;
        Some((u64::from_le_bytes(*label), u64::from_le_bytes(name.try_into().ok()?)))
    };
    Some(Snapshot {
        last_of: u64::from_le_bytes(*last_of),
        files: files.chunks_exact(RECORD).map(parse).collect::<Option<_>>()?,
        labels: labels.chunks_exact(LABEL).map(label).collect::<Option<_>>()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TempFolder as Folder;

    fn some(count: u32) -> Snapshot {
        let labels = (0..u64::from(count) * 2).map(|n| (n, n / 2)).collect();
        Snapshot { last_of: 77, files: files(count), labels }
    }

    fn files(count: u32) -> Vec<(IndexedFile, EvictionPosition)> {
        let roles = [FileRole::Plain, FileRole::Marker, FileRole::Variant];
        (0..count)
            .map(|n| {
                let name = FileName::of_key(&n.to_le_bytes());
                let filed = IndexedFile {
                    name,
                    hash: [u64::from(n), 7],
                    generation: u64::from(n) << 20,
                    variant: n % 5,
                    blocks: n,
                    used_s: n * 3,
                    role: roles[n as usize % 3],
                    was_seen: false,
                    is_trusted: false,
                    share: (n % 7) as u8,
                };
                let lane = if n % 2 == 0 { Lane::Main } else { Lane::New };
                (filed, EvictionPosition { lane, uses: (n % 4) as u8 })
            })
            .collect()
    }

    #[test]
    fn what_was_written_is_read() {
        let folder = Folder::new();
        let snapshot = some(10_000);
        write(folder.path(), 3, &[1, 2], &snapshot).unwrap();
        let read_back = read(folder.path(), 3, &[1, 2], 10_000).unwrap();
        assert_eq!(format!("{read_back:?}"), format!("{snapshot:?}"));
        assert!(read(folder.path(), 4, &[1, 2], 10_000).is_none(), "another version");
        assert!(read(folder.path(), 3, &[2, 2], 10_000).is_none(), "other levels");
        assert!(read(folder.path(), 3, &[1, 2], 9_999).is_none(), "more files than permitted");
    }

    #[test]
    fn a_damaged_or_cut_snapshot_is_none() {
        let folder = Folder::new();
        write(folder.path(), 3, &[1, 2], &some(5)).unwrap();
        let bytes = fs::read(path(folder.path())).unwrap();
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            assert!(examine(&damaged, 3, &[1, 2]).is_none(), "byte {at}");
            assert!(examine(&bytes[..at], 3, &[1, 2]).is_none(), "cut at {at}");
        }
    }
}
