//! Tests of the liveness check of a silent origin.

use super::*;

#[test]
fn one_question_at_a_time_and_whatever_comes_answers_it() {
    let answers =
        [frame(kind::PING, flag::ACK, 0, &[0; 8]), frame(kind::SETTINGS, 0, 0, &[]), data(1, false, b"a")];
    for answer in answers {
        let mut client = greeted();
        ask(&mut client);
        feed(&mut client, &head(1, false, &[(":status", "200")])).expect("a head");
        take(&mut client);
        assert!(client.send_ping() && client.send_ping() && client.is_ping_outstanding());
        assert_eq!(kinds(&take(&mut client)), [(kind::PING, 0)]);
        feed(&mut client, &answer).expect("an answer");
        assert!(!client.is_ping_outstanding());
    }
}

#[test]
fn a_piece_of_a_frame_is_no_answer() {
    let mut client = greeted();
    client.send_ping();
    let acknowledged = frame(kind::PING, flag::ACK, 0, &[0; 8]);
    assert!(matches!(
        client.receive(&acknowledged[..12]),
        Ok(OriginInput { event: OriginEvent::Partial, .. })
    ));
    assert!(client.is_ping_outstanding());
}

#[test]
fn questions_are_few_until_the_origin_answers_a_request() {
    let mut client = greeted();
    let acknowledged = frame(kind::PING, flag::ACK, 0, &[0; 8]);
    for _ in 0..2 {
        ask(&mut client);
        for expected in [true, true, false] {
            assert_eq!(client.send_ping(), expected);
            feed(&mut client, &acknowledged).expect("an answer");
        }
        let last = client.streams.all()[0].id;
        feed(&mut client, &head(last, true, &[(":status", "204")])).expect("a head");
    }
    assert_eq!(kinds(&take(&mut client)).iter().filter(|(kind, _)| *kind == kind::PING).count(), 4);
}
