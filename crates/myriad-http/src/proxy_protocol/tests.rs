use super::*;

fn complete(bytes: &[u8]) -> (usize, Option<Box<ProxyHeader>>) {
    match parse(bytes) {
        Ok(HeaderParseStatus::Complete(length, header)) => (length, header),
        other => panic!("{other:?}"),
    }
}

fn addresses(bytes: &[u8]) -> (String, String) {
    let (_, header) = complete(bytes);
    let header = header.expect("a client");
    (header.source.to_string(), header.destination.to_string())
}

/// Encodes a version 2 header of a TCP client over IPv4.
fn version_2(tlvs: &[u8]) -> Vec<u8> {
    let mut out = v2::SIGNATURE.to_vec();
    out.extend([0x21, 0x11]);
    out.extend((12 + tlvs.len() as u16).to_be_bytes());
    out.extend([192, 0, 2, 1, 192, 0, 2, 2, 0, 123, 0x16, 0x2e]);
    out.extend(tlvs);
    out
}

fn tlv(kind: u8, value: &[u8]) -> Vec<u8> {
    let mut out = vec![kind];
    out.extend((value.len() as u16).to_be_bytes());
    out.extend(value);
    out
}

#[test]
fn version_1_is_a_line() {
    let parsed = |line: &str| addresses(line.as_bytes());
    assert_eq!(
        parsed("PROXY TCP4 192.0.2.1 192.0.2.2 123 5678\r\nGET"),
        ("192.0.2.1:123".into(), "192.0.2.2:5678".into())
    );
    assert_eq!(
        parsed("PROXY TCP6 2001:Db8::1 2001:Db8::2 123 5678\r\n"),
        ("[2001:db8::1]:123".into(), "[2001:db8::2]:5678".into())
    );
    assert_eq!(complete(b"PROXY TCP4 1.2.3.4 1.2.3.4 0 65535\r\nGET /").0, 36);
    assert_eq!(complete(b"PROXY UNKNOWN\r\nG"), (15, None));
    assert_eq!(complete(b"PROXY UNKNOWN 1 2 3 4 5 6\r\n"), (27, None));
}

