//! Test of the HTTP/2 server: a client sends frames in any order while responses are sent, completed and reset.

use std::collections::BTreeMap;

use bytes::Bytes;
use myriad_http::h2::{ClientEvent, ErrorCode, Http2Server, Http2ServerConfig, PREFACE};
use myriad_http::{Fields, RequestHead};

use super::choices::Choices;
use super::frames::{self, GOAWAY, PING, PRIORITY, PRIORITY_UPDATE, RST_STREAM, SETTINGS, frame};
use super::receiver::Receiver;

/// Request as reported by the server.
#[derive(Debug, Default)]
struct Request {
    /// Number of reported bytes of the body. `held` is the number of bytes not released.
    received: u64,
    held: u64,
    is_complete: bool,
    is_malformed: bool,
    is_reset: bool,
    /// Number of queued bytes of the response body. `is_answer_complete` is set once the last byte is queued.
    queued: u64,
    is_answer_complete: bool,
    is_over: bool,
}

struct Sequence {
    config: Http2ServerConfig,
    connection: Http2Server,
    receiver: Receiver,
    head: RequestHead,
    requests: BTreeMap<u32, Request>,
    /// Stream identifiers used by the client. `written` contains the number of body bytes of each.
    used: Vec<u32>,
    written: BTreeMap<u32, u64>,
    input: Vec<u8>,
    is_broken: bool,
}

/// Executes a sequence.
pub(crate) fn run(choices: &Choices) {
    let window = choices.one_of(&[0, 1, 100, 5000, 65_536, u32::MAX >> 1]);
    let max_streams = choices.one_of(&[1, 3, 128]);
    let config = Http2ServerConfig { window, max_streams, ..Http2ServerConfig::default() };
    let mut sequence = Sequence {
        config,
        connection: Http2Server::new(config),
        receiver: Receiver::new(),
        head: RequestHead::new(),
        requests: BTreeMap::new(),
        used: Vec::new(),
        written: BTreeMap::new(),
        input: Vec::new(),
        is_broken: false,
    };
    let hello = [PREFACE, &frame(SETTINGS, 0, 0, &[]), &frame(SETTINGS, 1, 0, &[])].concat();
    sequence.feed(choices, &hello);
    while !choices.is_over() && !sequence.is_broken {
        if choices.once_in(2) {
            sequence.client(choices);
        } else {
            sequence.server(choices);
        }
        assert!(sequence.connection.streams() <= max_streams as usize);
    }
    sequence.finish();
}

impl Sequence {
    /// Sends a frame of the client.
    fn client(&mut self, choices: &Choices) {
        let id = frames::stream(choices, &self.used);
        let kind = if self.used.is_empty() { 0 } else { choices.below(14) };
        let mut bytes = match kind {
            0..4 => self.request(choices),
            4..7 => frames::data(choices, &mut self.written, id),
            7 => frames::headers(
                choices,
                id,
                !choices.once_in(6),
                &[("x-checksum", "1"), (choices.one_of(&["te", ":path", "x-more"]), "2")],
            ),
            8 => {
                self.drain();
                frame(RST_STREAM, 0, id, &[0, 0, 0, choices.byte()])
            }
            9 => {
                let about = frames::stream(choices, &self.used).to_be_bytes();
                let value = choices.one_of(&["u=0", "u=7, i", "i", "u=", "", "u=1, i=?0, x=\"\\\""]);
                frame(
                    PRIORITY_UPDATE,
                    0,
                    0,
                    &[
                        &about[..choices.one_of(&[4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 3])],
                        value.as_bytes(),
                    ]
                    .concat(),
                )
            }
            10 => self.receiver.window_update(choices, id),
            11 => {
                self.drain();
                self.receiver.settings(choices, (8, 1))
            }
            12 => frame(PING, choices.below(2) as u8, 0, &[choices.byte(); 8]),
            _ => match choices.below(3) {
                0 => frame(GOAWAY, 0, 0, &[0; 8]),
                1 => frame(PRIORITY, 0, id, &[0, 0, 0, choices.byte(), 9]),
                _ => frame(200, choices.byte(), id, b"unknown"),
            },
        };
        if choices.once_in(150) {
            self.receiver.is_exact = false;
            frames::mutate(choices, &mut bytes);
        }
        self.feed(choices, &bytes);
    }

