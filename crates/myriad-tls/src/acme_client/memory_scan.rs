//! Search for copies of a secret in the memory of this process, for tests.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;

/// Number of bytes of process memory that are read and searched at once.
const PIECE: usize = 1 << 16;

/// Secret to search for, stored with inverted bits so that the search does not find itself.
pub struct SecretScanner(Vec<u8>);

impl SecretScanner {
    /// Creates a search for these bytes, which should be at least 20 random bytes. They should not include the start or
    /// end of an allocated block, because the allocator may overwrite these after the block is freed.
    pub fn new(secret: &[u8]) -> Self {
        Self(secret.iter().map(|byte| !byte).collect())
    }

    /// Returns the number of copies of the secret in the readable and writable memory of this process.
    ///
    /// # Panics
    ///
    /// If the kernel does not allow a process to read its own memory.
    pub fn count(&self) -> usize {
        let memory = File::open("/proc/self/mem").expect("the memory of this process");
        let maps = fs::read_to_string("/proc/self/maps").expect("the memory map of this process");
        maps.lines().filter_map(writable_range).map(|(start, end)| self.count_in(&memory, start, end)).sum()
    }

    fn count_in(&self, memory: &File, mut start: u64, end: u64) -> usize {
        let (mut piece, mut count) = (vec![0; PIECE + self.0.len()], 0);
        while start < end {
            let length = piece.len().min((end - start) as usize);
            let read = memory.read_at(&mut piece[..length], start).unwrap_or(0);
            let windows = piece[..read].windows(self.0.len());
            // A copy that starts in the next piece is counted there.
            count += windows.take(PIECE).filter(|window| self.matches(window)).count();
            // The piece is cleared, because it would be found when its own memory is read.
            piece.fill(0);
            start += PIECE as u64;
        }
        count
    }

    fn matches(&self, window: &[u8]) -> bool {
        window[0] == !self.0[0] && window.iter().zip(&self.0).all(|(byte, turned)| *byte == !turned)
    }
}

/// Returns the start and end of the address range in a line of `/proc/self/maps`; `None` if the range is not both
/// readable and writable, or the line is malformed.
fn writable_range(line: &str) -> Option<(u64, u64)> {
    let mut words = line.split(' ');
    let (start, end) = words.next()?.split_once('-')?;
    let range = (u64::from_str_radix(start, 16).ok()?, u64::from_str_radix(end, 16).ok()?);
    words.next()?.starts_with("rw").then_some(range)
}