#[test]
fn version_2_is_binary() {
    let bytes = version_2(b"");
    assert_eq!(addresses(&bytes), ("192.0.2.1:123".into(), "192.0.2.2:5678".into()));
    let mut six = v2::SIGNATURE.to_vec();
    six.extend([0x21, 0x21, 0, 36]);
    six.extend([0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    six.extend([0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2]);
    six.extend([0, 1, 0, 2, b'G']);
    assert_eq!(addresses(&six), ("[2001:db8::1]:1".into(), "[2001:db8::2]:2".into()));
    assert_eq!(complete(&six).0, 52);
}

#[test]
fn what_is_no_client_is_passed_over() {
    for (command, family) in [(0x20, 0x00), (0x20, 0x11), (0x21, 0x00), (0x21, 0x12), (0x21, 0x31)] {
        let mut bytes = v2::SIGNATURE.to_vec();
        bytes.extend([command, family, 0, 3, 1, 2, 3]);
        assert_eq!(complete(&bytes), (19, None), "{command:x} {family:x}");
    }
}

#[test]
fn broken_headers_are_refused() {
    let broken: &[&[u8]] = &[
        b"GET / HTTP/1.1\r\n",
        b"\r\n\r\nGET",
        b"PROXY TCP4\r\n",
        b"PROXY TCP4 192.0.2.1 192.0.2.2 123 5678\n",
        b"PROXY TCP4 192.0.2.1 192.0.2.2 123 99999\r\n",
        b"PROXY TCP4 192.0.2.1 192.0.2.2 +1 2\r\n",
        b"PROXY TCP4 192.0.2.1 192.0.2.2 1 2 3\r\n",
        b"PROXY TCP4  192.0.2.1 192.0.2.2 1 2\r\n",
        b"PROXY TCP4 localhost 192.0.2.2 1 2\r\n",
        b"PROXY TCP5 192.0.2.1 192.0.2.2 1 2\r\n",
        b"PROXY UNKNOWNS\r\n",
        b"PROXY \xff\xfe\r\n",
        b"proxy UNKNOWN\r\n",
    ];
    for bytes in broken {
        assert_eq!(parse(bytes), Err(InvalidProxyHeader), "{}", bytes.escape_ascii());
    }
    let mut endless = b"PROXY UNKNOWN ".to_vec();
    endless.resize(107, b'x');
    assert_eq!(parse(&endless), Err(InvalidProxyHeader));
    let mut other = version_2(b"");
    other[12] = 0x11;
    assert_eq!(parse(&other), Err(InvalidProxyHeader));
    let mut short = version_2(b"");
    short[15] = 11;
    assert_eq!(parse(&short), Err(InvalidProxyHeader));
    assert_eq!(parse(&version_2(&[0; 4096])), Err(InvalidProxyHeader));
}

#[test]
fn header_in_pieces_is_the_header() {
    let mut headers = vec![version_2(&tlv(1, b"h2")), b"PROXY UNKNOWN\r\n".to_vec()];
    headers.push(b"PROXY TCP4 192.0.2.1 192.0.2.2 123 5678\r\n".to_vec());
    for header in headers {
        for length in 0..header.len() {
            assert_eq!(parse(&header[..length]), Ok(HeaderParseStatus::Partial), "{length}");
        }
        assert_eq!(complete(&header).0, header.len());
    }
}

#[test]
fn facts_are_found_by_name() {
    let mut ssl = vec![1, 0, 0, 0, 255];
    ssl.extend(tlv(0x21, b"TLSv1.2"));
    ssl.extend(tlv(0x22, b"example.com"));
    let mut tlvs = tlv(1, b"ALPN1");
    tlvs.extend(tlv(0x20, &ssl));
    tlvs.extend(tlv(0xae, b"12345"));
    let (_, header) = complete(&version_2(&tlvs));
    let header = header.unwrap();
    let tlv_text = |name: &str| {
        let mut out = Vec::new();
        let found = header.tlv(Tlv::named(name).expect(name), &mut out);
        found.then(|| String::from_utf8(out).unwrap())
    };
    assert_eq!(tlv_text("alpn").as_deref(), Some("ALPN1"));
    assert_eq!(tlv_text("0x01").as_deref(), Some("ALPN1"));
    assert_eq!(tlv_text("ssl_verify").as_deref(), Some("255"));
    assert_eq!(tlv_text("ssl_version").as_deref(), Some("TLSv1.2"));
    assert_eq!(tlv_text("ssl_0x22").as_deref(), Some("example.com"));
    assert_eq!(tlv_text("0x000ae").as_deref(), Some("12345"));
    assert_eq!(tlv_text("authority"), None);
    assert_eq!(tlv_text("ssl_cipher"), None);
    for unknown in ["", "0x", "0xg", "0x100", "ssl_", "nothing", "ssl_nothing"] {
        assert_eq!(Tlv::named(unknown), None, "{unknown}");
    }
}

#[test]
fn no_bytes_make_trouble() {
    let seeds = [
        version_2(&tlv(0x20, &[1, 0, 0, 0, 0, 0x21, 0, 3, b'a', b'b', b'c'])),
        b"PROXY TCP4 192.0.2.1 192.0.2.2 123 5678\r\nGET / HTTP/1.1\r\n".to_vec(),
    ];
    for seed in 0..4_000u64 {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut bytes = seeds[random.usize(0..seeds.len())].clone();
        for _ in 0..random.usize(1..6) {
            let at = random.usize(0..bytes.len());
            match random.u8(0..3) {
                0 => bytes[at] = random.u8(..),
                1 => bytes.truncate(at.max(1)),
                _ => bytes.insert(at, random.u8(..)),
            }
        }
        if let Ok(HeaderParseStatus::Complete(length, header)) = parse(&bytes) {
            assert!(length <= bytes.len() && length <= LONGEST);
            // Bytes after the header do not change the result.
            bytes.extend_from_slice(b"more");
            assert_eq!(parse(&bytes), Ok(HeaderParseStatus::Complete(length, header.clone())));
            if let Some(header) = header {
                for kind in 0..=255 {
                    header.tlv(Tlv::Type(kind), &mut Vec::new());
                    header.tlv(Tlv::Ssl(kind), &mut Vec::new());
                }
            }
        }
    }
}

#[test]
fn line_of_version_1_that_is_written_is_read() {
    for (source, destination) in
        [("192.0.2.1:123", "192.0.2.2:5678"), ("[2001:db8::1]:123", "[2001:db8::2]:5678")]
    {
        let line = version_1_line(Some((source.parse().unwrap(), destination.parse().unwrap())));
        assert_eq!(addresses(&line), (source.to_owned(), destination.to_owned()));
    }
    let mixed = version_1_line(Some(("192.0.2.1:1".parse().unwrap(), "[2001:db8::2]:2".parse().unwrap())));
    assert_eq!(mixed, b"PROXY TCP6 ::ffff:192.0.2.1 2001:db8::2 1 2\r\n");
    assert_eq!(version_1_line(None), b"PROXY UNKNOWN\r\n");
}
