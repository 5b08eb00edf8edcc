//! Tests of the exchange, with virtual time.

use super::*;
use crate::record::LimitZoneId;

fn exchange(byte: u8) -> LimitExchange {
    let secret = ClusterSecret::new(&NodeName::new("shop").unwrap(), &[7; 32]).unwrap();
    LimitExchange::new(secret, NodeName::new(&format!("web{byte}")).unwrap(), StartId([byte; 16]))
}

fn usage(number: u32) -> Vec<ZoneUsage> {
    vec![ZoneUsage { zone: LimitZoneId([1; 16]), keys: vec![((*b"client").into(), number)] }]
}

/// Returns the number that a message adds; `None` if it is not used.
fn added(receiver: &mut LimitExchange, message: &[u8], now: ClockMs) -> Option<u32> {
    match receiver.receive(message, now).expect("an authentic message") {
        LimitReception::Usage(_, zones) => Some(zones.first().map_or(0, |zone| zone.keys[0].1)),
        _ => None,
    }
}

/// Sends a message with a number from one node to another.
fn send(from: &mut LimitExchange, to: &mut LimitExchange, number: u32, now: ClockMs) -> Option<u32> {
    let message = from.message(usage(number), now).expect("a message");
    added(to, &message, now)
}

/// Exchanges messages until the numbers of each node are used by the other.
fn introduce(a: &mut LimitExchange, b: &mut LimitExchange, now: ClockMs) {
    assert_eq!(send(a, b, 1, now), None, "nothing shows that the first message is fresh");
    assert_eq!(send(b, a, 1, now), Some(1), "it acknowledges the first message");
    assert_eq!(send(a, b, 1, now), Some(1));
}

#[test]
fn nodes_use_each_others_numbers_once() {
    let (mut a, mut b) = (exchange(1), exchange(2));
    introduce(&mut a, &mut b, 1000);
    let message = a.message(usage(5), 1080).expect("a message");
    assert_eq!(a.receive(&message, 1081), Ok(LimitReception::Own));
    assert_eq!(added(&mut b, &message, 1081), Some(5));
    assert_eq!(b.receive(&message, 1082), Ok(LimitReception::Repeated));
    assert_eq!((a.peer_count(), b.peer_count()), (1, 1));
}

#[test]
fn messages_of_another_database_are_refused() {
    let (mut a, mut b) = (exchange(1), exchange(2));
    b.set_database(1);
    let message = a.message(usage(1), 1000).expect("a message");
    assert_eq!(b.receive(&message, 1000), Err(RecordError::NotAuthentic));
    a.set_database(1);
    introduce(&mut a, &mut b, 2000);
}

#[test]
fn nothing_is_sent_without_numbers_before_a_heartbeat() {
    let mut a = exchange(1);
    assert!(a.message(Vec::new(), 1000).is_some());
    assert!(a.message(Vec::new(), 1000 + HEARTBEAT_MS - 1).is_none());
    assert!(a.message(Vec::new(), 1000 + HEARTBEAT_MS).is_some());
    let mut b = exchange(2);
    let hello = b.message(Vec::new(), 2100).expect("the first message");
    assert_eq!(a.receive(&hello, 2100), Ok(LimitReception::NotFresh));
    let reply = a.message(Vec::new(), 2180).expect("a reply without waiting for the heartbeat");
    assert_eq!(added(&mut b, &reply, 2180), Some(0));
}

#[test]
fn messages_without_acknowledgements_are_used_while_the_sender_is_known() {
    let (mut a, mut b) = (exchange(1), exchange(2));
    introduce(&mut a, &mut b, 1000);
    let delayed = a.message(usage(7), 1080).expect("a message");
    // The sender has not received a message of b since, so that its later messages are no evidence.
    for now in (1160..1000 + FRESH_MS).step_by(80) {
        assert_eq!(send(&mut a, &mut b, 1, now), Some(1), "at {now}");
    }
    let end = 1000 + 2 * FRESH_MS;
    assert_eq!(send(&mut a, &mut b, 1, end + 1), None);
    assert_eq!(added(&mut b, &delayed, end + 2), None);
}

#[test]
fn recorded_messages_are_not_used() {
    let (mut a, mut b) = (exchange(1), exchange(2));
    introduce(&mut a, &mut b, 1000);
    let mut recorded = Vec::new();
    let mut now = 1000;
    // The connection of b is blocked for a minute, while a continues.
    for _ in 0..60 {
        now += HEARTBEAT_MS;
        recorded.push(a.message(usage(100), now).expect("a message"));
        b.message(Vec::new(), now);
    }
    for message in &recorded {
        assert_eq!(b.receive(message, now), Ok(LimitReception::NotFresh), "its acknowledgement is old");
    }
    // After it, both continue, and the recorded messages are still not used.
    assert_eq!(send(&mut b, &mut a, 1, now), Some(1));
    assert_eq!(send(&mut a, &mut b, 1, now), Some(1));
    for message in &recorded {
        assert_ne!(added(&mut b, message, now + 1), Some(100));
    }
    // Another process does not use them, either.
    let mut restarted = exchange(3);
    restarted.message(Vec::new(), now);
    for message in &recorded {
        assert_eq!(restarted.receive(message, now), Ok(LimitReception::NotFresh));
    }
}

