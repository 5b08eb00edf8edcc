//! HTTP/2 responses to a client: heads are sent immediately, bodies as flow-control windows and priorities allow (RFC
//! 9113 §5.2, RFC 9218 §10).

use bytes::Bytes;

use super::super::frame::{flag, kind};
use super::super::{ErrorCode, FRAME_HEADER, MAX_FRAME, Priority};
use super::Http2Server;
use super::stream::{CloseCause, FinishedStream, ResponseBytes};
use crate::Fields;

/// Maximum frame length in bytes that the frame format permits (RFC 9113 §4.2).
const LARGEST_FRAME: usize = (1 << 24) - 1;

impl Http2Server {
    /// Adds the head of a response to the output: `:status`, then the fields, whose names may contain capital letters.
    ///
    /// With `end`, the response has no body. Heads with a status below 200 (interim responses, for which `end` has no
    /// effect) may precede the final head. Returns false if the stream is closed or has a final head.
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

    /// Queues a piece of a response body; with `end`, the last. Does nothing if the stream is closed or the last piece
    /// is already queued.
    pub fn send(&mut self, stream: u32, data: Bytes, end: bool) {
        let Some(found) = self.streams.get(stream).filter(|found| !found.end_queued) else { return };
        if !data.is_empty() {
            found.queue.push_back(data);
        }
        found.end_queued = end;
    }

    /// Queues trailer fields that complete a response after its body (RFC 9113 §8.1). Does nothing if the stream is
    /// closed or the last piece of the body is already queued.
    pub fn send_trailers(&mut self, stream: u32, fields: Fields) {
        if let Some(found) = self.streams.get(stream).filter(|found| !found.end_queued) {
            found.end_queued = true;
            found.trailers = (!fields.is_empty()).then(|| Box::new(fields));
        }
    }

    /// Marks the request as invalid: after its error response is sent, the stream is reset with `PROTOCOL_ERROR`. Must
    /// be called before the response is sent completely.
    pub fn reset_after_response(&mut self, stream: u32) {
        if let Some(found) = self.streams.get(stream) {
            found.malformed = true;
        }
    }

    /// Returns whether streams with a complete response and an incomplete request exist ("lingering" streams).
    pub fn is_lingering(&self) -> bool {
        self.streams.is_lingering()
    }

    /// Marks the lingering streams for [`Self::reset_lingering`], which the caller calls after a timeout.
    pub fn await_lingering(&mut self) {
        for stream in self.streams.lingering() {
            stream.awaited = true;
        }
    }

    /// Resets the streams marked by [`Self::await_lingering`] whose requests are still incomplete (RFC 9113 §8.1).
    pub fn reset_lingering(&mut self) {
        while let Some(id) = self.streams.awaited() {
            self.queue_reset(id, ErrorCode::NoError);
        }
    }

    /// Resets a stream (RFC 9113 §6.4), unless it is closed.
    pub fn reset(&mut self, stream: u32, code: ErrorCode) {
        if self.streams.get(stream).is_some() {
            self.queue_reset(stream, code);
        }
    }

    /// Returns whether a further piece of the response body should be read: the head was sent, no data is queued and
    /// the windows are open. Returns false if the stream is closed or the last piece is queued.
    pub fn wants_body(&mut self, stream: u32) -> bool {
        let room = self.send_window > 0;
        self.streams.get(stream).is_some_and(|found| {
            found.answered && !found.end_queued && found.queue.is_empty() && found.send_window > 0 && room
        })
    }

    /// Returns the number of bytes of a response body that the windows allow now; 0 if the stream is closed.
    pub fn room(&mut self, stream: u32) -> usize {
        let room = self.send_window;
        let found = self.streams.get(stream).map_or(0, |found| found.send_window.min(room));
        usize::try_from(found).unwrap_or(0)
    }

    /// Returns the number of queued bytes of a response body; 0 if the stream is closed.
    pub fn queued(&mut self, stream: u32) -> usize {
        self.streams.get(stream).map_or(0, |found| found.queue.iter().map(Bytes::len).sum())
    }