    fn request(&mut self, choices: &Choices) -> Vec<u8> {
        let id = self.used.last().map_or(1, |last| last + 2);
        self.used.push(id);
        let length = choices.one_of(&["", "", "", "0", "5", "3000", "18446744073709551615", "-1"]);
        let mut fields = match choices.below(8) {
            0 => vec![
                (":method", "CONNECT"),
                (":protocol", "websocket"),
                (":scheme", "https"),
                (":path", "/"),
                (":authority", "a"),
            ],
            1 => vec![(":method", "CONNECT"), (":authority", "a:1")],
            _ => vec![
                (":method", choices.one_of(&["GET", "POST"])),
                (":scheme", "https"),
                (":path", "/"),
                (":authority", "a"),
            ],
        };
        if !length.is_empty() {
            fields.push(("content-length", length));
        }
        let end = choices.once_in(2);
        frames::headers(choices, id, end, &fields)
    }

    /// Calls a function of the server, or takes output.
    fn server(&mut self, choices: &Choices) {
        let id = frames::stream(choices, &self.used);
        match choices.below(12) {
            0..2 => self.respond(choices, id),
            2..5 => self.send(choices, id),
            5 => self.trailers(choices, id),
            6 => {
                let code = choices.one_of(&[ErrorCode::Internal, ErrorCode::Cancel, ErrorCode::NoError]);
                self.connection.reset(id, code);
                if let Some(request) = self.requests.get_mut(&id) {
                    request.is_reset = true;
                }
            }
            7 => match choices.below(5) {
                0 => self.connection.reset_after_response(id),
                1 => self.connection.limit_frames(id, choices.one_of(&[0, 1, 100, usize::MAX])),
                2 => self.connection.await_lingering(),
                3 => self.connection.reset_lingering(),
                _ => self.connection.free_idle_memory(),
            },
            8 => self.release(choices, id),
            9 => self.connection.schedule(choices.one_of(&[0, 1, 1000, 100_000])),
            10 => {
                self.receiver
                    .take(self.connection.output(), choices.one_of(&[1, 8, 9, 10, 1000, usize::MAX]));
            }
            _ => self.process_finished(),
        }
    }

    fn respond(&mut self, choices: &Choices, id: u32) {
        let status = choices.one_of(&[200, 200, 404, 103]);
        let long = vec![b'x'; choices.one_of(&[1, 300, 20_000])];
        let end = choices.once_in(5);
        let fields: [(&[u8], &[u8]); 2] = [(b"Content-Type", b"text/plain"), (b"x-long", &long)];
        if self.connection.respond(id, status, fields, end)
            && let Some(request) = self.requests.get_mut(&id)
        {
            request.is_answer_complete |= end && status >= 200;
        }
    }

    fn send(&mut self, choices: &Choices, id: u32) {
        let Some(request) = self.requests.get_mut(&id) else {
            return self.connection.send(id, Bytes::from_static(b"dropped"), true);
        };
        if !request.is_answer_complete {
            let length = choices.one_of(&[0, 1, 100, 16_384, 40_000]);
            let end = choices.once_in(4);
            let content = frames::body(id, request.queued, length);
            request.queued += length as u64;
            request.is_answer_complete = end;
            self.connection.send(id, Bytes::from(content), end);
        }
    }

    fn trailers(&mut self, choices: &Choices, id: u32) {
        let mut fields = Fields::new();
        if choices.once_in(2) {
            fields.push(b"x-checksum", &vec![b'y'; choices.one_of(&[1, 20_000])]);
        }
        self.connection.send_trailers(id, fields);
        if let Some(request) = self.requests.get_mut(&id) {
            request.is_answer_complete = true;
        }
    }

    fn release(&mut self, choices: &Choices, id: u32) {
        if let Some(request) = self.requests.get_mut(&id) {
            let count = if choices.once_in(2) { request.held } else { request.held.min(10) };
            request.held -= count;
            self.connection.release(id, count as usize);
        }
    }

