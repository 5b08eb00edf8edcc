//! Output queue of an HTTP/2 connection: small pieces are copied into a buffer, large pieces are shared with their
//! owner.

use std::collections::VecDeque;
use std::io::IoSlice;

use bytes::{Buf, Bytes, BytesMut};

use super::MAX_FRAME;
use super::frame::{FrameHeader, flag, kind};

/// Length in bytes below which a piece of a body is copied into the output, because a separate slice would cost more.
const COPY_BELOW: usize = 1024;

/// Queue of the bytes to write to the socket of an HTTP/2 connection.
#[derive(Debug, Default)]
pub struct OutputQueue {
    ready: VecDeque<Bytes>,
    tail: BytesMut,
    len: usize,
}

impl OutputQueue {
    /// Returns the number of pending bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether no bytes are pending.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Fills `slices` with the first pending bytes, and returns the number of slices used.
    pub fn slices<'a>(&'a self, slices: &mut [IoSlice<'a>]) -> usize {
        let tail = (!self.tail.is_empty()).then_some(&self.tail[..]);
        let all = self.ready.iter().map(|piece| &piece[..]).chain(tail);
        let mut count = 0;
        for (slice, piece) in slices.iter_mut().zip(all) {
            *slice = IoSlice::new(piece);
            count += 1;
        }
        count
    }

    /// Removes the first `count` bytes, which have been written.
    pub fn advance(&mut self, mut count: usize) {
        self.len = self.len.saturating_sub(count);
        while let Some(first) = self.ready.front_mut() {
            if count < first.len() {
                first.advance(count);
                return;
            }
            count -= first.len();
            self.ready.pop_front();
        }
        self.tail.advance(count.min(self.tail.len()));
    }

    /// Frees the memory of the queue, if no bytes are pending.
    pub(super) fn free_idle_memory(&mut self) {
        if self.len == 0 {
            *self = Self::default();
        }
    }

    /// Adds a frame to the output. The payload is copied, so it should be small.
    pub(super) fn push_frame(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        let header = FrameHeader { length: payload.len(), kind, flags, stream };
        self.push_copied(&header.bytes());
        self.push_copied(payload);
    }

    /// Queues a header block, split into frames. `end` marks it as the last part of the stream (`END_STREAM`).
    pub(super) fn push_header_block(&mut self, stream: u32, block: &[u8], end: bool) {
        let mut kind = kind::HEADERS;
        let mut flags = if end { flag::END_STREAM } else { 0 };
        let (mut fragment, mut rest) = block.split_at(block.len().min(MAX_FRAME));
        loop {
            if rest.is_empty() {
                flags |= flag::END_HEADERS;
            }
            self.push_frame(kind, flags, stream, fragment);
            if rest.is_empty() {
                return;
            }
            (kind, flags) = (kind::CONTINUATION, 0);
            (fragment, rest) = rest.split_at(rest.len().min(MAX_FRAME));
        }
    }

    /// Queues a DATA frame. `end` marks it as the last frame of the stream (`END_STREAM`).
    pub(super) fn push_data(&mut self, stream: u32, data: Bytes, end: bool) {
        let flags = if end { flag::END_STREAM } else { 0 };
        self.push_copied(&FrameHeader { length: data.len(), kind: kind::DATA, flags, stream }.bytes());
        self.push_shared(data);
    }

    pub(super) fn push_copied(&mut self, bytes: &[u8]) {
        self.tail.extend_from_slice(bytes);
        self.len += bytes.len();
    }

    pub(super) fn push_shared(&mut self, bytes: Bytes) {
        if bytes.len() < COPY_BELOW {
            return self.push_copied(&bytes);
        }
        if !self.tail.is_empty() {
            self.ready.push_back(self.tail.split().freeze());
        }
        self.len += bytes.len();
        self.ready.push_back(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_leave_in_order_however_they_are_taken() {
        let large = Bytes::from(vec![b'x'; COPY_BELOW]);
        for step in 1..64 {
            let mut output = OutputQueue::default();
            output.push_copied(b"abc");
            output.push_shared(large.clone());
            output.push_shared(Bytes::from_static(b"de"));
            let mut sent = Vec::new();
            while !output.is_empty() {
                let mut slices = [IoSlice::new(&[]); 2];
                let count = output.slices(&mut slices);
                let mut taken = 0;
                for slice in &slices[..count] {
                    let piece = &slice[..slice.len().min(step - taken)];
                    sent.extend_from_slice(piece);
                    taken += piece.len();
                }
                assert!(taken > 0);
                output.advance(taken);
            }
            assert_eq!(sent, [b"abc", &large[..], b"de"].concat());
        }
    }
}
