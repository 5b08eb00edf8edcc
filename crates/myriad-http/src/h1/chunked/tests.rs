use super::*;

/// Decodes `input` in pieces whose sizes `piece` returns. Returns the data, the number of consumed bytes and the
/// decoder.
fn decode_in(
    input: &[u8],
    mut piece: impl FnMut() -> usize,
) -> Result<(Vec<u8>, usize, ChunkedDecoder), ParseError> {
    let mut decoder = ChunkedDecoder::new();
    let mut data = Vec::new();
    let mut at = 0;
    while at < input.len() && !decoder.is_done() {
        let end = (at + piece().max(1)).min(input.len());
        while at < end && !decoder.is_done() {
            let chunk = decoder.decode(&input[at..end])?;
            assert!(chunk.consumed > 0, "bytes are always consumed");
            assert!(chunk.data.end <= chunk.consumed && chunk.consumed <= end - at);
            data.extend_from_slice(&input[at..end][chunk.data]);
            at += chunk.consumed;
            assert_eq!(chunk.done, decoder.is_done());
        }
    }
    Ok((data, at, decoder))
}

fn decode(input: &str) -> Result<(String, usize, bool), ParseError> {
    let (data, consumed, decoder) = decode_in(input.as_bytes(), || usize::MAX / 2)?;
    Ok((String::from_utf8(data).unwrap(), consumed, decoder.is_done()))
}

#[test]
fn chunks_are_decoded_and_what_follows_is_left() {
    assert_eq!(decode("5\r\nhello\r\n0\r\n\r\nGET"), Ok(("hello".to_owned(), 15, true)));
    assert_eq!(decode("1\r\na\r\nA\r\n0123456789\r\n00\r\n\r\n"), Ok(("a0123456789".to_owned(), 27, true)));
    assert_eq!(decode("0\r\n\r\n"), Ok((String::new(), 5, true)));
    assert_eq!(decode("5;a=b;c=\"d e\"\r\nhello\r\n0;x\r\n\r\n").unwrap().0, "hello");
    assert_eq!(decode("5 ;x\r\nhello\r\n0\t ; x\r\n\r\n").unwrap().0, "hello");
    assert_eq!(decode("00000000005\r\nhello\r\n0\r\n\r\n").unwrap().0, "hello");
    assert_eq!(decode("5\r\nhel"), Ok(("hel".to_owned(), 6, false)));
}

#[test]
fn broken_framing_is_refused() {
    use ParseError::{InvalidChunkEnd, InvalidChunkExtension, InvalidChunkSize};
    for (input, error) in [
        ("5\nhello\r\n", InvalidChunkEnd),
        ("5;x\nhello\r\n", InvalidChunkEnd),
        ("5 \nhello\r\n", InvalidChunkEnd),
        ("5\rhello", InvalidChunkEnd),
        ("5\r\r\nhello", InvalidChunkEnd),
        ("5\r\nhellox\r\n", InvalidChunkEnd),
        ("5\r\nhello\n", InvalidChunkEnd),
        ("5\r\nhello\rx", InvalidChunkEnd),
        ("5\r\nhelloo\r\n0\r\n\r\n", InvalidChunkEnd),
        ("\r\n", InvalidChunkSize),
        (";x\r\n", InvalidChunkSize),
        (" 5\r\n", InvalidChunkSize),
        ("-5\r\n", InvalidChunkSize),
        ("+5\r\n", InvalidChunkSize),
        ("0x5\r\n", InvalidChunkSize),
        ("5g\r\n", InvalidChunkSize),
        ("5 5\r\n", InvalidChunkSize),
        ("5\0\r\n", InvalidChunkSize),
        ("5,\r\n", InvalidChunkSize),
        ("8000000000000000\r\n", InvalidChunkSize),
        ("10000000000000005\r\n", InvalidChunkSize),
        ("ffffffffffffffffffff\r\n", InvalidChunkSize),
        ("5 \r\n", InvalidChunkSize),
        ("5\t\r\n", InvalidChunkSize),
        ("5;\r\n", InvalidChunkExtension),
        ("5; \r\n", InvalidChunkExtension),
        ("5;a;\r\n", InvalidChunkExtension),
        ("5;;a\r\n", InvalidChunkExtension),
        ("5;=b\r\n", InvalidChunkExtension),
        ("5;a=\r\n", InvalidChunkExtension),
        ("5;a= \r\n", InvalidChunkExtension),
        ("5;a \r\n", InvalidChunkExtension),
        ("5;a=b \r\n", InvalidChunkExtension),
        ("5;a b\r\n", InvalidChunkExtension),
        ("5;a=b c\r\n", InvalidChunkExtension),
        ("5;a==b\r\n", InvalidChunkExtension),
        ("5;bad[=x\r\n", InvalidChunkExtension),
        ("5;a=\"b\r\n", InvalidChunkExtension),
        ("5;a=\"b\\\r\n", InvalidChunkExtension),
        ("5;a=\"b\"c\r\n", InvalidChunkExtension),
        ("5;a=b\"c\"\r\n", InvalidChunkExtension),
        ("5;\"a\"\r\n", InvalidChunkExtension),
        ("5;a=é\r\n", InvalidChunkExtension),
        ("5;a\0b\r\n", InvalidChunkExtension),
        ("5;a=\"\x01\"\r\n", InvalidChunkExtension),
        ("5;a\x7Fb\r\n", InvalidChunkExtension),
    ] {
        for piece in [1, 2, 1000] {
            assert_eq!(decode_in(input.as_bytes(), || piece).err(), Some(error), "{input:?}");
        }
    }
}

