//! QPACK dynamic table: requests that wait for entries, and clients that violate the protocol.

use std::time::Duration;

use myriad_tests::wait_for;

use super::{GET, connect, connect_bare, has, headers, round_trip, start};

#[test]
fn requests_refer_to_fields_that_were_put_into_the_table_before_or_will_be() {
    let server = start("", "", "location /echo { return 200 '<$http_x_own>'; }");
    let (mut client, encoder) = connect_bare(&server);
    // RFC 9204 section 5: a table of 4096 bytes, and 128 streams that may be blocked.
    let settings = client.told(0, 13).expect("settings");
    assert_eq!((settings[..5].to_vec(), &settings[10..]), (vec![4, 11, 1, 0x50, 0], &[7, 0x40, 128][..]));
    // Sent before the entries that it needs.
    let early = client.open(false, &headers(&[b"\x03\x81", GET, b"\x10\x11"])).expect("a request");
    client.end(early);
    client.send(encoder, b"\x3f\xe1\x1f\xc1\x05/echo\x45x-").expect("half an entry");
    client.send(encoder, b"own\x05first").expect("the other half");
    assert!(has(&client.answer(early).expect("an answer"), "<first>"));
    // The server acknowledges the insertions once or twice, and then the section.
    let mut entries = 0;
    while entries < 2 {
        entries += client.told(3, 1).expect("an instruction on the decoder stream")[0];
    }
    assert_eq!((entries, client.told(3, 1).expect("an instruction on the decoder stream")), (2, vec![0x80]));
    // Sent after the entries.
    let late = client.open(false, &headers(&[b"\x03\x00", GET, b"\x81\x40\x06second"])).expect("a request");
    client.end(late);
    assert!(has(&client.answer(late).expect("an answer"), "<second>"));
    // Trailers may be blocked as well.
    let post = [&headers(&[b"\x00\x00\xd4\xd7\x50\x09localhost\x51\x05/echo"])[..], b"\x00\x01x"].concat();
    let post = client.open(false, &[&post[..], &headers(&[b"\x04\x00\x80"])].concat()).expect("a request");
    client.end(post);
    client.send(encoder, b"\x00").expect("a duplicate");
    assert!(has(&client.answer(post).expect("an answer"), "<>"));
    assert!(client.is_open());
}

#[test]
fn clients_that_violate_table_rules_get_matching_error_code() {
    let server = start("", "", "");
    let ends = |instructions: &[u8], requests: &[&[u8]], code: u64| {
        let (mut client, encoder) = connect_bare(&server);
        for section in requests {
            client.open(false, &headers(&[section])).expect("a stream");
        }
        let _ = client.send(encoder, instructions);
        let why = format!("{:?}", client.ended());
        assert!(why.contains(&format!("error_code: {code}")), "{instructions:x?}: {why}");
    };
    ends(b"\x3f\xe2\x1f", &[], 0x201);
    ends(b"\x3f\xe1\x1f\x80\x00", &[], 0x201);
    ends(b"", &[b"\x03\x00\x80", b"\xff\x80\x02\x00\x80"], 0x200);
    // A section that would need more entries than fit into the table.
    ends(b"\x3f\x0f\xc1\x01a\xc1\x01b", &[b"\x03\x00\xd1\x81"], 0x200);
    // The encoder stream must remain open while the connection lasts.
    let (mut client, encoder) = connect_bare(&server);
    client.end(encoder);
    assert!(format!("{:?}", client.ended()).contains(&format!("error_code: {}", 0x104)));
    server.log_has("invalid QPACK encoder instruction while processing HTTP/3 connection");
    server.log_has("a critical stream was closed while processing HTTP/3 connection");
    assert_eq!(connect(&server).get("/a.txt").status, 200);
}

