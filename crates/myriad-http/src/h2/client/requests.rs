//! HTTP/2 requests to an origin: heads are sent immediately, bodies as the flow-control windows allow (RFC 9113 §5.2,
//! §8.1).

use std::collections::VecDeque;

use bytes::Bytes;

use super::super::{ErrorCode, MAX_FRAME};
use super::Http2Client;
use super::stream::ClientStream;
use crate::Method;

impl Http2Client {
    /// Sends the head of a request on a new stream, and returns the stream. `fields` are the pseudo-fields, then the
    /// other fields, whose names may contain capital letters.
    ///
    /// With `end`, the request has no body. `most_head` is the maximum size in bytes of the fields of the response
    /// head, and of the trailers. Returns `None` if no request may be sent now ([`Http2Client::has_room`]).
    pub fn open<'a>(
        &mut self,
        method: Method,
        fields: impl IntoIterator<Item = (&'a [u8], &'a [u8])>,
        end: bool,
        most_head: usize,
    ) -> Option<u32> {
        if !self.has_room() {
            return None;
        }
        let id = self.streams.next()?;
        let mut block = std::mem::take(&mut self.header_block);
        block.clear();
        self.encoder.begin(&mut block);
        for (name, value) in fields {
            self.encoder.field(name, value, &mut block);
        }
        self.output.push_header_block(id, &block, end);
        self.streams.add(ClientStream {
            id,
            method,
            most_head,
            sending: !end,
            receiving: true,
            answered: false,
            interim: 0,
            expected: None,
            send_window: i64::from(self.server.initial_window),
            receive_window: i64::from(self.window),
            released: 0,
            queue: VecDeque::new(),
            end_queued: end,
            turn: 0,
            sent: block.len() as u64,
        });
        self.header_block = block;
        Some(id)
    }

    /// Queues a piece of a request body; with `end`, the last. Does nothing if the stream is closed or the last piece
    /// is already queued.
    pub fn send(&mut self, stream: u32, data: Bytes, end: bool) {
        let Some(found) = self.streams.get(stream).filter(|found| !found.end_queued) else { return };
        if !data.is_empty() {
            found.queue.push_back(data);
        }
        found.end_queued = end;
    }

    /// Returns whether a further piece of the request body should be read: no data is queued and the windows are open.
    /// Returns false if the stream is closed or the last piece is queued.
    pub fn wants_body(&mut self, stream: u32) -> bool {
        let room = self.send_window > 0;
        self.streams
            .get(stream)
            .is_some_and(|found| !found.end_queued && found.queue.is_empty() && found.send_window > 0 && room)
    }

    /// Returns whether the request is not yet completely in the output. Returns false if the stream is closed.
    pub fn is_sending(&mut self, stream: u32) -> bool {
        self.streams.get(stream).is_some_and(|found| found.sending)
    }

    /// Returns the number of bytes of a request (compressed head and body, without frame headers) that were added to
    /// the output; 0 if the stream is closed.
    pub fn sent(&mut self, stream: u32) -> u64 {
        self.streams.get(stream).map_or(0, |found| found.sent)
    }

    /// Returns the number of missing bytes of a response body; `None` if its head has not arrived or announced no
    /// length, or if the stream is closed.
    pub fn expected(&mut self, stream: u32) -> Option<u64> {
        self.streams.get(stream).and_then(|found| found.expected)
    }

    /// Resets the stream of a request whose response is not needed any more (RFC 9113 §6.4). Does nothing if the stream
    /// is closed.
    pub fn cancel(&mut self, stream: u32) {
        if self.streams.get(stream).is_some() {
            self.queue_reset(stream, ErrorCode::Cancel);
            self.streams.close(stream);
        }
    }

    /// Moves queued bodies to the output until it contains at least `most` bytes or no stream can send. Streams take
    /// turns, one frame each.
    pub fn schedule(&mut self, most: usize) {
        while self.output.len() < most {
            let room = self.send_window > 0;
            let next = self
                .streams
                .all()
                .iter()
                .filter(|stream| stream.is_sendable() && (room || stream.queue.is_empty()))
                .min_by_key(|stream| (stream.turn, stream.id))
                .map(|stream| stream.id);
            let Some(id) = next else { return };
            self.put_data(id);
        }
    }

    /// Adds the next DATA frame of the request body on stream `id` to the output.
    fn put_data(&mut self, id: u32) {
        // The origin may accept larger frames, but these would delay the other streams.
        let room = self.send_window.min(MAX_FRAME as i64);
        let turn = self.turn;
        let Some(stream) = self.streams.get(id) else { return };
        let mut data = Bytes::new();
        let mut is_whole = false;
        if let Some(first) = stream.queue.front_mut() {
            let count = first.len().min(usize::try_from(stream.send_window.min(room)).unwrap_or(0));
            data = first.split_to(count);
            if first.is_empty() {
                is_whole = true;
                stream.queue.pop_front();
            }
        }
        stream.send_window -= data.len() as i64;
        stream.sent += data.len() as u64;
        stream.turn = turn;
        let end = stream.queue.is_empty() && stream.end_queued;
        let is_over = end && !stream.receiving;
        stream.sending = !end;
        self.turn += 1;
        self.send_window -= data.len() as i64;
        self.patience.record_sent_bytes(data.len());
        if is_whole {
            self.patience.record_useful_piece();
        }
        self.output.push_data(id, data, end);
        if is_over {
            self.streams.close(id);
        }
    }
}
