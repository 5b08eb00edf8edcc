//! HTTP/2 frames of an origin that are not part of a response: settings, windows, pings, resets and `GOAWAY` (RFC 9113
//! §6).

use super::super::ErrorCode;
use super::super::frame::{FrameHeader, flag, kind, number};
use super::super::settings;
use super::{ConnectionError, Http2Client, OriginEvent, RequestFailure};

/// Maximum size of a flow-control window in bytes (RFC 9113 §6.9.1).
const MOST: i64 = settings::MAX_WINDOW as i64;

impl Http2Client {
    /// Queues the client's SETTINGS, which disable push, and a WINDOW_UPDATE that enlarges the window of the
    /// connection.
    pub(super) fn queue_settings(&mut self) {
        let all = [(settings::ENABLE_PUSH, 0), (settings::INITIAL_WINDOW_SIZE, self.window)];
        self.output.push_frame(kind::SETTINGS, 0, 0, &settings::payload(&all));
        let more = settings::MAX_WINDOW - 65_535;
        self.output.push_frame(kind::WINDOW_UPDATE, 0, 0, &more.to_be_bytes());
    }

    /// Queues a `GOAWAY` with `code` and stops opening streams. Its last stream is 0, because an origin opens no
    /// streams.
    pub(super) fn go_away(&mut self, code: ErrorCode) {
        self.closing = true;
        let mut payload = [0; 8];
        payload[4..].copy_from_slice(&(code as u32).to_be_bytes());
        self.output.push_frame(kind::GOAWAY, 0, 0, &payload);
    }

    /// Queues a `RST_STREAM` for a stream, which remains in the list of open streams.
    pub(super) fn queue_reset(&mut self, stream: u32, code: ErrorCode) {
        if let Some(found) = self.streams.get(stream).filter(|found| found.receiving) {
            self.patience.record_closed_stream(found.receive_window);
        }
        self.output.push_frame(kind::RST_STREAM, 0, stream, &(code as u32).to_be_bytes());
    }

    /// Removes a stream and records the failure of its request. Does nothing if the stream is not open.
    pub(super) fn fail_request(&mut self, id: u32, lost: RequestFailure) {
        if self.streams.close(id).is_some() {
            self.lost.push_back((id, lost));
        }
    }

    pub(super) fn rst_stream(
        &mut self,
        header: FrameHeader,
        payload: &[u8],
    ) -> Result<OriginEvent, ConnectionError> {
        let id = header.stream;
        if id == 0 {
            return Err(ConnectionError::protocol("RST_STREAM frame on stream 0"));
        }
        let code = payload.first_chunk().map_or(0, |bytes| u32::from_be_bytes(*bytes));
        match self.streams.get(id) {
            None => {}
            // RFC 9113 §8.1: the response is complete, and the origin does not need the rest of the request.
            Some(stream) if !stream.receiving => {
                self.streams.close(id);
            }
            Some(stream) => {
                let refused = code == ErrorCode::RefusedStream as u32 && !stream.answered;
                // Resets are limited by the number of requests, so they do not count as a flood and never close the
                // connection.
                self.fail_request(
                    id,
                    if refused { RequestFailure::Refused } else { RequestFailure::Reset(code) },
                );
            }
        }
        Ok(OriginEvent::Nothing)
    }

    pub(super) fn settings(
        &mut self,
        header: FrameHeader,
        payload: &[u8],
    ) -> Result<OriginEvent, ConnectionError> {
        if header.has(flag::ACK) {
            return Ok(OriginEvent::Nothing);
        }
        let before = self.server.initial_window;
        self.server.apply(payload)?;
        if self.server.push {
            return Err(ConnectionError::protocol("invalid ENABLE_PUSH"));
        }
        self.encoder.set_peer_table_size(self.server.header_table);
        // RFC 9113 §6.9.2: the windows of open streams change by the difference.
        let change = i64::from(self.server.initial_window) - i64::from(before);
        for stream in self.streams.all_mut() {
            stream.send_window += change;
            if stream.send_window > MOST {
                return Err(ConnectionError::new(ErrorCode::FlowControl, "window of a stream too large"));
            }
        }
        self.output.push_frame(kind::SETTINGS, flag::ACK, 0, &[]);
        Ok(OriginEvent::Nothing)
    }