#[test]
fn request_that_waits_for_fields_may_be_given_up_or_takes_too_long() {
    let server = start("", "client_header_timeout 5s;", "");
    let (mut client, encoder) = connect_bare(&server);
    let given_up = client.open(false, &headers(&[b"\x02\x00", GET, b"\x80"])).expect("a request");
    round_trip(&mut client);
    client.reset(given_up, 0x10c);
    assert_eq!(client.told(3, 1).expect("an instruction on the decoder stream"), [0x40]);
    let waiting = client.open(false, &headers(&[b"\x02\x00", GET, b"\x80"])).expect("a request");
    client.end(waiting);
    let error = client.answer(waiting).expect_err("the entry did not arrive in time");
    assert!(error.contains("Reset") && error.contains("269"), "{error}");
    assert_eq!(client.told(3, 1).expect("an instruction on the decoder stream"), [0x48]);
    client.send(encoder, b"\x3f\xe1\x1f\xc1\x06/a.txt").expect("the entry");
    let asked = client.open(false, &headers(&[b"\x02\x00", GET, b"\x80"])).expect("a request");
    client.end(asked);
    assert!(has(&client.answer(asked).expect("an answer"), "a file"));
}

#[test]
fn requests_that_are_broken_off_while_they_wait_for_fields_are_over_at_once() {
    let waiting = headers(&[b"\x02\x00", GET, b"\x80"]);
    let server = start("", "http3_max_concurrent_streams 20;", "");
    let (mut client, encoder) = connect_bare(&server);
    for number in 0..3 {
        let stream = client.open(false, &waiting).expect("a request");
        round_trip(&mut client);
        client.reset(stream, 0x10c);
        assert_eq!(client.told(3, 1).expect("an instruction on the decoder stream"), [0x40 + number * 8]);
    }
    // The required entries follow immediately, but the request has been canceled.
    let late = client.open(false, &waiting).expect("a request");
    round_trip(&mut client);
    client.reset(late, 0x10c);
    client.send(encoder, b"\x3f\xe1\x1f\xc1\x06/a.txt").expect("the entry");
    let asked = client.open(false, &headers(&[b"\x02\x00", GET, b"\x80"])).expect("a request");
    client.end(asked);
    assert!(has(&client.answer(asked).expect("an answer"), "a file"));
    // Four of these are round trips.
    wait_for("the requests in the log", || server.read("own.log").lines().count() >= 5);
    assert_eq!(server.read("own.log").lines().count(), 5, "{}", server.read("own.log"));
}

#[test]
fn requests_that_wait_for_fields_and_are_broken_off_again_and_again_end_the_connection() {
    let server = start("", "http3_max_concurrent_streams 20; keepalive_requests 100000;", "");
    let (mut client, _) = connect_bare(&server);
    'waves: for _ in 0..60 {
        let mut wave = Vec::new();
        for _ in 0..10 {
            let Ok(stream) = client.open(false, &headers(&[b"\x02\x00", GET, b"\x80"])) else { break 'waves };
            wave.push(stream);
        }
        client.wait(Duration::from_millis(20));
        for stream in wave {
            client.reset(stream, 0x10c);
        }
    }
    let why = format!("{:?}", client.ended());
    assert!(why.contains(&format!("error_code: {}", 0x107)), "{why}");
    server.log_has("flood of resets while processing HTTP/3 connection, client: 127.0.0.1");
}

#[test]
fn control_bytes_in_fields_are_refused_and_other_bytes_are_passed_on() {
    let server = start("", "", "location /field { return 200 $http_x_a; }");
    let ask = |value: &[u8]| {
        let (mut client, _) = connect_bare(&server);
        let field = [b"\x51\x06/field\x23x-a", &[value.len() as u8][..], value].concat();
        let stream = client.open(false, &headers(&[b"\x00\x00", GET, &field])).expect("a request");
        client.end(stream);
        client.answer(stream).expect("an answer")
    };
    for value in [&b"a\x01b"[..], b"\x7f", b"a\x1b[2J", b"\x0b"] {
        assert!(has(&ask(value), "400 Bad Request"), "{value:?}");
    }
    assert!(has(&ask("a\té".as_bytes()), "a\té"));
}
