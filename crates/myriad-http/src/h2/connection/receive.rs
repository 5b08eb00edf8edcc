//! HTTP/2 DATA frames of request bodies (RFC 9113 §6.1, §8.1.1).

use std::ops::Range;

use super::super::frame::{FrameHeader, flag, unpadded};
use super::super::{ConnectionError, ErrorCode};
use super::stream::CloseCause;
use super::{ClientEvent, Http2Server};

impl Http2Server {
    pub(super) fn data(
        &mut self,
        header: FrameHeader,
        payload: &[u8],
    ) -> Result<ClientEvent, ConnectionError> {
        let id = header.stream;
        if self.streams.is_idle(id) {
            return Err(ConnectionError::protocol("DATA on an idle stream"));
        }
        let data = unpadded(header, payload).map_err(|code| ConnectionError::new(code, "invalid padding"))?;
        self.charge_window(header)?;
        let Some(stream) = self.streams.get(id) else {
            return match self.streams.closed(id) {
                Some(CloseCause::ByServer) => Ok(ClientEvent::Nothing),
                _ => self.stream_error(id, ErrorCode::StreamClosed),
            };
        };
        if !stream.receiving {
            return self.stream_error(id, ErrorCode::StreamClosed);
        }
        stream.receive_window -= header.length as i64;
        if stream.receive_window < 0 {
            return self.stream_error(id, ErrorCode::FlowControl);
        }
        if let Some(expected) = &mut stream.expected {
            match expected.checked_sub(data.len() as u64) {
                Some(left) => *expected = left,
                None => return self.body_malformed(id),
            }
        }
        if header.has(flag::END_STREAM) {
            return self.end_of_body(id, data);
        }
        if stream.lingering {
            // RFC 9113 §8.1: the body is not needed any more, which is not an error of the client. A short remaining
            // body is received to its end, so that a wrong length is still detected.
            if stream.receive_window < i64::from(self.config.window / 2) {
                self.queue_reset(id, ErrorCode::NoError);
            }
            return Ok(ClientEvent::Nothing);
        }
        let padding = header.length - data.len();
        self.release(id, padding);
        Ok(if data.is_empty() {
            ClientEvent::Nothing
        } else {
            ClientEvent::Data { stream: id, data, end: false }
        })
    }

    /// Handles the end of a request body. `data` is the range of its last piece in the input. A body that is shorter
    /// than its `Content-Length` is malformed; a lingering stream is closed.
    pub(super) fn end_of_body(
        &mut self,
        id: u32,
        data: Range<usize>,
    ) -> Result<ClientEvent, ConnectionError> {
        let Some(stream) = self.streams.get(id) else { return Ok(ClientEvent::Nothing) };
        if stream.expected.is_some_and(|left| left > 0) {
            return self.body_malformed(id);
        }
        if stream.lingering {
            self.streams.close(id, CloseCause::Ended);
            return Ok(ClientEvent::Nothing);
        }
        stream.receiving = false;
        Ok(ClientEvent::Data { stream: id, data, end: true })
    }

    fn body_malformed(&mut self, id: u32) -> Result<ClientEvent, ConnectionError> {
        self.patience.record_wasted()?;
        let Some(stream) = self.streams.get(id) else { return Ok(ClientEvent::Nothing) };
        if stream.answered {
            self.queue_reset(id, ErrorCode::Protocol);
            return Ok(ClientEvent::Reset { stream: id });
        }
        stream.malformed = true;
        stream.expected = None;
        Ok(ClientEvent::BodyMalformed { stream: id })
    }
}