    pub(super) fn ping(&mut self, header: FrameHeader, payload: &[u8]) -> OriginEvent {
        if !header.has(flag::ACK) {
            self.output.push_frame(kind::PING, flag::ACK, 0, payload);
        }
        OriginEvent::Nothing
    }

    /// Sends a PING to check that the origin responds, unless one is outstanding. Returns whether a PING is outstanding
    /// then; false means that the limit of PINGs without HEADERS or DATA of the origin is reached.
    pub fn send_ping(&mut self) -> bool {
        if self.alive.start_ping() {
            self.output.push_frame(kind::PING, 0, 0, &[0; 8]);
        }
        self.alive.is_ping_outstanding()
    }

    /// Returns whether a PING was sent and nothing has been received since.
    pub fn is_ping_outstanding(&self) -> bool {
        self.alive.is_ping_outstanding()
    }

    /// Handles a `GOAWAY` (RFC 9113 §6.8), after which no more streams are opened. Requests on streams above the last
    /// stream in the frame were not processed and fail; other requests still get responses.
    pub(super) fn goaway(&mut self, payload: &[u8]) -> OriginEvent {
        self.closing = true;
        let last = number(payload).unwrap_or(0);
        while let Some(id) = self.streams.all().last().map(|stream| stream.id).filter(|id| *id > last) {
            self.fail_request(id, RequestFailure::Refused);
        }
        OriginEvent::Nothing
    }

    pub(super) fn window_update(
        &mut self,
        header: FrameHeader,
        payload: &[u8],
    ) -> Result<OriginEvent, ConnectionError> {
        let id = header.stream;
        let more = number(payload).unwrap_or(0);
        if id == 0 {
            self.send_window += i64::from(more);
            return match more {
                0 => Err(ConnectionError::protocol("WINDOW_UPDATE by 0")),
                _ if self.send_window > MOST => {
                    Err(ConnectionError::new(ErrorCode::FlowControl, "window of the connection too large"))
                }
                _ => Ok(OriginEvent::Nothing),
            };
        }
        // The frame may have been in flight when the stream was closed.
        let Some(stream) = self.streams.get(id) else { return Ok(OriginEvent::Nothing) };
        stream.send_window += i64::from(more);
        let too_large = stream.send_window > MOST;
        match more {
            0 => self.fail_stream(id, ErrorCode::Protocol, RequestFailure::Broken("WINDOW_UPDATE by 0")),
            _ if too_large => {
                self.fail_stream(id, ErrorCode::FlowControl, RequestFailure::Broken("window too large"))
            }
            _ => Ok(OriginEvent::Nothing),
        }
    }

    /// Records that the consumer has read `count` bytes of a response body. When more than half of the window has been
    /// read since the last WINDOW_UPDATE, another one extends the window by the number of bytes read. Does nothing if
    /// the stream is closed or its response complete.
    pub fn release(&mut self, stream: u32, count: usize) {
        let half = self.window / 2;
        let Some(found) = self.streams.get(stream).filter(|found| found.receiving) else { return };
        found.released = found.released.saturating_add(count as u32);
        if found.released > half {
            let more = std::mem::take(&mut found.released);
            found.receive_window += i64::from(more);
            self.output.push_frame(kind::WINDOW_UPDATE, 0, stream, &more.to_be_bytes());
        }
    }

    /// Subtracts a DATA frame, including its padding, from the connection window, which is restored once a quarter of
    /// it is used. Fails if the origin exceeded the window. Memory is limited by the windows of the streams instead.
    pub(super) fn charge_window(&mut self, length: usize) -> Result<(), ConnectionError> {
        self.receive_window -= length as i64;
        if self.receive_window < 0 {
            return Err(ConnectionError::new(ErrorCode::FlowControl, "window of the connection exceeded"));
        }
        let missing = MOST - self.receive_window;
        if missing > MOST / 4 {
            self.receive_window += missing;
            self.output.push_frame(kind::WINDOW_UPDATE, 0, 0, &(missing as u32).to_be_bytes());
        }
        Ok(())
    }
}
