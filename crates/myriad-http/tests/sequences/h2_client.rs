//! Test of the HTTP/2 client: an origin sends frames in any order while requests are sent and cancelled.

use std::collections::BTreeMap;

use bytes::Bytes;
use myriad_http::Method;
use myriad_http::h2::client::{Http2Client, OriginEvent};

use super::choices::Choices;
use super::frames::{self, GOAWAY, PING, PRIORITY_UPDATE, PUSH_PROMISE, RST_STREAM, SETTINGS, frame};
use super::receiver::Receiver;

/// Request, with what the client has reported about its response.
#[derive(Debug, Default)]
struct Request {
    /// Number of queued bytes of the body. `is_sent` is set once the last byte is queued.
    queued: u64,
    is_sent: bool,
    has_head: bool,
    /// Number of received bytes of the response body. `held` is the number of bytes not released.
    received: u64,
    held: u64,
    /// True if the response is complete or the request failed or was cancelled.
    is_over: bool,
    is_lost: bool,
}

struct Sequence {
    window: u32,
    client: Http2Client,
    receiver: Receiver,
    requests: BTreeMap<u32, Request>,
    used: Vec<u32>,
    written: BTreeMap<u32, u64>,
    input: Vec<u8>,
    is_broken: bool,
}

/// Executes a sequence.
pub(crate) fn run(choices: &Choices) {
    let window = choices.one_of(&[0, 1, 100, 5000, 65_536, u32::MAX >> 1]);
    let mut client = Http2Client::new(window);
    Receiver::take_preface(client.output());
    let mut sequence = Sequence {
        window,
        client,
        receiver: Receiver::new(),
        requests: BTreeMap::new(),
        used: Vec::new(),
        written: BTreeMap::new(),
        input: Vec::new(),
        is_broken: false,
    };
    sequence.open(choices);
    sequence.feed(choices, &frame(SETTINGS, 0, 0, &[]));
    while !choices.is_over() && !sequence.is_broken {
        if choices.once_in(2) {
            sequence.origin(choices);
        } else {
            sequence.call(choices);
        }
        assert!(sequence.client.streams() <= 256);
    }
    sequence.finish();
}

impl Sequence {
    /// Sends a frame of the origin.
    fn origin(&mut self, choices: &Choices) {
        let id = frames::stream(choices, &self.used);
        let mut bytes = match choices.below(14) {
            0..4 => Self::head(choices, id),
            4..8 => frames::data(choices, &mut self.written, id),
            8 => frames::headers(
                choices,
                id,
                !choices.once_in(6),
                &[(choices.one_of(&["x-checksum", ":status", "te"]), "1")],
            ),
            9 => {
                let code = choices.one_of(&[0, 7, 8, 13]);
                frame(RST_STREAM, 0, id, &[0, 0, 0, code])
            }
            10 => self.receiver.window_update(choices, id),
            11 => {
                self.drain();
                self.receiver.settings(choices, (3, choices.one_of(&[0, 1, 100, u32::MAX])))
            }
            12 => frame(PING, choices.below(2) as u8, 0, &[choices.byte(); 8]),
            _ => match choices.below(6) {
                0 => frame(GOAWAY, 0, 0, &[&id.to_be_bytes()[..], &[0; 4]].concat()),
                1 => frame(PUSH_PROMISE, 4, id, &[0, 0, 0, 2]),
                2 => frame(PRIORITY_UPDATE, 0, 0, &[0, 0, 0, 1, b'u']),
                _ => frame(10, 0, id, b"\0\0unknown"),
            },
        };
        if choices.once_in(150) {
            self.receiver.is_exact = false;
            frames::mutate(choices, &mut bytes);
        }
        self.feed(choices, &bytes);
    }

    fn head(choices: &Choices, id: u32) -> Vec<u8> {
        let status = choices.one_of(&["200", "200", "200", "103", "204", "304", "101", "99999"]);
        let length = choices.one_of(&["", "", "", "0", "3000", "18446744073709551615", "-1"]);
        let mut fields = vec![(":status", status), ("content-type", "text/plain")];
        if !length.is_empty() {
            fields.push(("content-length", length));
        }
        let end = choices.once_in(5);
        frames::headers(choices, id, end, &fields)
    }

    /// Calls a function of the client, or takes output.
    fn call(&mut self, choices: &Choices) {
        let id = frames::stream(choices, &self.used);
        match choices.below(10) {
            0..3 => self.open(choices),
            3..5 => self.send(choices, id),
            5 => {
                self.client.cancel(id);
                if let Some(request) = self.requests.get_mut(&id) {
                    request.is_over = true;
                    request.is_lost = true;
                    request.is_sent = true;
                }
            }
            6 => self.release(choices, id),
            7 => self.client.schedule(choices.one_of(&[0, 1, 1000, 100_000])),
            8 => self.receiver.take(self.client.output(), choices.one_of(&[1, 8, 9, 10, 1000, usize::MAX])),
            _ => match choices.below(8) {
                0 => self.client.shut_down(),
                1 => self.client.free_idle_memory(),
                _ => drop(self.client.send_ping()),
            },
        }
    }

