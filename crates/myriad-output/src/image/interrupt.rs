//! Cancellation of image processing.

use std::io::{BufRead, Cursor, Error, Read, Result, Seek, SeekFrom};

use crate::image::error::ImageError;

/// Check that cancels image processing; it is polled while an image is decoded, changed and encoded.
#[derive(Clone, Copy)]
pub struct Interrupt<'a>(&'a dyn Fn() -> bool);

impl<'a> Interrupt<'a> {
    /// Creates an interrupt that cancels once `is_cancelled` returns true, which must then stay true.
    pub fn new(is_cancelled: &'a dyn Fn() -> bool) -> Self {
        Self(is_cancelled)
    }

    /// Returns an interrupt that never cancels.
    pub fn never() -> Self {
        Self(&|| false)
    }

    /// Returns [`ImageError::Cancelled`] if the work is to be cancelled.
    pub(crate) fn check(self) -> std::result::Result<(), ImageError> {
        if (self.0)() { Err(ImageError::Cancelled) } else { Ok(()) }
    }
}

/// Reader of encoded bytes for decoders. Reads fail once the interrupt cancels.
pub(crate) struct InterruptibleInput<'a> {
    bytes: Cursor<&'a [u8]>,
    interrupt: Interrupt<'a>,
    /// Number of bytes read since the interrupt was polled.
    unpolled: usize,
}

/// Number of bytes between two checks of the interrupt. JPEG decoders read single bytes; a check for each would be a
/// measurable part of their work. The number is small, because few bytes may cause much work.
const POLL_EVERY: usize = 32;
/// Maximum number of bytes of one read; the interrupt is checked between two reads.
const PIECE: usize = 4 << 10;

impl<'a> InterruptibleInput<'a> {
    pub(crate) fn new(bytes: &'a [u8], interrupt: Interrupt<'a>) -> Self {
        Self { bytes: Cursor::new(bytes), interrupt, unpolled: POLL_EVERY }
    }

    fn poll(&mut self) -> Result<()> {
        if self.unpolled < POLL_EVERY {
            return Ok(());
        }
        self.unpolled = 0;
        // An error of the kind `Interrupted` would make decoders retry.
        self.interrupt.check().map_err(Error::other)
    }
}

impl Read for InterruptibleInput<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        self.poll()?;
        let most = buffer.len().min(PIECE);
        let read = self.bytes.read(&mut buffer[..most])?;
        self.unpolled += read;
        Ok(read)
    }
}

impl BufRead for InterruptibleInput<'_> {
    fn fill_buf(&mut self) -> Result<&[u8]> {
        self.poll()?;
        let rest = self.bytes.fill_buf()?;
        Ok(&rest[..rest.len().min(PIECE)])
    }

    fn consume(&mut self, amount: usize) {
        self.unpolled += amount;
        self.bytes.consume(amount);
    }
}

impl Seek for InterruptibleInput<'_> {
    fn seek(&mut self, to: SeekFrom) -> Result<u64> {
        self.bytes.seek(to)
    }
}

#[cfg(test)]
mod tests {
    use super::{BufRead, ImageError, Interrupt, InterruptibleInput, Read};
    use std::cell::Cell;

    #[test]
    fn bytes_are_read_in_pieces_until_the_interrupt_cancels() {
        let bytes: Vec<u8> = (0..20_000_u32).map(|at| at as u8).collect();
        let mut copy = Vec::new();
        let mut source = InterruptibleInput::new(&bytes, Interrupt::never());
        assert!(source.fill_buf().unwrap().len() < bytes.len());
        source.read_to_end(&mut copy).unwrap();
        assert_eq!(copy, bytes);

        let polls = Cell::new(0);
        let is_cancelled = || polls.replace(polls.get() + 1) == 2;
        let mut source = InterruptibleInput::new(&bytes, Interrupt::new(&is_cancelled));
        let read = (&mut source).bytes().take_while(Result::is_ok).count();
        assert_eq!(read, 64);
        assert_eq!(Interrupt::new(&|| true).check(), Err(ImageError::Cancelled));
    }
}
