use super::*;

/// Encodes a record like a responder, with `padding` bytes of garbage that must be skipped.
fn record(kind: u8, id: u16, content: &[u8], padding: u8) -> Vec<u8> {
    let header = Header {
        version: 1,
        kind,
        request_id: id,
        content_length: u16::try_from(content.len()).unwrap(),
        padding_length: padding,
    };
    let mut bytes = header.encode().to_vec();
    bytes.extend_from_slice(content);
    bytes.resize(bytes.len() + usize::from(padding), 0xee);
    bytes
}

fn end_record(app_status: u32, protocol_status: u8, padding: u8) -> Vec<u8> {
    let mut body = app_status.to_be_bytes().to_vec();
    body.extend_from_slice(&[protocol_status, 0, 0, 0]);
    record(3, 1, &body, padding)
}

#[derive(Debug, Default, PartialEq)]
struct DecodedOutput {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    stdout_closed: bool,
    end: Option<EndRequest>,
}

fn drain(
    decoder: &mut ResponderDecoder,
    input: &mut BytesMut,
    answer: &mut DecodedOutput,
) -> Result<(), FastCgiError> {
    while let Some(event) = decoder.decode(input)? {
        match event {
            Event::Stdout(data) => {
                assert!(!data.is_empty());
                answer.stdout.extend_from_slice(&data);
            }
            Event::Stderr(data) => {
                assert!(!data.is_empty());
                answer.stderr.extend_from_slice(&data);
            }
            Event::StdoutEnd => answer.stdout_closed = true,
            Event::End(end) => assert_eq!(answer.end.replace(end), None, "one end"),
        }
    }
    Ok(())
}

fn decode_pieces<'a>(
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> Result<(DecodedOutput, bool), FastCgiError> {
    let (mut decoder, mut input, mut answer) =
        (ResponderDecoder::new(), BytesMut::new(), DecodedOutput::default());
    for piece in pieces {
        input.extend_from_slice(piece);
        drain(&mut decoder, &mut input, &mut answer)?;
        assert!(input.len() < HEADER_LEN, "the decoder asks for no more than a header to be kept");
    }
    Ok((answer, decoder.is_clean_end()))
}

fn sample() -> (Vec<u8>, DecodedOutput) {
    let mut bytes = Vec::new();
    bytes.extend(record(7, 1, b"PHP Warning: a", 2));
    bytes.extend(record(6, 1, b"Status: 404\r\n\r\n", 1));
    bytes.extend(record(10, 0, b"\x0e\x01FCGI_MPXS_CONNS0", 0));
    bytes.extend(record(6, 1, b"Hello", 3));
    bytes.extend(record(6, 1, b" world", 255));
    bytes.extend(record(7, 1, b"", 0));
    bytes.extend(record(6, 1, b"", 0));
    bytes.extend(end_record(7, 0, 0));
    let answer = DecodedOutput {
        stdout: b"Status: 404\r\n\r\nHello world".to_vec(),
        stderr: b"PHP Warning: a".to_vec(),
        stdout_closed: true,
        end: Some(EndRequest { app_status: 7, protocol_status: ProtocolStatus::RequestComplete }),
    };
    (bytes, answer)
}

#[test]
fn answer_is_the_same_at_every_split() {
    let (bytes, expected) = sample();
    assert_eq!(decode_pieces([&bytes[..]]).unwrap().0, expected);
    for cut in 0..=bytes.len() {
        let (answer, clean) = decode_pieces([&bytes[..cut], &bytes[cut..]]).unwrap();
        assert_eq!(answer, expected, "cut at {cut}");
        assert!(clean);
    }
    assert_eq!(decode_pieces(bytes.chunks(1)).unwrap().0, expected);
}

#[test]
fn truncated_stream_is_never_complete() {
    let (bytes, _) = sample();
    for cut in 0..bytes.len() {
        let (answer, clean) = decode_pieces([&bytes[..cut]]).unwrap();
        assert_eq!(answer.end, None, "cut at {cut}");
        assert!(!clean);
    }
}

#[test]
fn padding_after_the_end_is_awaited_before_reuse() {
    let bytes = end_record(0, 0, 8);
    let (answer, clean) = decode_pieces([&bytes[..20]]).unwrap();
    assert!(answer.end.is_some());
    assert!(!clean);
    assert!(decode_pieces([&bytes[..]]).unwrap().1);
}

