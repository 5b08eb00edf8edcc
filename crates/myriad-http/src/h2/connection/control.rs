//! HTTP/2 frames that are not part of a request: settings, windows, pings, priorities and `GOAWAY` (RFC 9113 §6,
//! RFC 9218 §7).

use super::super::frame::{FrameHeader, flag, kind, number};
use super::super::settings;
use super::super::{ConnectionError, ErrorCode, Priority};
use super::stream::CloseCause;
use super::{ClientEvent, Http2Server};

/// Highest possible stream identifier; a graceful `GOAWAY` contains it, so that it rejects no stream.
const LAST_OF_ALL: u32 = u32::MAX >> 1;
/// Payload of the PING that follows a graceful `GOAWAY`.
const PARTING: [u8; 8] = *b"parting!";

impl Http2Server {
    /// Queues the preface of the server: its SETTINGS, and a WINDOW_UPDATE that enlarges the window of the connection.
    pub(super) fn queue_preface(&mut self) {
        let all = [
            (settings::MAX_CONCURRENT_STREAMS, self.config.max_streams),
            (settings::INITIAL_WINDOW_SIZE, self.config.window),
            (settings::NO_RFC7540_PRIORITIES, 1),
        ];
        self.queue_frame(kind::SETTINGS, 0, 0, &settings::payload(&all));
        let more = settings::MAX_WINDOW - 65_535;
        self.queue_frame(kind::WINDOW_UPDATE, 0, 0, &more.to_be_bytes());
    }

    /// Adds a frame to the output. The payload is copied, so it should be small.
    pub(super) fn queue_frame(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        self.output.push_frame(kind, flags, stream, payload);
    }

    /// Queues a final `GOAWAY`, after which new streams are rejected.
    pub(super) fn go_away(&mut self, code: ErrorCode) {
        // RFC 9113 §6.8: the identifier must not increase.
        let last = *self.leaving.get_or_insert(self.streams.last);
        let mut payload = [0; 8];
        payload[..4].copy_from_slice(&last.to_be_bytes());
        payload[4..].copy_from_slice(&(code as u32).to_be_bytes());
        self.queue_frame(kind::GOAWAY, 0, 0, &payload);
    }

    /// Queues a `GOAWAY` that rejects no stream, and a PING; the response to the PING proves that the client has
    /// received the `GOAWAY`.
    pub(super) fn queue_graceful_goaway(&mut self) {
        let mut payload = [0; 8];
        payload[..4].copy_from_slice(&LAST_OF_ALL.to_be_bytes());
        self.queue_frame(kind::GOAWAY, 0, 0, &payload);
        self.queue_frame(kind::PING, 0, 0, &PARTING);
    }

    /// Queues a `RST_STREAM` and removes the stream from the open ones.
    pub(super) fn queue_reset(&mut self, stream: u32, code: ErrorCode) {
        self.queue_frame(kind::RST_STREAM, 0, stream, &(code as u32).to_be_bytes());
        if self.streams.close(stream, CloseCause::ByServer).is_none() {
            self.streams.record_closed(stream, CloseCause::ByServer);
        }
    }

    /// Handles a stream error caused by the client: resets the stream, and counts the reset towards the client's limit.
    /// Fails if the limit is exceeded.
    pub(super) fn stream_error(
        &mut self,
        stream: u32,
        code: ErrorCode,
    ) -> Result<ClientEvent, ConnectionError> {
        let open = self.streams.get(stream).is_some();
        self.queue_reset(stream, code);
        self.patience.record_wasted()?;
        Ok(if open { ClientEvent::Reset { stream } } else { ClientEvent::Nothing })
    }

    pub(super) fn settings(
        &mut self,
        header: FrameHeader,
        payload: &[u8],
    ) -> Result<ClientEvent, ConnectionError> {
        if header.has(flag::ACK) {
            self.acknowledged = true;
            return Ok(ClientEvent::Nothing);
        }
        let before = self.client.initial_window;
        self.client.apply(payload)?;
        self.encoder.set_peer_table_size(self.client.header_table);
        // RFC 9113 §6.9.2: the windows of open streams change by the difference.
        let change = i64::from(self.client.initial_window) - i64::from(before);
        for stream in self.streams.all() {
            stream.send_window += change;
            if stream.send_window > i64::from(settings::MAX_WINDOW) {
                return Err(ConnectionError::new(ErrorCode::FlowControl, "window of a stream too large"));
            }
        }
        self.queue_frame(kind::SETTINGS, flag::ACK, 0, &[]);
        Ok(ClientEvent::Nothing)
    }

    pub(super) fn ping(&mut self, header: FrameHeader, payload: &[u8]) -> ClientEvent {
        if !header.has(flag::ACK) {
            self.queue_frame(kind::PING, flag::ACK, 0, payload);
        } else if self.awaits_shutdown_ping() && payload == PARTING {
            self.shut_down();
        }
        ClientEvent::Nothing
    }

    pub(super) fn rst_stream(&mut self, header: FrameHeader) -> Result<ClientEvent, ConnectionError> {
        if header.stream == 0 || self.streams.is_idle(header.stream) {
            return Err(ConnectionError::protocol("RST_STREAM on an idle stream"));
        }
        match self.streams.close(header.stream, CloseCause::ByClient) {
            Some(stream) if !stream.lingering => self.patience.record_wasted()?,
            _ => return Ok(ClientEvent::Nothing),
        }
        Ok(ClientEvent::Reset { stream: header.stream })
    }