    /// Returns whether the head of a response was sent, but its body is incomplete and a closed window of the stream or
    /// connection blocks it until the client sends a window update. False if the stream is closed.
    pub fn is_stalled(&mut self, stream: u32) -> bool {
        let room = self.send_window > 0;
        self.streams.get(stream).is_some_and(|found| {
            let has_more = !found.end_queued || !found.queue.is_empty();
            let is_shut = found.send_window <= 0 || !room;
            found.answered && !found.lingering && has_more && is_shut
        })
    }

    /// Returns the numbers of bytes of a response that were added to the output so far, by kind; all 0 if the stream is
    /// closed.
    pub fn sent_so_far(&mut self, stream: u32) -> ResponseBytes {
        self.streams.get(stream).map_or_else(ResponseBytes::default, |found| found.sent)
    }

    /// Returns the next finished stream, in the order in which streams finished: its response is completely in the
    /// output, or either side has reset it. Each stream with a request is returned once; `None` if there is no other.
    pub fn take_finished(&mut self) -> Option<FinishedStream> {
        self.streams.over.pop_front()
    }

    /// Limits the DATA frames of a response to `most` bytes of data (`http2_chunk_size`), but at least 1; the limit of
    /// the client applies too. The default is [`MAX_FRAME`].
    pub fn limit_frames(&mut self, stream: u32, most: usize) {
        if let Some(found) = self.streams.get(stream) {
            found.chunk = most.clamp(1, LARGEST_FRAME);
        }
    }

    /// Returns the priority of a response; `None` if the stream is closed.
    pub fn priority(&mut self, stream: u32) -> Option<Priority> {
        self.streams.get(stream).map(|found| found.priority)
    }

    /// Moves queued bodies to the output until it contains at least `most` bytes or no stream can send.
    ///
    /// More urgent streams are first. Of equally urgent streams, non-incremental ones are first, one after the other in
    /// the order of the requests; incremental ones take turns, one frame each.
    pub fn schedule(&mut self, most: usize) {
        while self.output.len() < most {
            let Some(id) = self.next_stream() else { return };
            self.queue_data(id);
        }
    }

    /// Returns the stream that sends the next frame, in the order of [`Self::schedule`]; `None` if no stream can send.
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

    /// Adds the next frame of a body to the output, or the end of the response if all data is sent.
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

    /// Completes a response by its trailers, or without any by an empty DATA frame.
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

    /// Adds a header block of a response to the output, split into frames, and counts its bytes. `end` completes the
    /// response.
    fn queue_block(&mut self, stream: u32, block: &[u8], end: bool) {
        if let Some(found) = self.streams.get(stream) {
            let frames = block.len().div_ceil(MAX_FRAME).max(1);
            found.sent.head += (block.len() + frames * FRAME_HEADER) as u64;
        }
        self.output.push_header_block(stream, block, end);
    }

    /// Handles a stream after its response was added completely to the output. Reports the stream as finished, and
    /// then: resets it if the request is malformed, or incomplete with a receive window below the initial one; closes
    /// it if the request is complete; otherwise, marks it as lingering.
    fn response_sent(&mut self, id: u32) {
        self.streams.record_response_sent(id);
        let Some(stream) = self.streams.get(id) else { return };
        if stream.malformed {
            return self.queue_reset(id, ErrorCode::Protocol);
        }
        if stream.receiving && stream.receive_window < i64::from(self.config.window.max(1)) {
            // RFC 9113 §8.1: the rest of the request is not needed any more, which is not an error of the client.
            self.queue_reset(id, ErrorCode::NoError);
        } else if stream.receiving {
            // The last frame of the request may be in flight, so a reset may be unnecessary.
            stream.lingering = true;
        } else {
            self.streams.close(id, CloseCause::Ended);
        }
        self.patience.record_answered();
    }
}