#[test]
fn extensions_of_the_grammar_are_taken() {
    for line in [
        "5;a",
        "5;a;b",
        "5;a=b",
        "5; a",
        "5 ;a",
        "5\t;\ta",
        "5;a = b",
        "5;a =b;c",
        "5;a=b ;c",
        "5;a=b\t; c = d",
        "5;a=\"\"",
        "5;a=\"b;c = \\\"é\\\\\"",
        "5;a=\"b\" ;c",
        "5;!#$%&'*+-.^_`|~=1",
    ] {
        let body = format!("{line}\r\nhello\r\n0;{}\r\n\r\n", line.split_once(';').unwrap().1);
        for piece in [1, 2, 1000] {
            let (data, consumed, decoder) = decode_in(body.as_bytes(), || piece).expect(line);
            assert_eq!((&data[..], consumed, decoder.is_done()), (&b"hello"[..], body.len(), true), "{line}");
        }
    }
}

#[test]
fn origin_chunk_sizes_may_be_padded_and_have_any_extension() {
    let decode = |input: &str| {
        let mut decoder = ChunkedDecoder::for_origin();
        let mut at = 0;
        while at < input.len() && !decoder.is_done() {
            at += decoder.decode(&input.as_bytes()[at..])?.consumed;
        }
        Ok::<_, ParseError>(decoder.is_done())
    };
    for line in ["5  ", "5\t", "5;", "5;bad[=x", "5 ; a b ", "5;é"] {
        assert_eq!(decode(&format!("{line}\r\nhello\r\n0  \r\n\r\n")), Ok(true), "{line}");
    }
    for line in ["5;a\0", "5;a\x7f", "5 5", " 5", "5\n"] {
        assert!(decode(&format!("{line}\r\nhello\r\n0\r\n\r\n")).is_err(), "{line}");
    }
}

#[test]
fn sizes_up_to_the_largest_are_read() {
    let (data, consumed, decoder) = decode_in(b"7fffffffffffffff\r\nab", || 100).unwrap();
    assert_eq!((&data[..], consumed, decoder.is_done()), (&b"ab"[..], 20, false));
}

#[test]
fn extensions_are_bounded() {
    let chunk = |len: usize| format!("1;{}\r\na\r\n", "x".repeat(len));
    assert!(decode(&chunk(1024)).is_ok());
    assert_eq!(decode(&chunk(1025)), Err(ParseError::InvalidChunkExtension));
    // Extensions of tiny chunks add up.
    assert_eq!(decode(&chunk(100).repeat(11)), Err(ParseError::InvalidChunkExtension));
    assert!(decode(&chunk(1).repeat(5000)).is_ok());
    assert_eq!(decode(&"0".repeat(2000)), Err(ParseError::InvalidChunkExtension));
}

#[test]
fn trailers_are_returned_once_the_body_is_done() {
    let input = b"1\r\na\r\n0\r\nExpires: x\r\nX-Sum:  1 \r\n\r\nrest";
    for piece in 1..input.len() {
        let (data, consumed, decoder) = decode_in(input, || piece).unwrap();
        assert_eq!((&data[..], consumed), (&b"a"[..], input.len() - 4));
        let trailers = decoder.trailers().expect("there are trailers");
        assert_eq!(trailers.iter().collect::<Vec<_>>(), [(&b"Expires"[..], &b"x"[..]), (b"X-Sum", b"1")]);
    }
    let (_, _, decoder) = decode_in(b"0\r\n\r\n", || 1).unwrap();
    assert!(decoder.trailers().is_none_or(Fields::is_empty));
}

#[test]
fn trailers_are_as_strict_as_heads_and_bounded() {
    for (lines, error) in [
        ("X: 1\n\r\n", ParseError::ControlByte),
        ("X : 1\r\n\r\n", ParseError::InvalidFieldName),
        (" X: 1\r\n\r\n", ParseError::ObsoleteFold),
        ("X\r\n\r\n", ParseError::MissingColon),
        ("\n", ParseError::ControlByte),
        ("\rX: 1\r\n\r\n", ParseError::BareCarriageReturn),
    ] {
        for piece in [1, 3, 1000] {
            assert_eq!(
                decode_in(format!("0\r\n{lines}").as_bytes(), || piece).err(),
                Some(error),
                "{lines:?}"
            );
        }
    }
    let long = format!("0\r\nX: {}\r\n\r\n", "x".repeat(9000));
    let many = format!("0\r\n{}\r\n", "X: 1\r\n".repeat(101));
    let fat = format!("0\r\n{}\r\n", format!("X: {}\r\n", "x".repeat(1000)).repeat(9));
    for input in [long, many, fat] {
        for piece in [1, 100, 100_000] {
            let result = decode_in(input.as_bytes(), || piece).err();
            assert_eq!(result, Some(ParseError::TrailerTooLarge));
        }
    }
}