    pub(super) fn window_update(
        &mut self,
        header: FrameHeader,
        payload: &[u8],
    ) -> Result<ClientEvent, ConnectionError> {
        let id = header.stream;
        let more = number(payload).unwrap_or(0);
        let most = i64::from(settings::MAX_WINDOW);
        if id == 0 {
            self.send_window += i64::from(more);
            return match more {
                0 => Err(ConnectionError::protocol("WINDOW_UPDATE by 0")),
                _ if self.send_window > most => {
                    Err(ConnectionError::new(ErrorCode::FlowControl, "window of the connection too large"))
                }
                _ => Ok(ClientEvent::Nothing),
            };
        }
        if self.streams.is_idle(id) {
            return Err(ConnectionError::protocol("WINDOW_UPDATE on an idle stream"));
        }
        // The frame may have been in flight when the stream was closed.
        let Some(stream) = self.streams.get(id) else { return Ok(ClientEvent::Nothing) };
        stream.send_window += i64::from(more);
        let too_large = stream.send_window > most;
        match more {
            0 => self.stream_error(id, ErrorCode::Protocol),
            _ if too_large => self.stream_error(id, ErrorCode::FlowControl),
            _ => Ok(ClientEvent::Nothing),
        }
    }

    /// Validates and ignores a `PRIORITY` frame: priorities of RFC 7540 are deprecated (RFC 9113 §5.3.2).
    pub(super) fn legacy_priority(
        &mut self,
        header: FrameHeader,
        payload: &[u8],
    ) -> Result<ClientEvent, ConnectionError> {
        if header.stream == 0 {
            return Err(ConnectionError::protocol("PRIORITY frame on stream 0"));
        }
        if header.length != 5 {
            return self.idle_error(header.stream, ErrorCode::FrameSize);
        }
        if number(payload) == Some(header.stream) {
            return self.idle_error(header.stream, ErrorCode::Protocol);
        }
        Ok(ClientEvent::Nothing)
    }

    /// Handles an error in a `PRIORITY` frame. It is a stream error, or a connection error if the stream is idle and
    /// can therefore not be reset.
    fn idle_error(&mut self, stream: u32, code: ErrorCode) -> Result<ClientEvent, ConnectionError> {
        if self.streams.is_idle(stream) {
            return Err(ConnectionError::new(code, "invalid PRIORITY"));
        }
        self.stream_error(stream, code)
    }

    pub(super) fn priority_update(
        &mut self,
        header: FrameHeader,
        payload: &[u8],
    ) -> Result<ClientEvent, ConnectionError> {
        let Some((id, value)) = number(payload).zip(payload.get(4..)) else {
            return Err(ConnectionError::new(ErrorCode::FrameSize, "PRIORITY_UPDATE too short"));
        };
        if header.stream != 0 || id.is_multiple_of(2) {
            return Err(ConnectionError::protocol("PRIORITY_UPDATE for a stream that is not a request"));
        }
        let priority = Priority::parse(value);
        if let Some(stream) = self.streams.get(id) {
            stream.priority = priority;
        } else if self.streams.is_idle(id) {
            let pending = &mut self.streams.priorities;
            pending.retain(|(known, _)| *known != id);
            if pending.len() < self.config.max_streams as usize {
                pending.push((id, priority));
            }
        }
        Ok(ClientEvent::Nothing)
    }

    /// Records that the consumer has read `count` bytes of a request body. When more than half of the window has been
    /// read since the last WINDOW_UPDATE, another one extends the window by the number of bytes read. Does nothing if
    /// the stream is closed or its request complete.
    pub fn release(&mut self, stream: u32, count: usize) {
        let half = self.config.window / 2;
        let Some(found) = self.streams.get(stream).filter(|found| found.receiving) else { return };
        found.released = found.released.saturating_add(count as u32);
        if found.released > half {
            let more = std::mem::take(&mut found.released);
            found.receive_window += i64::from(more);
            self.queue_frame(kind::WINDOW_UPDATE, 0, stream, &more.to_be_bytes());
        }
    }

    /// Increases the window of a stream by up to `more` bytes immediately (to at most 2³¹-1), because the consumer
    /// reads its body. Does nothing if the stream is closed or the request complete.
    pub fn increase_window(&mut self, stream: u32, more: u32) {
        let Some(found) = self.streams.get(stream).filter(|found| found.receiving && more > 0) else {
            return;
        };
        let room = i64::from(settings::MAX_WINDOW) - found.receive_window;
        let more = u32::try_from(room.clamp(0, i64::from(more))).unwrap_or(0);
        if more > 0 {
            found.receive_window += i64::from(more);
            self.queue_frame(kind::WINDOW_UPDATE, 0, stream, &more.to_be_bytes());
        }
    }

    /// Restores the connection window once a quarter of it is used. Memory is limited by the windows of the streams
    /// instead.
    pub(super) fn restore_window(&mut self) {
        let missing = i64::from(settings::MAX_WINDOW) - self.receive_window;
        if missing > i64::from(settings::MAX_WINDOW / 4) {
            self.receive_window += missing;
            self.queue_frame(kind::WINDOW_UPDATE, 0, 0, &(missing as u32).to_be_bytes());
        }
    }

    /// Subtracts a DATA frame, including its padding, from the connection window, which is restored once a quarter of
    /// it is used. Fails if the client exceeded the window.
    pub(super) fn charge_window(&mut self, header: FrameHeader) -> Result<(), ConnectionError> {
        self.receive_window -= header.length as i64;
        if self.receive_window < 0 {
            return Err(ConnectionError::new(ErrorCode::FlowControl, "window of the connection exceeded"));
        }
        self.restore_window();
        Ok(())
    }
}
