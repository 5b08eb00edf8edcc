use super::*;
use crate::{Coding, CompressionLevel, ContentDecodeError, compress, decompress};

const ENCODED: [Coding; 3] = [Coding::Gzip, Coding::Brotli, Coding::Zstd];
const CODINGS: [Coding; 4] = [Coding::Identity, Coding::Gzip, Coding::Brotli, Coding::Zstd];

/// Returns a random body: noise, a repeated byte, or words.
fn body(random: &mut fastrand::Rng) -> Vec<u8> {
    let len = match random.u8(0..4) {
        0 => random.usize(0..4),
        1 => random.usize(0..2_000),
        2 => random.usize(0..70_000),
        _ => random.usize(0..300_000),
    };
    match random.u8(0..3) {
        0 => (0..len).map(|_| random.u8(..)).collect(),
        1 => vec![random.u8(..); len],
        _ => {
            let words: Vec<String> =
                (0..200).map(|_| format!("<p class=\"{:x}\">", random.u32(..))).collect();
            let mut text = Vec::with_capacity(len + 32);
            while text.len() < len {
                text.extend_from_slice(words[random.usize(..words.len())].as_bytes());
            }
            text.truncate(len);
            text
        }
    }
}

fn level(random: &mut fastrand::Rng) -> CompressionLevel {
    match random.u8(0..4) {
        0 => CompressionLevel::Number(random.u8(0..7)),
        _ => CompressionLevel::Fast,
    }
}

/// Splits `bytes` into pieces of random sizes.
fn pieces<'a>(bytes: &'a [u8], random: &mut fastrand::Rng) -> Vec<&'a [u8]> {
    let (mut rest, mut pieces) = (bytes, Vec::new());
    let most = if random.bool() { 50_000 } else { 300 };
    while !rest.is_empty() {
        let (piece, behind) = rest.split_at(random.usize(0..=rest.len().min(most)));
        pieces.push(piece);
        rest = behind;
    }
    pieces
}

fn encode_streaming(
    coding: Coding,
    level: CompressionLevel,
    body: &[u8],
    random: &mut fastrand::Rng,
) -> Vec<u8> {
    let mut encoder = StreamEncoder::new(coding, level).unwrap();
    let mut out = b"before".to_vec();
    for piece in pieces(body, random) {
        encoder.push(piece, &mut out).unwrap();
        if random.u8(0..20) == 0 {
            encoder.flush(&mut out).unwrap();
        }
    }
    encoder.finish(&mut out).unwrap();
    assert!(out.starts_with(b"before"), "what stands in `out` already stays");
    out.split_off(6)
}

fn decode_streaming(
    coding: Coding,
    bytes: &[u8],
    limit: u64,
    random: &mut fastrand::Rng,
) -> Result<Vec<u8>, ContentDecodeError> {
    let mut decoder = StreamDecoder::new(coding, limit)?;
    let mut out = Vec::new();
    for piece in pieces(bytes, random) {
        decoder.push(piece, &mut out)?;
        assert!(out.len() as u64 <= limit);
    }
    decoder.finish()?;
    Ok(out)
}

#[test]
fn bodies_survive_every_way_there_and_back() {
    for seed in 0..60 {
        let mut random = fastrand::Rng::with_seed(seed);
        let body = body(&mut random);
        for coding in CODINGS {
            let level = level(&mut random);
            let whole = compress(coding, level, &body).unwrap();
            let streamed = encode_streaming(coding, level, &body, &mut random);
            for encoded in [&whole, &streamed] {
                let context = format!("seed {seed} {coding:?} {level:?} {} bytes", body.len());
                assert!(decompress(coding, encoded, body.len()).as_ref() == Ok(&body), "{context}");
                let limit = body.len() as u64;
                assert!(
                    decode_streaming(coding, encoded, limit, &mut random).as_ref() == Ok(&body),
                    "{context}, streamed"
                );
            }
        }
    }
}

#[test]
fn strong_levels_survive_too_and_are_no_longer_than_fast_ones() {
    let mut random = fastrand::Rng::with_seed(7);
    let body = loop {
        let body = body(&mut random);
        if (5_000..60_000).contains(&body.len()) && body.starts_with(b"<p") {
            break body;
        }
    };
    for coding in ENCODED {
        let [fast, strong] = [CompressionLevel::Fast, CompressionLevel::Strong]
            .map(|level| compress(coding, level, &body).unwrap());
        assert!(strong.len() <= fast.len() && fast.len() < body.len(), "{coding:?}");
        assert_eq!(decompress(coding, &strong, body.len()).as_ref(), Ok(&body));
    }
}

