//! The frames that carry no answer: settings, windows, pings, resets, the end (RFC 9113 §6).

use super::super::ErrorCode;
use super::super::frame::{FrameHeader, flag, kind, number};
use super::super::settings;
use super::{Answered, Client, ConnectionError, Lost};

/// The largest window (RFC 9113 §6.9.1).
const MOST: i64 = settings::MAX_WINDOW as i64;

impl Client {
    /// Queues this side's settings: nothing may be pushed.
    pub(super) fn greet(&mut self) {
        let all = [(settings::ENABLE_PUSH, 0), (settings::INITIAL_WINDOW_SIZE, self.window)];
        self.output.frame(kind::SETTINGS, 0, 0, &settings::payload(&all));
        let more = settings::MAX_WINDOW - 65_535;
        self.output.frame(kind::WINDOW_UPDATE, 0, 0, &more.to_be_bytes());
    }

    /// Queues a `GOAWAY`: the origin has opened no stream.
    pub(super) fn go_away(&mut self, code: ErrorCode) {
        self.closing = true;
        let mut payload = [0; 8];
        payload[4..].copy_from_slice(&(code as u32).to_be_bytes());
        self.output.frame(kind::GOAWAY, 0, 0, &payload);
    }

    /// Queues a `RST_STREAM`.
    pub(super) fn leave(&mut self, stream: u32, code: ErrorCode) {
        if let Some(found) = self.streams.get(stream).filter(|found| found.receiving) {
            self.patience.left(found.receive_window);
        }
        self.output.frame(kind::RST_STREAM, 0, stream, &(code as u32).to_be_bytes());
    }

    /// A request gets no more of an answer.
    pub(super) fn lose(&mut self, id: u32, lost: Lost) {
        if self.streams.close(id).is_some() {
            self.lost.push_back((id, lost));
        }
    }

    pub(super) fn rst_stream(
        &mut self,
        header: FrameHeader,
        payload: &[u8],
    ) -> Result<Answered, ConnectionError> {
        let id = header.stream;
        if id == 0 {
            return Err(ConnectionError::protocol("RST_STREAM on the connection"));
        }
        let code = payload.first_chunk().map_or(0, |bytes| u32::from_be_bytes(*bytes));
        match self.streams.get(id) {
            None => {}
            // RFC 9113 §8.1: the answer is complete, and the rest of the request is of no use to the origin.
            Some(stream) if !stream.receiving => {
                self.streams.close(id);
            }
            Some(stream) => {
                let refused = code == ErrorCode::RefusedStream as u32 && !stream.answered;
                // There are no more of these than requests: they end the connection, and what else is under way on it, never.
                self.lose(id, if refused { Lost::Refused } else { Lost::Reset(code) });
            }
        }
        Ok(Answered::Nothing)
    }

    pub(super) fn settings(
        &mut self,
        header: FrameHeader,
        payload: &[u8],
    ) -> Result<Answered, ConnectionError> {
        if header.has(flag::ACK) {
            return Ok(Answered::Nothing);
        }
        let before = self.server.initial_window;
        self.server.apply(payload)?;
        if self.server.push {
            return Err(ConnectionError::protocol("invalid ENABLE_PUSH"));
        }
        self.encoder.limit_table(self.server.header_table);
        // RFC 9113 §6.9.2: what streams may send changes by the difference.
        let change = i64::from(self.server.initial_window) - i64::from(before);
        for stream in self.streams.all_mut() {
            stream.send_window += change;
            if stream.send_window > MOST {
                return Err(ConnectionError::new(ErrorCode::FlowControl, "window of a stream too large"));
            }
        }
        self.output.frame(kind::SETTINGS, flag::ACK, 0, &[]);
        Ok(Answered::Nothing)
    }

    pub(super) fn ping(&mut self, header: FrameHeader, payload: &[u8]) -> Answered {
        if !header.has(flag::ACK) {
            self.output.frame(kind::PING, flag::ACK, 0, payload);
        }
        Answered::Nothing
    }

    /// Asks the origin by PING whether it lives, unless that is being asked. False where it has been asked as often as it takes.
    pub fn ask(&mut self) -> bool {
        if self.alive.begin() {
            self.output.frame(kind::PING, 0, 0, &[0; 8]);
        }
        self.alive.is_asked()
    }

    /// Whether the origin was asked, and nothing has come since.
    pub fn is_asked(&self) -> bool {
        self.alive.is_asked()
    }

    /// The origin leaves (RFC 9113 §6.8): what is above the stream that it names was not looked at, the rest is answered.
    pub(super) fn goaway(&mut self, payload: &[u8]) -> Answered {
        self.closing = true;
        let last = number(payload).unwrap_or(0);
        while let Some(id) = self.streams.all().last().map(|stream| stream.id).filter(|id| *id > last) {
            self.lose(id, Lost::Refused);
        }
        Answered::Nothing
    }

    pub(super) fn window_update(
        &mut self,
        header: FrameHeader,
        payload: &[u8],
    ) -> Result<Answered, ConnectionError> {
        let id = header.stream;
        let more = number(payload).unwrap_or(0);
        if id == 0 {
            self.send_window += i64::from(more);
            return match more {
                0 => Err(ConnectionError::protocol("WINDOW_UPDATE by 0")),
                _ if self.send_window > MOST => {
                    Err(ConnectionError::new(ErrorCode::FlowControl, "window of the connection too large"))
                }
                _ => Ok(Answered::Nothing),
            };
        }
        // It may have been under way when the stream ended.
        let Some(stream) = self.streams.get(id) else { return Ok(Answered::Nothing) };
        stream.send_window += i64::from(more);
        let too_large = stream.send_window > MOST;
        match more {
            0 => self.give_up(id, ErrorCode::Protocol, Lost::Broken("WINDOW_UPDATE by 0")),
            _ if too_large => self.give_up(id, ErrorCode::FlowControl, Lost::Broken("window too large")),
            _ => Ok(Answered::Nothing),
        }
    }

    /// Bytes of a stream's body have been read by whom they were for: the origin may send as many more.
    pub fn release(&mut self, stream: u32, count: usize) {
        let half = self.window / 2;
        let Some(found) = self.streams.get(stream).filter(|found| found.receiving) else { return };
        found.released = found.released.saturating_add(count as u32);
        if found.released > half {
            let more = std::mem::take(&mut found.released);
            found.receive_window += i64::from(more);
            self.output.frame(kind::WINDOW_UPDATE, 0, stream, &more.to_be_bytes());
        }
    }

    /// What a frame takes of the connection's window, padding and all; it is given back once that is much: what is held is bounded
    /// by the streams' windows.
    pub(super) fn charge(&mut self, length: usize) -> Result<(), ConnectionError> {
        self.receive_window -= length as i64;
        if self.receive_window < 0 {
            return Err(ConnectionError::new(ErrorCode::FlowControl, "window of the connection exceeded"));
        }
        let missing = MOST - self.receive_window;
        if missing > MOST / 4 {
            self.receive_window += missing;
            self.output.frame(kind::WINDOW_UPDATE, 0, 0, &(missing as u32).to_be_bytes());
        }
        Ok(())
    }
}