    /// Passes bytes to the server in pieces.
    fn feed(&mut self, choices: &Choices, bytes: &[u8]) {
        let was_quiet = self.connection.output().is_empty() && self.receiver.is_whole();
        self.input.extend_from_slice(bytes);
        let cut =
            if choices.once_in(3) { choices.below(256).min(self.input.len()) } else { self.input.len() };
        for end in [cut, usize::MAX] {
            loop {
                let input = std::mem::take(&mut self.input);
                let seen = &input[..end.min(input.len())];
                let Ok(got) = self.connection.receive(seen, &mut self.head) else {
                    self.is_broken = true;
                    return;
                };
                assert!(got.consumed <= seen.len());
                let is_partial = got.event == ClientEvent::Partial;
                self.event(&got.event, seen, was_quiet);
                self.input = input[got.consumed..].to_vec();
                if is_partial || end != usize::MAX {
                    break;
                }
            }
        }
    }

    fn event(&mut self, received: &ClientEvent, input: &[u8], was_quiet: bool) {
        match received {
            ClientEvent::Partial | ClientEvent::Nothing => {}
            ClientEvent::Request { stream, end, malformed } => {
                let last = self.requests.last_key_value().map_or(0, |(last, _)| *last);
                assert!(*stream > last && *stream % 2 == 1, "stream {stream} after {last}");
                assert!(
                    malformed.is_some() || self.head.fields().iter().all(|(name, _)| !name.starts_with(b":"))
                );
                self.receiver.open(*stream);
                let request = Request { is_complete: *end, ..Request::default() };
                self.requests.insert(*stream, request);
            }
            ClientEvent::Data { stream, data, end } => {
                let content = &input[data.clone()];
                let request = self.requests.get_mut(stream).expect("a request");
                assert!(!request.is_reset && !request.is_complete, "data of stream {stream}, which is over");
                if self.receiver.is_exact && !request.is_malformed {
                    assert!(
                        content == frames::body(*stream, request.received, content.len()),
                        "another body"
                    );
                }
                request.received += content.len() as u64;
                request.held += content.len() as u64;
                assert!(request.held <= u64::from(self.config.window), "more than the window is held");
                request.is_complete = *end;
            }
            ClientEvent::BodyMalformed { stream } => {
                self.requests.get_mut(stream).expect("a request").is_malformed = true;
            }
            ClientEvent::Reset { stream } => {
                let request = self.requests.get_mut(stream).expect("a request");
                assert!(!std::mem::replace(&mut request.is_reset, true), "stream {stream} is reset twice");
                if was_quiet {
                    // No output was in flight, so queued data must be dropped and only a reset sent.
                    self.drain();
                    self.receiver.forbid(*stream);
                }
            }
        }
    }

    /// Takes the output of the server without scheduling more.
    fn drain(&mut self) {
        self.receiver.take(self.connection.output(), usize::MAX);
    }

    /// Processes the reports of finished streams.
    fn process_finished(&mut self) {
        while let Some(over) = self.connection.take_finished() {
            let request = self.requests.get_mut(&over.stream).expect("a request");
            assert!(!std::mem::replace(&mut request.is_over, true), "stream {} is over twice", over.stream);
            assert!(!over.complete || request.is_answer_complete);
            self.drain();
            let stream = &self.receiver.streams[&over.stream];
            assert_eq!(over.sent.body, stream.body, "body of stream {}", over.stream);
            assert_eq!(
                over.sent.body + over.sent.head + over.sent.framing,
                stream.wire,
                "bytes of stream {}",
                over.stream
            );
        }
    }

    fn finish(mut self) {
        self.receiver.take(self.connection.output(), usize::MAX);
        if self.is_broken {
            assert_eq!(self.receiver.farewells, 1, "a broken connection ends with GOAWAY");
        }
        while !self.is_broken {
            self.connection.schedule(1 << 20);
            if self.connection.output().is_empty() {
                break;
            }
            self.drain();
        }
        self.process_finished();
        assert!(self.receiver.is_whole());
        for (id, request) in &self.requests {
            assert!(self.receiver.streams[id].body <= request.queued);
        }
    }
}