    fn open(&mut self, choices: &Choices) {
        let method = choices.one_of(&[Method::Get, Method::Post, Method::Head]);
        let long = vec![b'x'; choices.one_of(&[1, 300, 20_000])];
        let fields: [(&[u8], &[u8]); 4] =
            [(b":method", b"GET"), (b":scheme", b"http"), (b":path", b"/"), (b"x-long", &long)];
        let end = choices.once_in(2);
        let Some(id) = self.client.open(method, fields, end, choices.one_of(&[10, 4096])) else { return };
        self.receiver.open(id);
        self.used.push(id);
        self.requests.insert(id, Request { is_sent: end, ..Request::default() });
    }

    fn send(&mut self, choices: &Choices, id: u32) {
        let Some(request) = self.requests.get_mut(&id) else {
            return self.client.send(id, Bytes::from_static(b"dropped"), true);
        };
        if !request.is_sent {
            let length = choices.one_of(&[0, 1, 100, 16_384, 40_000]);
            let end = choices.once_in(4);
            let content = frames::body(id, request.queued, length);
            request.queued += length as u64;
            request.is_sent = end;
            self.client.send(id, Bytes::from(content), end);
        }
    }

    fn release(&mut self, choices: &Choices, id: u32) {
        if let Some(request) = self.requests.get_mut(&id) {
            let count = if choices.once_in(2) { request.held } else { request.held.min(10) };
            request.held -= count;
            self.client.release(id, count as usize);
        }
    }

    /// Passes bytes to the client in pieces.
    fn feed(&mut self, choices: &Choices, bytes: &[u8]) {
        self.input.extend_from_slice(bytes);
        let cut =
            if choices.once_in(3) { choices.below(256).min(self.input.len()) } else { self.input.len() };
        for end in [cut, usize::MAX] {
            loop {
                let input = std::mem::take(&mut self.input);
                let seen = &input[..end.min(input.len())];
                let Ok(got) = self.client.receive(seen) else {
                    self.is_broken = true;
                    return;
                };
                assert!(got.consumed <= seen.len());
                let is_partial = matches!(got.event, OriginEvent::Partial);
                self.event(got.event, seen);
                self.lost();
                self.input = input[got.consumed..].to_vec();
                if is_partial || end != usize::MAX {
                    break;
                }
            }
        }
    }

    fn event(&mut self, answered: OriginEvent, input: &[u8]) {
        let id = match &answered {
            OriginEvent::Partial | OriginEvent::Nothing => return,
            OriginEvent::Head { stream, .. }
            | OriginEvent::Data { stream, .. }
            | OriginEvent::Trailers { stream, .. } => *stream,
        };
        let request = self.requests.get_mut(&id).expect("a request");
        assert!(!request.is_over, "event of stream {id}, which is over");
        match answered {
            OriginEvent::Head { head, end, .. } => {
                assert!(!request.has_head, "second header of stream {id}");
                assert!(head.fields.iter().all(|(name, _)| !name.starts_with(b":")));
                request.has_head = head.status >= 200;
                request.is_over = end;
            }
            OriginEvent::Data { data, end, .. } => {
                let content = &input[data];
                assert!(request.has_head, "data of stream {id} before its header");
                if self.receiver.is_exact {
                    assert!(content == frames::body(id, request.received, content.len()), "another body");
                }
                request.received += content.len() as u64;
                request.held += content.len() as u64;
                assert!(request.held <= u64::from(self.window), "more than the window is held");
                request.is_over = end;
            }
            _ => {
                assert!(request.has_head, "trailers of stream {id} before its header");
                request.is_over = true;
            }
        }
    }

    fn lost(&mut self) {
        while let Some((id, lost)) = self.client.next_failed() {
            let request = self.requests.get_mut(&id).expect("a request");
            // An incomplete request can fail after its response is complete.
            let may_be_lost = !request.is_over || !self.receiver.streams[&id].is_ended;
            assert!(may_be_lost && !request.is_lost, "stream {id} is lost after its end: {lost:?}");
            (request.is_lost, request.is_over) = (true, true);
        }
    }

    /// Takes the output of the client without scheduling more.
    fn drain(&mut self) {
        self.receiver.take(self.client.output(), usize::MAX);
    }

    fn finish(mut self) {
        self.drain();
        if self.is_broken {
            assert!(self.receiver.farewells > 0, "a broken connection ends with GOAWAY");
        }
        while !self.is_broken {
            self.client.schedule(1 << 20);
            if self.client.output().is_empty() {
                break;
            }
            self.drain();
        }
        assert!(self.receiver.is_whole());
        for (id, request) in &self.requests {
            assert!(self.receiver.streams[id].body <= request.queued);
        }
    }
}
