//! Peer of an HTTP/2 connection, which parses the output of the tested side and checks that it observes the limits.

use std::collections::BTreeMap;
use std::io::IoSlice;

use myriad_http::h2::{FRAME_HEADER, MAX_FRAME, OutputQueue};

use super::choices::Choices;
use super::frames::{
    self, CONTINUATION, DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, PING, RST_STREAM, SETTINGS,
    WINDOW_UPDATE, body, frame,
};

/// State of a stream at the receiver.
#[derive(Debug, Default)]
pub(crate) struct ReceiverStream {
    window: i64,
    has_head: bool,
    pub(crate) is_ended: bool,
    is_gone: bool,
    /// Number of body bytes received.
    pub(crate) body: u64,
    /// Number of bytes of HEADERS, CONTINUATION and DATA frames received.
    pub(crate) wire: u64,
}

/// State of the receiver.
#[derive(Debug)]
pub(crate) struct Receiver {
    bytes: Vec<u8>,
    initial_window: i64,
    window: i64,
    /// Maximum frame size that the peer has allowed so far.
    max_frame: u32,
    /// True while windows and contents are known; false after a frame was changed at random.
    pub(crate) is_exact: bool,
    /// Streams by identifier.
    pub(crate) streams: BTreeMap<u32, ReceiverStream>,
    block: Option<(u32, bool)>,
    /// Number of GOAWAY frames received.
    pub(crate) farewells: usize,
}

impl Receiver {
    /// Creates a receiver with the windows of RFC 9113.
    pub(crate) fn new() -> Self {
        Self {
            bytes: Vec::new(),
            initial_window: 65_535,
            window: 65_535,
            max_frame: MAX_FRAME as u32,
            is_exact: true,
            streams: BTreeMap::new(),
            block: None,
            farewells: 0,
        }
    }

    /// Adds a stream.
    pub(crate) fn open(&mut self, id: u32) {
        let stream = ReceiverStream { window: self.initial_window, ..ReceiverStream::default() };
        assert!(self.streams.insert(id, stream).is_none(), "stream {id} twice");
    }

    /// Increases the window of a stream, or of the connection if `id` is 0.
    fn widen(&mut self, id: u32, more: u32) {
        if id == 0 {
            self.window += i64::from(more);
        } else if let Some(stream) = self.streams.get_mut(&id) {
            stream.window += i64::from(more);
        }
    }

    /// Returns a window update for the connection or the stream `id`, and records it.
    pub(crate) fn window_update(&mut self, choices: &Choices, id: u32) -> Vec<u8> {
        let more = frames::increment(choices);
        let id = if choices.once_in(2) { 0 } else { id };
        self.widen(id, more);
        frame(WINDOW_UPDATE, 0, id, &more.to_be_bytes())
    }

    /// Returns a frame with one setting, and records it. `own` is a setting that only this kind of peer sends. All
    /// output must have been taken before, because a new initial window applies to later frames.
    pub(crate) fn settings(&mut self, choices: &Choices, own: (u16, u32)) -> Vec<u8> {
        let (name, value): (u16, u32) = match choices.below(6) {
            0 => (1, choices.one_of(&[0, 4096, 1 << 30])),
            1 => (5, choices.one_of(&[16_384, 1 << 20])),
            2 => own,
            _ => (4, choices.one_of(&[0, 1, 100, 65_535, u32::MAX >> 1])),
        };
        match name {
            4 => self.set_initial_window(value),
            5 => self.max_frame = self.max_frame.max(value),
            _ => {}
        }
        frame(SETTINGS, 0, 0, &[&name.to_be_bytes()[..], &value.to_be_bytes()].concat())
    }

    /// Changes the initial window.
    fn set_initial_window(&mut self, window: u32) {
        let change = i64::from(window) - self.initial_window;
        self.initial_window = i64::from(window);
        for stream in self.streams.values_mut() {
            stream.window += change;
        }
    }

    /// Records that no more frames may be sent on a stream.
    pub(crate) fn forbid(&mut self, id: u32) {
        if let Some(stream) = self.streams.get_mut(&id) {
            stream.is_gone = true;
        }
    }

