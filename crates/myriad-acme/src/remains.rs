//! What is left of a secret in the memory of this process, for tests.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;

/// Bytes that are read at once.
const PIECE: usize = 1 << 16;

/// A secret whose bits are all turned, so that the question does not hold what it asks for.
pub struct Sought(Vec<u8>);

impl Sought {
    /// Looks for these bytes, which should be twenty or more that are found nowhere by chance. An allocator may have
    /// written over the first and the last of a piece of memory: take them from its middle.
    pub fn new(secret: &[u8]) -> Self {
        Self(secret.iter().map(|byte| !byte).collect())
    }

    /// How often they stand in memory that this process can write.
    ///
    /// # Panics
    ///
    /// Where the kernel does not show a process its own memory.
    pub fn count(&self) -> usize {
        let memory = File::open("/proc/self/mem").expect("the memory of this process");
        let maps = fs::read_to_string("/proc/self/maps").expect("what of it is there");
        maps.lines().filter_map(writable).map(|(start, end)| self.count_in(&memory, start, end)).sum()
    }

    fn count_in(&self, memory: &File, mut start: u64, end: u64) -> usize {
        let (mut piece, mut count) = (vec![0; PIECE + self.0.len()], 0);
        while start < end {
            let length = piece.len().min((end - start) as usize);
            let read = memory.read_at(&mut piece[..length], start).unwrap_or(0);
            let windows = piece[..read].windows(self.0.len());
            // One that begins in the next piece is counted there.
            count += windows.take(PIECE).filter(|window| self.is(window)).count();
            // What was read is a copy, which must not be found where this piece itself is read.
            piece.fill(0);
            start += PIECE as u64;
        }
        count
    }

    fn is(&self, window: &[u8]) -> bool {
        window[0] == !self.0[0] && window.iter().zip(&self.0).all(|(byte, turned)| *byte == !turned)
    }
}

/// Start and end of a line's memory, if it can be written.
fn writable(line: &str) -> Option<(u64, u64)> {
    let mut words = line.split(' ');
    let (start, end) = words.next()?.split_once('-')?;
    let range = (u64::from_str_radix(start, 16).ok()?, u64::from_str_radix(end, 16).ok()?);
    words.next()?.starts_with("rw").then_some(range)
}
