//! Tests with random invalid input from fixed seeds: the result must not depend on how the input is split, and the
//! output must consist of whole frames.

use super::*;

const SEEDS: u64 = 300;

/// Returns frames of an origin, some of them damaged.
fn input(random: &mut fastrand::Rng) -> Vec<u8> {
    let mut all = frame(kind::SETTINGS, 0, 0, &[]);
    for _ in 0..random.usize(1..20) {
        let stream = random.u32(0..6);
        let more = match random.u8(0..9) {
            0 => head(stream, random.bool(), &[(":status", "200"), ("content-length", "5")]),
            1 => head(stream, random.bool(), &[(":status", "103")]),
            2 => head(stream, true, &[("x-trailer", "1")]),
            3 => data(stream, random.bool(), b"hello"),
            4 => reset(stream, ErrorCode::RefusedStream),
            5 => goaway(stream),
            6 => frame(kind::WINDOW_UPDATE, 0, stream, &[0, 0, 0, random.u8(..)]),
            7 => frame(kind::SETTINGS, 0, 0, &[0, random.u8(0..7), 0, 0, 0, random.u8(..)]),
            _ => frame(random.u8(0..11), random.u8(..), stream, &[random.u8(..); 8]),
        };
        let from = all.len();
        all.extend_from_slice(&more);
        if random.u8(0..4) == 0 {
            let at = random.usize(from..all.len());
            all[at] = random.u8(..);
        }
    }
    all
}

/// Passes `input` to a client in pieces of `step` bytes. Returns the events and failures as text, and the output.
fn run(input: &[u8], step: usize) -> (Vec<String>, Vec<u8>) {
    let mut client = Http2Client::new(1000);
    let mut seen = Vec::new();
    ask(&mut client);
    let id = post(&mut client);
    client.send(id, bytes::Bytes::from_static(&[b'x'; 3000]), true);
    client.schedule(usize::MAX);
    let (mut at, mut end) = (0, step.min(input.len()));
    while let Ok(got) = client.receive(&input[at..end]) {
        at += got.consumed;
        match got.event {
            OriginEvent::Partial if end == input.len() => break,
            OriginEvent::Partial => {
                end = (end + step).min(input.len());
                continue;
            }
            OriginEvent::Nothing => {}
            OriginEvent::Data { stream, data, end } => {
                assert!(data.end <= got.consumed);
                client.release(stream, data.len());
                seen.push(format!("{stream} {} {end}", data.len()));
            }
            other => seen.push(format!("{other:?}")),
        }
        seen.extend(lost(&mut client).into_iter().map(|lost| format!("{lost:?}")));
        client.schedule(usize::MAX);
    }
    (seen, drain(client.output()))
}

#[test]
fn any_pieces_mean_the_same() {
    for seed in 0..SEEDS {
        let mut random = fastrand::Rng::with_seed(seed);
        let input = input(&mut random);
        let whole = run(&input, input.len());
        for step in [1, 7, 64] {
            assert!(run(&input, step) == whole, "seed {seed}, step {step}");
        }
        let sent = whole.1.strip_prefix(PREFACE).expect("the preface comes first");
        assert!(kinds(sent).len() > 2, "seed {seed}");
    }
}