#[test]
fn flushed_bytes_can_be_decoded_before_the_body_ends() {
    for coding in ENCODED {
        let mut encoder = StreamEncoder::new(coding, CompressionLevel::Fast).unwrap();
        let mut decoder = StreamDecoder::new(coding, 1000).unwrap();
        let mut seen = Vec::new();
        for part in [&b"first part, "[..], b"second part, ", b"third"] {
            let mut sent = Vec::new();
            encoder.push(part, &mut sent).unwrap();
            encoder.flush(&mut sent).unwrap();
            let before = seen.len();
            decoder.push(&sent, &mut seen).unwrap();
            assert_eq!(&seen[before..], part, "{coding:?}");
        }
    }
}

#[test]
fn a_bomb_stops_at_the_limit() {
    let zeros = vec![0; 20 << 20];
    for coding in ENCODED {
        let bomb = compress(coding, CompressionLevel::Fast, &zeros).unwrap();
        assert!(bomb.len() < zeros.len() / 100, "{coding:?}");
        for limit in [0, 1, 100_000, zeros.len() - 1] {
            assert_eq!(
                decompress(coding, &bomb, limit),
                Err(ContentDecodeError::TooLong),
                "{coding:?} {limit}"
            );
            let mut decoder = StreamDecoder::new(coding, limit as u64).unwrap();
            let mut out = Vec::new();
            assert_eq!(decoder.push(&bomb, &mut out), Err(ContentDecodeError::TooLong));
            assert!(out.len() <= limit && out.capacity() <= 2 * limit + (64 << 10), "{coding:?} {limit}");
        }
        assert_eq!(decompress(coding, &bomb, zeros.len()).map(|body| body.len()), Ok(zeros.len()));
    }
    assert_eq!(decompress(Coding::Identity, b"four", 3), Err(ContentDecodeError::TooLong));
}

#[test]
fn a_body_cut_short_is_truncated_never_whole() {
    let mut random = fastrand::Rng::with_seed(3);
    let body: Vec<u8> = (0..5000).map(|_| random.u8(b'a'..b'j')).collect();
    for coding in ENCODED {
        let encoded = compress(coding, CompressionLevel::Fast, &body).unwrap();
        for cut in [0, 1, 5, encoded.len() / 2, encoded.len() - 1] {
            assert_eq!(
                decompress(coding, &encoded[..cut], 1 << 20),
                Err(ContentDecodeError::Truncated),
                "{coding:?} {cut}"
            );
        }
    }
}

#[test]
fn noise_and_damage_give_errors_or_bytes_within_the_limit_never_a_panic() {
    for seed in 0..400 {
        let mut random = fastrand::Rng::with_seed(seed);
        let coding = ENCODED[random.usize(..3)];
        let mut bytes = compress(coding, CompressionLevel::Fast, &vec![b'x'; random.usize(0..3000)]).unwrap();
        for _ in 0..random.usize(1..4) {
            let at = random.usize(..bytes.len());
            bytes[at] = random.u8(..);
        }
        let limit = random.u64(0..5000);
        if let Ok(body) = decode_streaming(coding, &bytes, limit, &mut random) {
            assert!(body.len() as u64 <= limit);
        }
    }
}

#[test]
fn gzip_members_and_zstd_frames_in_a_row_are_one_body() {
    for coding in [Coding::Gzip, Coding::Zstd] {
        let mut bytes = compress(coding, CompressionLevel::Fast, b"one ").unwrap();
        bytes.extend(compress(coding, CompressionLevel::Fast, b"two").unwrap());
        for seed in 0..50 {
            let mut random = fastrand::Rng::with_seed(seed);
            let decoded = decode_streaming(coding, &bytes, 100, &mut random);
            assert_eq!(decoded.as_deref(), Ok(&b"one two"[..]), "{coding:?} seed {seed}");
        }
    }
}

#[test]
fn trailing_bytes_are_corrupt() {
    for coding in ENCODED {
        let mut bytes = compress(coding, CompressionLevel::Fast, b"whole").unwrap();
        bytes.extend_from_slice(b"more");
        assert_eq!(decompress(coding, &bytes, 100), Err(ContentDecodeError::Corrupt), "{coding:?}");
    }
}
