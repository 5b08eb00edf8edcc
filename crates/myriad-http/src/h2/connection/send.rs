//! Answers: heads at once, bodies as windows and urgencies allow (RFC 9113 §5.2, RFC 9218 §10).

use bytes::Bytes;

use super::super::frame::{flag, kind};
use super::super::{ErrorCode, FRAME_HEADER, MAX_FRAME, Priority};
use super::Connection;
use super::stream::{Closed, Over, Volume};
use crate::Fields;

/// Length of the largest frame (RFC 9113 §4.2).
const LARGEST_FRAME: usize = (1 << 24) - 1;

impl Connection {
    /// Puts the head of an answer into the output: `:status` and the fields, whose names may be in any case. `end` says that
    /// no body follows. Interim answers (status below 200) may precede it. False where the stream is gone, or answered.
    pub fn respond<'a>(
        &mut self,
        stream: u32,
        status: u16,
        fields: impl IntoIterator<Item = (&'a [u8], &'a [u8])>,
        end: bool,
    ) -> bool {
        let Some(found) = self.streams.get(stream).filter(|found| !found.answered) else { return false };
        let end = end && status >= 200;
        found.answered = status >= 200;
        found.ended |= end;
        let mut block = std::mem::take(&mut self.header_block);
        block.clear();
        self.encoder.begin(&mut block);
        self.encoder.status(status, &mut block);
        for (name, value) in fields {
            self.encoder.field(name, value, &mut block);
        }
        self.put_block(stream, &block, end);
        self.header_block = block;
        if end {
            self.sent(stream);
        }
        true
    }

    /// Queues a piece of an answer's body behind its head. `end` says that it is the last. What is queued for a stream that is
    /// gone is dropped.
    pub fn send(&mut self, stream: u32, data: Bytes, end: bool) {
        let Some(found) = self.streams.get(stream).filter(|found| !found.ended) else { return };
        if !data.is_empty() {
            found.queue.push_back(data);
        }
        found.ended = end;
    }

    /// Ends an answer with fields behind its body (RFC 9113 §8.1).
    pub fn send_trailers(&mut self, stream: u32, fields: Fields) {
        if let Some(found) = self.streams.get(stream).filter(|found| !found.ended) {
            found.ended = true;
            found.trailers = (!fields.is_empty()).then(|| Box::new(fields));
        }
    }

    /// The answer to come is one to an error of the client: the stream is reset behind it.
    pub fn blame(&mut self, stream: u32) {
        if let Some(found) = self.streams.get(stream) {
            found.malformed = true;
        }
    }

    /// Whether there are streams that are answered and whose clients have not ended their side.
    pub fn is_lingering(&self) -> bool {
        self.streams.is_lingering()
    }

    /// The time begins that their clients have for it; those that are answered later have theirs after this.
    pub fn await_lingering(&mut self) {
        for stream in self.streams.lingering() {
            stream.awaited = true;
        }
    }

    /// Resets those whose time [`Self::await_lingering`] began (RFC 9113 §8.1).
    pub fn reset_lingering(&mut self) {
        while let Some(id) = self.streams.awaited() {
            self.put_reset(id, ErrorCode::NoError);
        }
    }

    /// Gives a stream up (RFC 9113 §6.4).
    pub fn reset(&mut self, stream: u32, code: ErrorCode) {
        if self.streams.get(stream).is_some() {
            self.put_reset(stream, code);
        }
    }

    /// Whether more of an answer's body should be fetched: nothing of it is queued, and the client takes some. A stream
    /// that is gone wants nothing.
    pub fn wants(&mut self, stream: u32) -> bool {
        let room = self.send_window > 0;
        self.streams.get(stream).is_some_and(|found| {
            found.answered && !found.ended && found.queue.is_empty() && found.send_window > 0 && room
        })
    }

    /// Bytes of an answer's body that the client takes now.
    pub fn room(&mut self, stream: u32) -> usize {
        let room = self.send_window;
        let found = self.streams.get(stream).map_or(0, |found| found.send_window.min(room));
        usize::try_from(found).unwrap_or(0)
    }

    /// Bytes of an answer's body that are queued and wait for a window.
    pub fn queued(&mut self, stream: u32) -> usize {
        self.streams.get(stream).map_or(0, |found| found.queue.iter().map(Bytes::len).sum())
    }

    /// Whether an answer waits for the client to open a window.
    pub fn is_stalled(&mut self, stream: u32) -> bool {
        let room = self.send_window > 0;
        self.streams.get(stream).is_some_and(|found| {
            let has_more = !found.ended || !found.queue.is_empty();
            let is_shut = found.send_window <= 0 || !room;
            found.answered && !found.lingering && has_more && is_shut
        })
    }

    /// What of an answer was put into the output so far; nothing where the stream is gone.
    pub fn sent_so_far(&mut self, stream: u32) -> Volume {
        self.streams.get(stream).map_or_else(Volume::default, |found| found.sent)
    }

    /// The next stream that is over, in the order in which they came to be: its answer is in the output whole, or it is
    /// given up by either side. Each stream of a request is told of once.
    pub fn take_over(&mut self) -> Option<Over> {
        self.streams.over.pop_front()
    }

    /// Limits the frames of a response's body to `most` bytes (`http2_chunk_size`), if the client takes frames of this size. The
    /// default is [`MAX_FRAME`].
    pub fn limit_frames(&mut self, stream: u32, most: usize) {
        if let Some(found) = self.streams.get(stream) {
            found.chunk = most.clamp(1, LARGEST_FRAME);
        }
    }

    /// How soon the client wants an answer.
    pub fn priority(&mut self, stream: u32) -> Option<Priority> {
        self.streams.get(stream).map(|found| found.priority)
    }

    /// Moves queued bodies into the output until it holds `most` bytes: the most urgent stream first; among equals those
    /// that are of use only as a whole in the order they were asked for, then the incremental ones in turn.
    pub fn schedule(&mut self, most: usize) {
        while self.output.len() < most {
            let Some(id) = self.next_stream() else { return };
            self.put_data(id);
        }
    }

    /// The stream whose turn it is.
    fn next_stream(&mut self) -> Option<u32> {
        let room = self.send_window > 0;
        self.streams
            .all()
            .iter()
            .filter(|stream| stream.is_sendable() && (room || stream.queue.is_empty()))
            .min_by_key(|stream| {
                let Priority { urgency, incremental } = stream.priority;
                (urgency, incremental, if incremental { stream.turn } else { 0 }, stream.id)
            })
            .map(|stream| stream.id)
    }

    /// Puts one frame of a stream's body into the output, or what is behind the body.
    fn put_data(&mut self, id: u32) {
        let room = self.send_window.min(i64::from(self.client.max_frame));
        let turn = self.turn;
        let Some(stream) = self.streams.get(id) else { return };
        let Some(first) = stream.queue.front_mut() else {
            let trailers = stream.trailers.take();
            return self.put_end(id, trailers);
        };
        let allowed = stream.send_window.min(room).min(stream.chunk as i64);
        let count = first.len().min(usize::try_from(allowed).unwrap_or(0));
        let data = first.split_to(count);
        if first.is_empty() {
            stream.queue.pop_front();
        }
        stream.send_window -= count as i64;
        stream.sent.body += count as u64;
        stream.sent.framing += FRAME_HEADER as u64;
        stream.turn = turn;
        let end = stream.queue.is_empty() && stream.ended && stream.trailers.is_none();
        self.turn += 1;
        self.send_window -= count as i64;
        self.patience.served(count);
        self.output.data(id, data, end);
        if end {
            self.sent(id);
        }
    }

    /// Ends an answer: with its trailers, or an empty frame.
    fn put_end(&mut self, id: u32, trailers: Option<Box<Fields>>) {
        match trailers {
            None => {
                self.put(kind::DATA, flag::END_STREAM, id, &[]);
                if let Some(stream) = self.streams.get(id) {
                    stream.sent.framing += FRAME_HEADER as u64;
                }
            }
            Some(fields) => {
                let mut block = std::mem::take(&mut self.header_block);
                block.clear();
                self.encoder.begin(&mut block);
                for (name, value) in fields.iter() {
                    self.encoder.field(name, value, &mut block);
                }
                self.put_block(id, &block, true);
                self.header_block = block;
            }
        }
        self.sent(id);
    }

    /// Puts a header block into the output, in as many frames as it takes.
    fn put_block(&mut self, stream: u32, block: &[u8], end: bool) {
        if let Some(found) = self.streams.get(stream) {
            let frames = block.len().div_ceil(MAX_FRAME).max(1);
            found.sent.head += (block.len() + frames * FRAME_HEADER) as u64;
        }
        self.output.header_block(stream, block, end);
    }

    /// The server has ended its side.
    fn sent(&mut self, id: u32) {
        self.streams.answered(id);
        let Some(stream) = self.streams.get(id) else { return };
        if stream.malformed {
            return self.put_reset(id, ErrorCode::Protocol);
        }
        if stream.receiving && stream.receive_window < i64::from(self.config.window.max(1)) {
            // RFC 9113 §8.1: the rest of the request is of no use, and its client is not at fault.
            self.put_reset(id, ErrorCode::NoError);
        } else if stream.receiving {
            // Its end may be under way, and needs no reset.
            stream.lingering = true;
        } else {
            self.streams.close(id, Closed::Ended);
        }
        self.patience.answered();
    }
}
