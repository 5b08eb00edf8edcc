//! The file of a body that is read piece by piece.

use std::fs::File;
use std::os::unix::fs::FileExt;

use super::faults::Operation;
use super::files::Files;
use super::format::{HEADER, PIECE, check_pieces, read_pieces};
use super::name::Name;
use super::read::{self, Unread};

/// Where a body is, and how it is told from others of the same name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BodyFile {
    pub(crate) name: Name,
    pub(crate) key_hash: u128,
    pub(crate) generation: u64,
    pub(crate) len: u64,
    pub(crate) pieces_sum: u64,
}

impl BodyFile {
    /// Opens the file, and reads the checksums of the pieces.
    pub(crate) fn open(&self, files: &Files) -> Result<(File, Box<[u64]>), Unread> {
        let file = read::open(files, self.name)?;
        let (header, _) = read::header(files, &file)?;
        // A file that was replaced is well, only not this one.
        if (header.body_len, header.pieces_sum) != (self.len, self.pieces_sum) {
            return Err(Unread::Missing);
        }
        let mut bytes = vec![0; (header.pieces() * 8) as usize];
        file.read_exact_at(&mut bytes, header.pieces_at())?;
        Ok((file, read_pieces(&header, &bytes)?))
    }

    /// Reads a piece.
    pub(crate) fn piece(
        &self,
        files: &Files,
        file: &File,
        sums: &[u64],
        index: u64,
    ) -> Result<Vec<u8>, Unread> {
        let start = index * PIECE;
        let mut bytes = vec![0; (self.len - start).min(PIECE) as usize];
        files.faults.pass(Operation::Read, &files.root)?;
        file.read_exact_at(&mut bytes, HEADER as u64 + start)?;
        check_pieces(&bytes, sums.get(index as usize..=index as usize).unwrap_or_default())?;
        Ok(bytes)
    }
}

/// A body that was found damaged: in a piece, or in what says what it is.
#[derive(Debug)]
pub(crate) struct Damage {
    pub(crate) body: BodyFile,
    pub(crate) piece: Option<u64>,
}

impl Damage {
    pub(crate) fn name(&self) -> Name {
        self.body.name
    }

    pub(crate) fn key_hash(&self) -> u128 {
        self.body.key_hash
    }

    /// Whether it is there still. The stripe of its key must be held: what was there may have been replaced, or changed while
    /// it was read.
    pub(crate) fn persists(&self, files: &Files) -> bool {
        let read = self.body.open(files).and_then(|(file, sums)| {
            self.piece.map(|index| self.body.piece(files, &file, &sums, index)).transpose()
        });
        matches!(read, Err(Unread::Unfit(_)))
    }
}
