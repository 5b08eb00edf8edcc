use super::*;

fn sized(length_bytes: usize, content: &[u8]) -> Vec<u8> {
    let length = (content.len() as u32).to_be_bytes();
    [&length[4 - length_bytes..], content].concat()
}

fn extension(kind: u16, content: &[u8]) -> Vec<u8> {
    [&kind.to_be_bytes()[..], &sized(2, content)].concat()
}

/// Encodes a client hello message with these extensions.
fn message(version: u16, extensions: &[u8]) -> Vec<u8> {
    let mut body = version.to_be_bytes().to_vec();
    body.extend([7; 32]);
    body.extend(sized(1, &[1; 32]));
    body.extend(sized(2, &[0x13, 1]));
    body.extend(sized(1, &[0]));
    body.extend(sized(2, extensions));
    [&[1], &sized(3, &body)[..]].concat()
}

fn record(content: &[u8]) -> Vec<u8> {
    [&[22, 3, 1][..], &sized(2, content)].concat()
}

fn full() -> Vec<u8> {
    let name = sized(2, &[&[0][..], &sized(2, b"www.example.test")].concat());
    let alpn = sized(2, &[sized(1, b"h2"), sized(1, b"http/1.1")].concat());
    let versions = sized(1, &[0x7a, 0x7a, 3, 4, 3, 3]);
    message(0x0303, &[extension(0, &name), extension(16, &alpn), extension(43, &versions)].concat())
}

fn full_hello() -> PrereadHello {
    PrereadHello {
        server_name: b"www.example.test".to_vec(),
        alpn: b"h2,http/1.1".to_vec(),
        protocol: "TLSv1.3",
    }
}

#[test]
fn name_protocols_and_highest_version_are_read() {
    assert_eq!(parse_hello(&record(&full())), HelloProgress::Done(Some(full_hello())));
}

#[test]
fn hello_in_pieces_is_waited_for_to_its_last_byte() {
    let bytes = record(&full());
    for length in 0..bytes.len() {
        assert_eq!(parse_hello(&bytes[..length]), HelloProgress::Partial, "{length}");
    }
    assert_eq!(parse_hello(&[&bytes[..], b"more"].concat()), HelloProgress::Done(Some(full_hello())));
}

#[test]
fn hello_in_several_records_is_one() {
    let whole = full();
    for at in 1..whole.len() {
        let bytes = [record(&whole[..at]), record(&whole[at..])].concat();
        assert_eq!(parse_hello(&bytes), HelloProgress::Done(Some(full_hello())), "{at}");
    }
}

#[test]
fn name_that_no_host_may_have_counts_as_none() {
    let named = |name: &[u8]| {
        let name = sized(2, &[&[0][..], &sized(2, name)].concat());
        let HelloProgress::Done(Some(hello)) = parse_hello(&record(&message(0x0303, &extension(0, &name))))
        else {
            panic!("the hello is whole")
        };
        hello.server_name
    };
    assert_eq!(named(b"a-b.c_d.Example"), b"a-b.c_d.Example");
    let long = [b'a'; 256];
    for name in
        [&b"unix:/run/db.sock"[..], b"db:3306", b"[::1]", b"127.0.0.1", b"a b", b"a\n", b"a\xff", &long]
    {
        assert_eq!(named(name), b"", "{}", name.escape_ascii());
    }
}

#[test]
fn versions_without_the_extension_are_those_of_the_message() {
    for (version, name) in [(0x0300, "SSLv3"), (0x0301, "TLSv1"), (0x0302, "TLSv1.1"), (0x0303, "TLSv1.2")] {
        let hello = PrereadHello { protocol: name, ..PrereadHello::default() };
        assert_eq!(parse_hello(&record(&message(version, b""))), HelloProgress::Done(Some(hello)));
    }
    let old = [0x80, 46, 1, 0, 2, 0, 0];
    assert_eq!(
        parse_hello(&old),
        HelloProgress::Done(Some(PrereadHello { protocol: "SSLv2", ..PrereadHello::default() }))
    );
}

#[test]
fn what_is_no_hello_is_passed_on_at_once() {
    let nothing = HelloProgress::Done(None);
    for bytes in
        [&b"GET / HTTP/1.1\r\n"[..], b"S", b"\x16\x02", b"\x16\x03\x01\x00\x01\x02", b"\x16\x03\x01\x00\x00"]
    {
        assert_eq!(parse_hello(bytes), nothing, "{}", bytes.escape_ascii());
    }
    // Lengths that exceed the message.
    let mut broken = record(&full());
    let at = broken.len() - 3;
    broken[at - 5] = 0xff;
    assert!(matches!(parse_hello(&broken), HelloProgress::Done(_)));
}

#[test]
fn any_bytes_are_survived() {
    let whole = record(&full());
    for seed in 0..20_000_u64 {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut bytes = whole.clone();
        for _ in 0..random.usize(1..8) {
            let at = random.usize(..bytes.len());
            bytes[at] = random.u8(..);
        }
        bytes.truncate(random.usize(..=bytes.len()));
        let _ = parse_hello(&bytes);
    }
}
