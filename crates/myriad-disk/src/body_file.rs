//! Page body that is read from its file piece by piece, because it is too long for memory.

use std::fs::File;
use std::os::unix::fs::FileExt;

use crate::index::FileName;

use crate::faults::Operation;
use crate::files::FolderLayout;
use crate::format::{HEADER, PIECE, check_pieces, read_pieces};
use crate::read::{self, ReadFailure};

/// Identity of a body in a page file. `len` and `pieces_sum` detect that the file was replaced by another page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BodyFile {
    pub(crate) name: FileName,
    pub(crate) key_hash: u128,
    pub(crate) generation: u64,
    pub(crate) len: u64,
    pub(crate) pieces_sum: u64,
}

impl BodyFile {
    /// Opens the file and reads the checksums of the body's pieces. Fails with `Missing` if the file is gone or
    /// contains another body by now, with `Invalid` if header or checksums are damaged, and with `Failed` on a system
    /// error.
    pub(crate) fn open(&self, files: &FolderLayout) -> Result<(File, Box<[u64]>), ReadFailure> {
        let file = read::open(files, self.name)?;
        let (header, _) = read::header(files, &file)?;
        // The file was replaced by an intact file: this body no longer exists.
        if (header.body_len, header.pieces_sum) != (self.len, self.pieces_sum) {
            return Err(ReadFailure::Missing);
        }
        let mut bytes = vec![0; (header.pieces() * 8) as usize];
        file.read_exact_at(&mut bytes, header.pieces_at())?;
        Ok((file, read_pieces(&header, &bytes)?))
    }

    /// Reads piece number `index` of the body (from 0, [`PIECE`] bytes each; the last may be shorter). Fails with
    /// `Invalid` if the piece is truncated or does not match its checksum in `sums`, and with `Failed` on another
    /// system error.
    pub(crate) fn piece(
        &self,
        files: &FolderLayout,
        file: &File,
        sums: &[u64],
        index: u64,
    ) -> Result<Vec<u8>, ReadFailure> {
        let start = index * PIECE;
        let mut bytes = vec![0; (self.len - start).min(PIECE) as usize];
        files.faults.check(Operation::Read, &files.root)?;
        file.read_exact_at(&mut bytes, HEADER as u64 + start)?;
        check_pieces(&bytes, sums.get(index as usize..=index as usize).unwrap_or_default())?;
        Ok(bytes)
    }
}

/// Damage found while a body was read in pieces. The maintenance thread verifies it before it quarantines the file.
#[derive(Debug)]
pub(crate) struct DamagedBody {
    pub(crate) body: BodyFile,
    /// Number of the damaged piece; `None` if the header or the checksums of the pieces are damaged.
    pub(crate) piece: Option<u64>,
}

impl DamagedBody {
    pub(crate) fn name(&self) -> FileName {
        self.body.name
    }

    pub(crate) fn key_hash(&self) -> u128 {
        self.body.key_hash
    }

    /// Reads the damaged piece again (only header and checksums if `piece` is `None`), and returns true if it is still
    /// damaged. Returns false if it is intact now, or the file is missing, replaced or unreadable. The caller must hold
    /// the lock for the file's cache key.
    pub(crate) fn persists(&self, files: &FolderLayout) -> bool {
        let read = self.body.open(files).and_then(|(file, sums)| {
            self.piece.map(|index| self.body.piece(files, &file, &sums, index)).transpose()
        });
        matches!(read, Err(ReadFailure::Invalid(_)))
    }
}