#[test]
fn content_is_not_copied() {
    let mut input = BytesMut::from(&record(6, 1, &[b'x'; 1000], 0)[..]);
    let place = input[HEADER_LEN..].as_ptr();
    let Some(Event::Stdout(data)) = ResponderDecoder::new().decode(&mut input).unwrap() else {
        panic!("stdout")
    };
    assert_eq!(data.as_ptr(), place);
}

#[test]
fn protocol_statuses_are_distinguished() {
    for (number, status) in [
        (0, ProtocolStatus::RequestComplete),
        (1, ProtocolStatus::CannotMultiplex),
        (2, ProtocolStatus::Overloaded),
        (3, ProtocolStatus::UnknownRole),
        (9, ProtocolStatus::Other(9)),
    ] {
        let (answer, _) = decode_pieces([&end_record(u32::MAX, number, 0)[..]]).unwrap();
        assert_eq!(answer.end, Some(EndRequest { app_status: u32::MAX, protocol_status: status }));
    }
}

#[test]
fn what_no_responder_sends_is_refused_by_name() {
    let mut wrong_version = record(6, 1, b"x", 0);
    wrong_version[0] = 72;
    for (bytes, error) in [
        (wrong_version, FastCgiError::Version(72)),
        (record(12, 1, b"x", 0), FastCgiError::RecordType(12)),
        (record(1, 1, b"12345678", 0), FastCgiError::RecordType(1)),
        (record(11, 1, b"12345678", 0), FastCgiError::RecordType(11)),
        (record(6, 2, b"x", 0), FastCgiError::RequestId(2)),
        (record(6, 0, b"x", 0), FastCgiError::RequestId(0)),
        (record(3, 257, b"12345678", 0), FastCgiError::RequestId(257)),
        (record(3, 1, b"1234567", 0), FastCgiError::EndLength(7)),
        ([end_record(0, 0, 0), record(6, 1, b"late", 0)].concat(), FastCgiError::AfterEnd),
    ] {
        assert_eq!(decode_pieces([&bytes[..]]).unwrap_err(), error);
        assert_eq!(decode_pieces(bytes.chunks(1)).unwrap_err(), error);
    }
}

#[test]
fn endless_empty_records_are_refused() {
    let bytes = record(7, 1, b"", 0).repeat(MAX_IDLE_RECORDS as usize + 1);
    assert_eq!(decode_pieces([&bytes[..]]).unwrap_err(), FastCgiError::EmptyRecords);
    assert!(decode_pieces([&bytes[HEADER_LEN..]]).is_ok());
}

#[test]
fn messages_without_output_have_an_end() {
    let message = record(7, 1, &vec![b'x'; 1 << 15], 0);
    let most = message.repeat(MAX_STDERR as usize >> 15);
    assert!(decode_pieces([&most[..]]).is_ok());
    assert_eq!(decode_pieces([&most[..], &message[..]]).unwrap_err(), FastCgiError::Stderr);
    assert!(decode_pieces([&most[..], &record(6, 1, b"a", 0), &message[..]]).is_ok());
}

#[test]
fn random_answers_survive_random_cuts() {
    for seed in 0..300 {
        let mut random = fastrand::Rng::with_seed(seed);
        let (mut bytes, mut expected) = (Vec::new(), DecodedOutput::default());
        for _ in 0..random.usize(0..12) {
            let content: Vec<u8> = (0..random.usize(1..3000)).map(|_| random.u8(..)).collect();
            let to_stderr = random.bool();
            bytes.extend(record(if to_stderr { 7 } else { 6 }, 1, &content, random.u8(..)));
            if to_stderr { &mut expected.stderr } else { &mut expected.stdout }.extend_from_slice(&content);
        }
        bytes.extend(end_record(3, 0, random.u8(0..8)));
        expected.end = Some(EndRequest { app_status: 3, protocol_status: ProtocolStatus::RequestComplete });
        let mut pieces = Vec::new();
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(random.usize(1..=rest.len()));
            pieces.push(piece);
            rest = after;
        }
        assert_eq!(decode_pieces(pieces).unwrap(), (expected, true), "seed {seed}");
    }
}

#[test]
fn mutated_answers_never_panic() {
    let (sample, _) = sample();
    for seed in 0..20_000 {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut bytes = sample.clone();
        for _ in 0..random.usize(1..6) {
            let at = random.usize(0..bytes.len());
            bytes[at] = random.u8(..);
        }
        let whole = decode_pieces([&bytes[..]]).map(|(answer, _)| answer);
        let bytewise = decode_pieces(bytes.chunks(1)).map(|(answer, _)| answer);
        assert_eq!(whole, bytewise, "seed {seed}");
    }
}
