//! Tests of the formats.

use super::*;

fn node(name: &str) -> NodeName {
    NodeName::new(name).unwrap()
}

fn secret() -> ClusterSecret {
    ClusterSecret::new(&node("shop"), b"0123456789abcdef0123456789abcdef").unwrap()
}

fn position(number: u64) -> LogPosition {
    LogPosition { id: EntryId { epoch: 1, number }, tag: RecordTag([number as u8; 32]) }
}

fn purge(sequence: u64) -> ClusterPurge {
    ClusterPurge {
        id: PurgeId { start: StartId([3; 16]), sequence },
        origin: node("web1"),
        zone: "pages".to_owned(),
        body: vec![sequence as u8; 20].into(),
    }
}

#[test]
fn records_survive_a_round_trip() {
    let secret = secret();
    let id = EntryId { epoch: 1, number: 8 };
    let contents = RecordContents::Purges(vec![purge(1), purge(2)]);
    let record = LogRecord { id, predecessor: position(7), writer: node("web2"), contents };
    let (bytes, tag) = record.encode(&secret);
    assert_eq!(LogRecord::decode(&secret, id, &bytes), Ok((record, tag)));
    assert_eq!(tag.0, bytes[bytes.len() - 32..]);

    let web1 = node("web1");
    let member = MemberRecord {
        start: StartId([1; 16]),
        generation: 6,
        counter: 5,
        confirmed: 4,
        state: MemberState::Left,
        applied: Some(position(3)),
        unsent_for_ms: 9,
        address: "10.0.0.1".to_owned(),
        software: "1.0".to_owned(),
    };
    assert_eq!(MemberRecord::decode(&secret, &web1, &member.encode(&secret, &web1)), Ok(member));
    let receipt = ReceiptRecord { node: node("web2"), purges: vec![purge(1).id] };
    assert_eq!(ReceiptRecord::decode(&secret, &web1, &receipt.encode(&secret, &web1)), Ok(receipt));
    let stored = StoredNode {
        boot: [8; 16],
        fresh_at: Some(1),
        applied: Some(position(2)),
        records: vec![StoredRecord { position: position(2), predecessor: position(1) }],
        generation: 3,
        has_excess: true,
        pending: vec![purge(4)],
    };
    assert_eq!(StoredNode::decode(&secret, &web1, &stored.encode(&secret, &web1)), Ok(stored));
}

#[test]
fn a_record_is_bound_to_its_id_and_follows_its_predecessor() {
    let secret = secret();
    let id = EntryId { epoch: 1, number: 8 };
    let contents = RecordContents::Purges(Vec::new());
    let mut record = LogRecord { id, predecessor: position(7), writer: node("web1"), contents };
    let (bytes, _) = record.encode(&secret);
    let other = EntryId { epoch: 1, number: 9 };
    assert_eq!(LogRecord::decode(&secret, other, &bytes).unwrap_err(), RecordError::NotAuthentic);
    record.predecessor = position(8);
    let (bytes, _) = record.encode(&secret);
    assert_eq!(LogRecord::decode(&secret, id, &bytes).unwrap_err(), RecordError::Malformed);
}

#[test]
fn the_chain_of_records_of_a_newer_version_can_be_followed() {
    let secret = secret();
    let id = EntryId { epoch: 2, number: 0 };
    let record =
        LogRecord { id, predecessor: position(7), writer: node("web1"), contents: RecordContents::Newer };
    let (bytes, tag) = record.encode(&secret);
    assert_eq!(LogRecord::decode(&secret, id, &bytes), Ok((record, tag)));
}

#[test]
fn purges_at_the_beginning_of_a_newer_version_are_read_and_the_rest_is_ignored() {
    let secret = secret();
    let id = EntryId { epoch: 2, number: 0 };
    for purges in [vec![purge(1), purge(2)], Vec::new()] {
        let contents = RecordContents::Purges(purges);
        let record = LogRecord { id, predecessor: position(7), writer: node("web1"), contents };
        let newer = |appended: &[u8]| {
            let mut bytes = record.encode(&secret).0;
            bytes.truncate(bytes.len() - 32);
            let version = 2 * 8 + 16 + 32 + 4 + "web1".len();
            assert_eq!(bytes[version], 1);
            bytes[version] = 2;
            bytes.extend_from_slice(appended);
            secret.seal(RecordContext::Log, &mut bytes);
            LogRecord::decode(&secret, id, &bytes).map(|(record, _)| record)
        };
        assert_eq!(newer(b""), Ok(record.clone()));
        assert_eq!(newer(b"fields of version 2"), Ok(record.clone()));
    }
    let web1 = node("web1");
    let receipt = ReceiptRecord { node: node("web2"), purges: vec![purge(1).id] };
    let mut bytes = receipt.encode(&secret, &web1);
    bytes.truncate(bytes.len() - 32);
    bytes[0] = 2;
    bytes.extend_from_slice(b"fields of version 2");
    secret.seal(RecordContext::Receipts(&web1), &mut bytes);
    assert_eq!(ReceiptRecord::decode(&secret, &web1, &bytes), Ok(receipt));
}

#[test]
fn random_contents_are_refused_or_survive_a_round_trip() {
    let mut random = fastrand::Rng::with_seed(1);
    let (bytes, _) = LogRecord {
        id: EntryId { epoch: 1, number: 8 },
        predecessor: position(7),
        writer: node("web2"),
        contents: RecordContents::Purges(vec![purge(1), purge(2)]),
    }
    .encode(&secret());
    let body = &bytes[..bytes.len() - 32];
    assert_eq!(examine_records(body), Some(1));
    for _ in 0..20_000 {
        let mut changed = body.to_vec();
        for _ in 0..random.usize(1..4) {
            let at = random.usize(..changed.len());
            changed[at] = random.u8(..);
        }
        changed.truncate(random.usize(..=changed.len()));
        assert!(examine_records(&changed).is_some(), "{changed:?}");
    }
}

#[test]
fn removal_ends_the_records_of_a_process_until_it_joins_again() {
    let active = MemberRecord {
        start: StartId([1; 16]),
        generation: 2,
        counter: 5,
        confirmed: 4,
        state: MemberState::Active,
        applied: Some(position(3)),
        unsent_for_ms: 9,
        address: "10.0.0.1".to_owned(),
        software: "1.0".to_owned(),
    };
    let removal = active.removal();
    let late = MemberRecord { counter: 6, ..active.clone() };
    let rejoined = MemberRecord { generation: 3, counter: 7, ..active.clone() };
    let earlier = MemberRecord { start: StartId([2; 16]), generation: 1, ..active.clone() };
    let restarted = MemberRecord { start: StartId([3; 16]), generation: 3, ..active.clone() };
    assert!([&active, &late, &earlier].iter().all(|record| record.is_ended_by(&removal)));
    assert!(![&rejoined, &restarted].iter().any(|record| record.is_ended_by(&removal)));
}
