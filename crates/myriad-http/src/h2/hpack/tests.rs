use super::*;

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
    let digit = |byte: u8| char::from(byte).to_digit(16).map_or(0, |digit| digit as u8);
    digits.chunks(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect()
}

fn decode(decoder: &mut HpackDecoder, block: &[u8]) -> Result<Vec<String>, HpackError> {
    let mut fields = Vec::new();
    decoder.decode(block, 8192, 32_768, |name, value| {
        fields.push(format!("{}: {}", String::from_utf8_lossy(name), String::from_utf8_lossy(value)));
    })?;
    Ok(fields)
}

/// Decodes consecutive blocks with one decoder, and checks the fields and the table size after each.
fn check(most: usize, blocks: &[(&str, &[&str], usize)]) {
    let mut decoder = HpackDecoder::new(most);
    for (block, fields, size) in blocks {
        let expected: Vec<String> = fields.iter().map(|field| (*field).to_owned()).collect();
        assert_eq!(decode(&mut decoder, &bytes(block)), Ok(expected));
        assert_eq!(decoder.table_size(), *size);
    }
}

const FIRST: &[&str] = &[":method: GET", ":scheme: http", ":path: /", ":authority: www.example.com"];
const SECOND: &[&str] =
    &[":method: GET", ":scheme: http", ":path: /", ":authority: www.example.com", "cache-control: no-cache"];
const THIRD: &[&str] = &[
    ":method: GET",
    ":scheme: https",
    ":path: /index.html",
    ":authority: www.example.com",
    "custom-key: custom-value",
];

#[test]
fn single_fields_of_the_rfc_are_read() {
    // RFC 7541 §C.2.
    let custom = "400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572";
    check(4096, &[(custom, &["custom-key: custom-header"], 55)]);
    check(4096, &[("040c 2f73 616d 706c 652f 7061 7468", &[":path: /sample/path"], 0)]);
    check(4096, &[("1008 7061 7373 776f 7264 0673 6563 7265 74", &["password: secret"], 0)]);
    check(4096, &[("82", &[":method: GET"], 0)]);
}

#[test]
fn requests_of_the_rfc_are_read_without_huffman() {
    // RFC 7541 §C.3.
    check(
        4096,
        &[
            ("8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d", FIRST, 57),
            ("8286 84be 5808 6e6f 2d63 6163 6865", SECOND, 110),
            ("8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65", THIRD, 164),
        ],
    );
}

#[test]
fn requests_of_the_rfc_are_read_with_huffman() {
    // RFC 7541 §C.4.
    check(
        4096,
        &[
            ("8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff", FIRST, 57),
            ("8286 84be 5886 a8eb 1064 9cbf", SECOND, 110),
            ("8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf", THIRD, 164),
        ],
    );
}

#[test]
fn responses_of_the_rfc_are_read_while_entries_are_evicted() {
    // RFC 7541 §C.6.
    let date = "date: Mon, 21 Oct 2013 20:13:21 GMT";
    let later = "date: Mon, 21 Oct 2013 20:13:22 GMT";
    let location = "location: https://www.example.com";
    let cookie = "set-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1";
    check(
        256,
        &[
            (
                "4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e 919d 29ad \
                 1718 63c7 8f0b 97c8 e9ae 82ae 43d3",
                &[":status: 302", "cache-control: private", date, location],
                222,
            ),
            ("4883 640e ffc1 c0bf", &[":status: 307", "cache-control: private", date, location], 222),
            (
                "88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7 821d d7f2 \
                 e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed 4ee5 b106 3d50 07",
                &[
                    ":status: 200",
                    "cache-control: private",
                    later,
                    location,
                    "content-encoding: gzip",
                    cookie,
                ],
                215,
            ),
        ],
    );
}

#[test]
fn broken_header_blocks_are_distinguished_from_valid_ones() {
    let of = |block: &str| decode(&mut HpackDecoder::new(4096), &bytes(block));
    for broken in
        ["80", "be", "ff 80", "40", "00 01", "00 01 61", "00 01 61 85 ff", "7e 00", "82 20", "20 20 20 82"]
    {
        assert_eq!(of(broken), Err(HpackError::Broken), "{broken}");
    }
    assert_eq!(of("3f e2 1f"), Err(HpackError::Broken), "a table of 4097 bytes");
    assert_eq!(of("3f e1 1f 82"), Ok(vec![":method: GET".to_owned()]));
}

#[test]
fn a_small_block_that_stands_for_much_ends() {
    let mut decoder = HpackDecoder::new(4096);
    let mut bomb = Vec::new();
    integer::write(&mut bomb, 0x40, 6, 0);
    integer::write(&mut bomb, 0, 7, 1);
    bomb.push(b'x');
    integer::write(&mut bomb, 0, 7, 4000);
    bomb.resize(bomb.len() + 4000, b'y');
    assert_eq!(decode(&mut decoder, &bomb).map(|fields| fields.len()), Ok(1));
    assert_eq!(decode(&mut decoder, &[0xbe; 8]).map(|fields| fields.len()), Ok(8));
    assert_eq!(decode(&mut decoder, &[0xbe; 9]), Err(HpackError::TooLarge));
    let mut one = |each| decoder.decode(&[0xbe], each, 32_768, |_, _| {});
    assert_eq!((one(4000), one(3999)), (Ok(()), Err(HpackError::TooLarge)));
}

#[test]
fn what_is_encoded_is_decoded_and_repetitions_are_short() {
    let mut encoder = HpackEncoder::default();
    let mut decoder = HpackDecoder::new(4096);
    let expected = [":status: 200", "content-type: text/html", "x-own: 1", "date: now", "set-cookie: a=b"];
    let mut sizes = Vec::new();
    for round in 0..3 {
        if round == 2 {
            encoder.set_peer_table_size(0);
            encoder.set_peer_table_size(4096);
        }
        let mut block = Vec::new();
        encoder.begin(&mut block);
        encoder.status(200, &mut block);
        for (name, value) in
            [("Content-Type", "text/html"), ("X-Own", "1"), ("Date", "now"), ("Set-Cookie", "a=b")]
        {
            encoder.field(name.as_bytes(), value.as_bytes(), &mut block);
        }
        assert_eq!(decode(&mut decoder, &block).as_deref(), Ok(&expected.map(str::to_owned)[..]));
        sizes.push(block.len());
    }
    assert!(sizes[1] + 10 < sizes[0] && sizes[1] + 10 < sizes[2], "{sizes:?}");
    for status in [100, 103, 204, 206, 299, 301, 304, 404, 500, 599] {
        let mut block = Vec::new();
        encoder.begin(&mut block);
        encoder.status(status, &mut block);
        assert_eq!(decode(&mut decoder, &block), Ok(vec![format!(":status: {status}")]));
    }
}

#[test]
fn any_bytes_are_read_without_harm() {
    let mut random = fastrand::Rng::with_seed(7);
    for _ in 0..2000 {
        let mut decoder = HpackDecoder::new(4096);
        for _ in 0..4 {
            let length = random.usize(..40);
            let block: Vec<u8> = std::iter::repeat_with(|| random.u8(..)).take(length).collect();
            let mut taken = 0;
            let _ = decoder.decode(&block, 100, 300, |name, value| taken += name.len() + value.len());
            assert!(taken <= 300 && decoder.table_size() <= 4096);
        }
    }
}
