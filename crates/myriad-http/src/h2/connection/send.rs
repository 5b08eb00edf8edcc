//! Responses: heads are sent immediately, bodies according to windows and priorities (RFC 9113 §5.2, RFC 9218 §10).

use bytes::Bytes;

use super::super::frame::{flag, kind};
use super::super::{ErrorCode, FRAME_HEADER, MAX_FRAME, Priority};
use super::Http2Server;
use super::stream::{CloseCause, FinishedStream, ResponseBytes};
use crate::Fields;

/// Maximum frame length in bytes (RFC 9113 §4.2).
const LARGEST_FRAME: usize = (1 << 24) - 1;

impl Http2Server {
    /// Adds the head of a response to the output: `:status` and the fields, whose names may be in any case.
    ///
    /// With `end`, no body follows. Interim responses (status below 200) may precede the head. Returns false if the
    /// stream is closed or already has a response.
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
        found.end_queued |= end;
        let mut block = std::mem::take(&mut self.header_block);
        block.clear();
        self.encoder.begin(&mut block);
        self.encoder.status(status, &mut block);
        for (name, value) in fields {
            self.encoder.field(name, value, &mut block);
        }
        self.queue_block(stream, &block, end);
        self.header_block = block;
        if end {
            self.response_sent(stream);
        }
        true
    }

    /// Queues a piece of a response body after its head; with `end`, it is the last. Data for a closed stream is
    /// dropped.
    pub fn send(&mut self, stream: u32, data: Bytes, end: bool) {
        let Some(found) = self.streams.get(stream).filter(|found| !found.end_queued) else { return };
        if !data.is_empty() {
            found.queue.push_back(data);
        }
        found.end_queued = end;
    }

    /// Completes a response with trailer fields after its body (RFC 9113 §8.1).
    pub fn send_trailers(&mut self, stream: u32, fields: Fields) {
        if let Some(found) = self.streams.get(stream).filter(|found| !found.end_queued) {
            found.end_queued = true;
            found.trailers = (!fields.is_empty()).then(|| Box::new(fields));
        }
    }

    /// Marks the response as an error response to an invalid request: the stream is reset after it.
    pub fn reset_after_response(&mut self, stream: u32) {
        if let Some(found) = self.streams.get(stream) {
            found.malformed = true;
        }
    }

    /// Returns whether streams exist with a complete response and an incomplete request.
    pub fn is_lingering(&self) -> bool {
        self.streams.is_lingering()
    }

    /// Starts the time limit for these requests to complete; responses completed later need another call.
    pub fn await_lingering(&mut self) {
        for stream in self.streams.lingering() {
            stream.awaited = true;
        }
    }

    /// Resets the streams marked by [`Self::await_lingering`] (RFC 9113 §8.1).
    pub fn reset_lingering(&mut self) {
        while let Some(id) = self.streams.awaited() {
            self.queue_reset(id, ErrorCode::NoError);
        }
    }

    /// Resets a stream (RFC 9113 §6.4).
    pub fn reset(&mut self, stream: u32, code: ErrorCode) {
        if self.streams.get(stream).is_some() {
            self.queue_reset(stream, code);
        }
    }

    /// Returns whether more of a response body should be read: none is queued and the windows are open. Returns false
    /// if the stream is closed.
    pub fn wants_body(&mut self, stream: u32) -> bool {
        let room = self.send_window > 0;
        self.streams.get(stream).is_some_and(|found| {
            found.answered && !found.end_queued && found.queue.is_empty() && found.send_window > 0 && room
        })
    }

    /// Returns the number of bytes of a response body that the windows allow now.
    pub fn room(&mut self, stream: u32) -> usize {
        let room = self.send_window;
        let found = self.streams.get(stream).map_or(0, |found| found.send_window.min(room));
        usize::try_from(found).unwrap_or(0)
    }

    /// Returns the number of queued bytes of a response body.
    pub fn queued(&mut self, stream: u32) -> usize {
        self.streams.get(stream).map_or(0, |found| found.queue.iter().map(Bytes::len).sum())
    }

    /// Returns whether a response waits for a window update of the client.
    pub fn is_stalled(&mut self, stream: u32) -> bool {
        let room = self.send_window > 0;
        self.streams.get(stream).is_some_and(|found| {
            let has_more = !found.end_queued || !found.queue.is_empty();
            let is_shut = found.send_window <= 0 || !room;
            found.answered && !found.lingering && has_more && is_shut
        })
    }

    /// Returns the size of the parts of a response in the output so far; zero if the stream is closed.
    pub fn sent_so_far(&mut self, stream: u32) -> ResponseBytes {
        self.streams.get(stream).map_or_else(ResponseBytes::default, |found| found.sent)
    }

    /// Returns the next finished stream, in the order in which they finished: its response is completely in the output,
    /// or either side has reset it. Each stream with a request is returned once.
    pub fn take_finished(&mut self) -> Option<FinishedStream> {
        self.streams.over.pop_front()
    }

    /// Limits the frames of a response body to `most` bytes (`http2_chunk_size`), if the client accepts frames of this
    /// size. The default is [`MAX_FRAME`].
    pub fn limit_frames(&mut self, stream: u32, most: usize) {
        if let Some(found) = self.streams.get(stream) {
            found.chunk = most.clamp(1, LARGEST_FRAME);
        }
    }

    /// Returns the priority of a response.
    pub fn priority(&mut self, stream: u32) -> Option<Priority> {
        self.streams.get(stream).map(|found| found.priority)
    }

    /// Moves queued bodies to the output until it contains `most` bytes.
    ///
    /// The most urgent stream is first. Within an urgency, non-incremental streams precede incremental streams; the
    /// former are sent in the order of the requests, the latter round-robin.
    pub fn schedule(&mut self, most: usize) {
        while self.output.len() < most {
            let Some(id) = self.next_stream() else { return };
            self.queue_data(id);
        }
    }

    /// Returns the next stream to send.
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

    /// Adds a frame of a body to the output, or the frame after the body.
    fn queue_data(&mut self, id: u32) {
        let room = self.send_window.min(i64::from(self.client.max_frame));
        let turn = self.turn;
        let Some(stream) = self.streams.get(id) else { return };
        let Some(first) = stream.queue.front_mut() else {
            let trailers = stream.trailers.take();
            return self.queue_end(id, trailers);
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
        let end = stream.queue.is_empty() && stream.end_queued && stream.trailers.is_none();
        self.turn += 1;
        self.send_window -= count as i64;
        self.patience.record_sent_bytes(count);
        self.output.push_data(id, data, end);
        if end {
            self.response_sent(id);
        }
    }

    /// Completes a response with its trailers or an empty frame.
    fn queue_end(&mut self, id: u32, trailers: Option<Box<Fields>>) {
        match trailers {
            None => {
                self.queue_frame(kind::DATA, flag::END_STREAM, id, &[]);
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
                self.queue_block(id, &block, true);
                self.header_block = block;
            }
        }
        self.response_sent(id);
    }

    /// Adds a header block to the output, split into frames.
    fn queue_block(&mut self, stream: u32, block: &[u8], end: bool) {
        if let Some(found) = self.streams.get(stream) {
            let frames = block.len().div_ceil(MAX_FRAME).max(1);
            found.sent.head += (block.len() + frames * FRAME_HEADER) as u64;
        }
        self.output.push_header_block(stream, block, end);
    }

    /// Handles the completion of a response.
    fn response_sent(&mut self, id: u32) {
        self.streams.record_response_sent(id);
        let Some(stream) = self.streams.get(id) else { return };
        if stream.malformed {
            return self.queue_reset(id, ErrorCode::Protocol);
        }
        if stream.receiving && stream.receive_window < i64::from(self.config.window.max(1)) {
            // RFC 9113 §8.1: the rest of the request is no longer needed, which is not an error of the client.
            self.queue_reset(id, ErrorCode::NoError);
        } else if stream.receiving {
            // The last frame of the request may be in flight, which makes a reset unnecessary.
            stream.lingering = true;
        } else {
            self.streams.close(id, CloseCause::Ended);
        }
        self.patience.record_answered();
    }
}