#[test]
fn a_trailer_line_is_judged_once_it_is_complete() {
    for piece in [1, 1000] {
        let (_, consumed, decoder) = decode_in(b"0\r\nX Y\rZ", || piece).unwrap();
        assert_eq!((consumed, decoder.is_done()), (8, false));
        assert!(decode_in(b"0\r\nX Y\rZ\r\n", || piece).is_err());
    }
}

#[test]
fn nothing_is_consumed_after_the_end_or_of_nothing() {
    let mut decoder = ChunkedDecoder::new();
    assert_eq!(decoder.decode(b""), Ok(Chunk { consumed: 0, data: 0..0, done: false }));
    decoder.decode(b"0\r\n\r\n").unwrap();
    assert_eq!(decoder.decode(b"GET"), Ok(Chunk { consumed: 0, data: 0..0, done: true }));
}

fn encode(data: &[u8], random: &mut fastrand::Rng) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = data;
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(random.usize(1..=rest.len()));
        encode_chunk_head(piece.len(), &mut out);
        out.extend_from_slice(piece);
        out.extend_from_slice(b"\r\n");
        rest = after;
    }
    out.extend_from_slice(LAST_CHUNK);
    out
}

#[test]
fn what_is_encoded_is_decoded_in_any_pieces() {
    for seed in 0..500 {
        let mut random = fastrand::Rng::with_seed(seed);
        let data: Vec<u8> = (0..random.usize(..400)).map(|_| random.u8(..)).collect();
        let encoded = encode(&data, &mut random);
        let most = random.usize(1..50);
        let (decoded, consumed, decoder) = decode_in(&encoded, || random.usize(..most)).unwrap();
        assert_eq!((decoded, consumed, decoder.is_done()), (data, encoded.len(), true), "seed {seed}");
    }
}

#[test]
fn mutated_bodies_never_panic_and_are_read_alike_in_any_pieces() {
    let base =
        b"3;x=y\r\nabc\r\n10 ;x=\"y\"\r\n0123456789abcdef\r\n0\r\nX: 1\r\nY: 2\r\n\r\nGET / HTTP/1.1\r\n";
    for seed in 0..5000 {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut input = base.to_vec();
        for _ in 0..random.usize(1..4) {
            let at = random.usize(..input.len());
            match random.u8(..3) {
                0 => input[at] = *random.choice(b"\0\r\n ;=\"\\0fF:x\xFF").unwrap(),
                1 => input.insert(at, *random.choice(b"\r\n ;0fF").unwrap()),
                _ => drop(input.remove(at)),
            }
        }
        let outcome = |result: Result<(Vec<u8>, usize, ChunkedDecoder), ParseError>| {
            result
                .map(|(data, consumed, decoder)| (data, consumed, decoder.is_done()))
                .map_err(ParseError::status)
        };
        let whole = outcome(decode_in(&input, || usize::MAX / 2));
        let most = random.usize(1..20);
        assert_eq!(outcome(decode_in(&input, || 1)), whole, "seed {seed}: {}", input.escape_ascii());
        assert_eq!(
            outcome(decode_in(&input, || random.usize(..most))),
            whole,
            "seed {seed}: {}",
            input.escape_ascii()
        );
    }
}

#[test]
fn chunk_heads_are_lower_case_hex() {
    for len in [1, 9, 10, 15, 16, 255, 256, 65_535, 65_536, 1 << 40] {
        let mut out = Vec::new();
        encode_chunk_head(len, &mut out);
        assert_eq!(out, format!("{len:x}\r\n").into_bytes());
    }
}

#[test]
fn padded_chunks_are_accepted_however_their_data_is_split() {
    let body = format!("0000000400\r\n{}\r\n", "d".repeat(1024)).repeat(2000) + "0\r\n\r\n";
    // A piece length that is relatively prime to that of a chunk, so that chunks end at all positions of a piece.
    for pieces in [usize::MAX / 2, 997, 3] {
        let (data, consumed, decoder) = decode_in(body.as_bytes(), || pieces).unwrap();
        assert_eq!((data.len(), consumed, decoder.is_done()), (2000 * 1024, body.len(), true));
    }
    // The limit for tiny chunks does not depend on pieces either.
    let tiny = "0000000002\r\ndd\r\n".repeat(300);
    for pieces in [usize::MAX / 2, 1] {
        let error = decode_in(tiny.as_bytes(), || pieces).unwrap_err();
        assert_eq!(error, ParseError::InvalidChunkExtension);
    }
}