    /// Takes at most `most` bytes of the output and parses the complete frames.
    pub(crate) fn take(&mut self, output: &mut OutputQueue, most: usize) {
        let mut left = most;
        while !output.is_empty() && left > 0 {
            let mut slices = [IoSlice::new(&[]); 4];
            let count = output.slices(&mut slices);
            let mut bytes: Vec<u8> = slices[..count].iter().flat_map(|slice| slice.iter().copied()).collect();
            bytes.truncate(left);
            assert!(!bytes.is_empty(), "output without bytes");
            output.advance(bytes.len());
            left -= bytes.len();
            self.bytes.extend(bytes);
        }
        self.read();
    }

    /// Removes the preface of a client.
    pub(crate) fn take_preface(output: &mut OutputQueue) {
        let length = myriad_http::h2::PREFACE.len();
        let mut slices = [IoSlice::new(&[]); 1];
        output.slices(&mut slices);
        assert!(slices[0].starts_with(myriad_http::h2::PREFACE));
        output.advance(length);
    }

    /// Returns whether all frames so far are complete.
    pub(crate) fn is_whole(&self) -> bool {
        self.bytes.is_empty() && self.block.is_none()
    }

    fn read(&mut self) {
        let bytes = std::mem::take(&mut self.bytes);
        let mut rest = &bytes[..];
        while let Some((header, after)) = rest.split_first_chunk::<FRAME_HEADER>() {
            let length = u32::from_be_bytes([0, header[0], header[1], header[2]]) as usize;
            assert!(length <= self.max_frame as usize, "frame of {length} bytes");
            let Some((payload, after)) = after.split_at_checked(length) else { break };
            let id = u32::from_be_bytes([header[5], header[6], header[7], header[8]]);
            self.frame(header[3], header[4], id, payload);
            rest = after;
        }
        self.bytes = rest.to_vec();
    }

    fn frame(&mut self, kind: u8, flags: u8, id: u32, payload: &[u8]) {
        if let Some((stream, _)) = self.block {
            assert_eq!((kind, id), (CONTINUATION, stream), "a header block is interrupted");
        }
        match kind {
            DATA => self.data(flags, id, payload),
            HEADERS => {
                self.on_stream(id, payload.len());
                self.block = Some((id, flags & END_STREAM > 0));
                self.end_of_block(flags);
            }
            CONTINUATION => {
                assert!(self.block.is_some(), "CONTINUATION without HEADERS");
                self.on_stream(id, payload.len());
                self.end_of_block(flags);
            }
            RST_STREAM => {
                assert_eq!(payload.len(), 4);
                assert_ne!(id, 0);
                self.forbid(id);
            }
            SETTINGS => assert!(id == 0 && payload.len().is_multiple_of(6)),
            PING => assert!(id == 0 && payload.len() == 8),
            GOAWAY => {
                assert!(id == 0 && payload.len() == 8);
                self.farewells += 1;
            }
            WINDOW_UPDATE => {
                let more = u32::from_be_bytes(payload.try_into().expect("four bytes"));
                assert!((1..=0x7fff_ffff).contains(&more), "WINDOW_UPDATE by {more}");
            }
            other => panic!("frame of type {other}"),
        }
    }

    fn on_stream(&mut self, id: u32, length: usize) -> &mut ReceiverStream {
        let stream =
            self.streams.get_mut(&id).unwrap_or_else(|| panic!("frame on stream {id}, which is idle"));
        assert!(!stream.is_ended, "frame on stream {id} after its end");
        assert!(!stream.is_gone, "frame on stream {id} after its reset");
        stream.wire += (FRAME_HEADER + length) as u64;
        stream
    }

    fn end_of_block(&mut self, flags: u8) {
        if flags & END_HEADERS > 0
            && let Some((id, is_end)) = self.block.take()
            && let Some(stream) = self.streams.get_mut(&id)
        {
            stream.has_head = true;
            stream.is_ended = is_end;
        }
    }

    fn data(&mut self, flags: u8, id: u32, payload: &[u8]) {
        let is_exact = self.is_exact;
        self.window -= payload.len() as i64;
        let window = self.window;
        let stream = self.on_stream(id, payload.len());
        assert!(stream.has_head, "DATA on stream {id} before its header");
        assert!(payload == body(id, stream.body, payload.len()), "content of another body on stream {id}");
        stream.window -= payload.len() as i64;
        assert!(payload.is_empty() || !is_exact || stream.window >= 0 && window >= 0, "windows exceeded");
        stream.body += payload.len() as u64;
        stream.is_ended = flags & END_STREAM > 0;
        assert!(!payload.is_empty() || stream.is_ended, "empty DATA on stream {id}");
    }
}