#[test]
fn messages_of_an_earlier_process_are_not_used_twice() {
    let (mut a, mut b) = (exchange(1), exchange(2));
    introduce(&mut a, &mut b, 1000);
    let old = a.message(usage(9), 1080).expect("a message");
    assert_eq!(added(&mut b, &old, 1080), Some(9));
    let mut restarted = exchange(3);
    introduce(&mut restarted, &mut b, 1500);
    for now in [1600, 1080 + FRESH_MS, 1080 + FRESH_MS + 1, 20_000] {
        b.message(Vec::new(), now);
        assert_eq!(added(&mut b, &old, now), None, "at {now}");
    }
}

#[test]
fn nodes_continue_after_a_partition() {
    let (mut a, mut b) = (exchange(1), exchange(2));
    introduce(&mut a, &mut b, 1000);
    // Messages are lost for ten seconds.
    for second in 2..12 {
        a.message(usage(1), second * 1000);
        b.message(usage(1), second * 1000);
    }
    assert_eq!(send(&mut a, &mut b, 2, 12_000), None, "nothing shows that it is not a recorded one");
    assert_eq!(send(&mut b, &mut a, 3, 12_080), Some(3));
    assert_eq!(send(&mut a, &mut b, 4, 12_160), Some(4));
}

#[test]
fn peer_that_was_forgotten_has_the_same_number_again() {
    let (mut a, mut b, mut c) = (exchange(1), exchange(2), exchange(3));
    introduce(&mut a, &mut b, 1000);
    introduce(&mut c, &mut b, 1000);
    let number = |from: &mut LimitExchange, b: &mut LimitExchange, now: ClockMs| {
        let message = from.message(usage(1), now).expect("a message");
        match b.receive(&message, now).expect("an authentic message") {
            LimitReception::Usage(peer, _) => Some(peer),
            _ => None,
        }
    };
    let first = number(&mut a, &mut b, 1080).expect("a peer");
    assert_ne!(number(&mut c, &mut b, 1080), Some(first));
    // The messages of b are lost for longer than they are evidence, while those of a arrive.
    let now = 1080 + 2 * FRESH_MS;
    assert_eq!(number(&mut a, &mut b, now), None);
    assert_eq!(send(&mut b, &mut a, 1, now), Some(1));
    assert_eq!(number(&mut a, &mut b, now + 80), Some(first));
}

#[test]
fn message_has_the_keys_with_the_largest_numbers() {
    let (mut a, mut b) = (exchange(1), exchange(2));
    introduce(&mut a, &mut b, 1000);
    let keys = |from: u32| (from..from + 10_000).map(|n| (n.to_be_bytes().into(), n + 1)).collect::<Vec<_>>();
    let mut zones = vec![
        ZoneUsage { zone: LimitZoneId([1; 16]), keys: keys(0) },
        ZoneUsage { zone: LimitZoneId([2; 16]), keys: keys(10_000) },
    ];
    zones[0].keys.push((vec![0; MAX_LIMIT_KEY + 1].into(), u32::MAX));
    let message = a.message(zones, 1080).expect("a message");
    assert!(message.len() <= MAX_LIMIT_BYTES && message.len() > MAX_LIMIT_BYTES - 200);
    let Ok(LimitReception::Usage(_, zones)) = b.receive(&message, 1080) else { panic!("not used") };
    assert_eq!(zones.len(), 2);
    let least = zones.iter().flat_map(|zone| &zone.keys).map(|(_, number)| *number).min().unwrap();
    let count: usize = zones.iter().map(|zone| zone.keys.len()).sum();
    assert_eq!(least as usize, 20_001 - count, "all larger numbers are in the message");
}

#[test]
fn closed_connections_are_sent_first_and_leave_room_for_others() {
    let (mut a, mut b) = (exchange(1), exchange(2));
    introduce(&mut a, &mut b, 1000);
    let mut numbers = |closed: u32, open: u32, now: ClockMs| -> (usize, usize) {
        let keys = (0..closed + open).map(|key| (key.to_be_bytes().into(), u32::from(key >= closed) * 5));
        let zones = vec![ZoneUsage { zone: LimitZoneId([1; 16]), keys: keys.collect() }];
        let message = a.message(zones, now).expect("a message");
        assert!(message.len() <= MAX_LIMIT_BYTES);
        let Ok(LimitReception::Usage(_, zones)) = b.receive(&message, now) else { panic!("not used") };
        let closed = zones[0].keys.iter().filter(|(_, number)| *number == 0).count();
        (closed, zones[0].keys.len() - closed)
    };
    let (closed, open) = numbers(1000, 20_000, 1080);
    assert!(closed == 1000 && open > 8000, "{closed} and {open}");
    let (closed, open) = numbers(20_000, 20_000, 1160);
    assert!(closed > 4000 && open > 4000, "{closed} and {open}");
    let (closed, open) = numbers(20_000, 1000, 1240);
    assert!(closed > 4000 && open == 1000, "{closed} and {open}");
    let (closed, open) = numbers(20_000, 0, 1320);
    assert!(closed > 8000 && open == 0, "{closed} and {open}");
}

#[test]
fn memory_for_process_lifetimes_is_bounded() {
    let mut a = exchange(1);
    a.message(Vec::new(), 1000);
    for number in 0..2000u64 {
        let secret = ClusterSecret::new(&NodeName::new("shop").unwrap(), &[7; 32]).unwrap();
        let mut start = [9; 16];
        start[..8].copy_from_slice(&number.to_be_bytes());
        let mut other = LimitExchange::new(secret, NodeName::new("web").unwrap(), StartId(start));
        let message = other.message(Vec::new(), 1000).expect("a message");
        assert_eq!(a.receive(&message, 1000), Ok(LimitReception::NotFresh));
    }
    assert_eq!(a.candidates.len(), MAX_CANDIDATES);
    assert_eq!(a.peer_count(), 0);
}
