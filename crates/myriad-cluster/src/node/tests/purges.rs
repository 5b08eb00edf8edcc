//! Purges that wait for the log.

use std::collections::BTreeSet;

use crate::node::outbox::{OwnPurge, PurgeOutbox};
use crate::node::{
    ClusterAction, ClusterEvent, ClusterNode, NodeCounters, NodeSettings, NodeStart, NodeTimings,
    PartitionPolicy, PurgeTicket,
};
use crate::record::{
    ClusterPurge, ClusterSecret, EntryId, LogPosition, NodeName, PurgeId, RecordTag, StartId,
};

/// Returns a node without a connection.
fn node() -> ClusterNode {
    let cluster = NodeName::new("shop").expect("a valid name");
    let settings = NodeSettings {
        node: NodeName::new("web1").expect("a valid name"),
        secret: ClusterSecret::new(&cluster, b"secret of the cluster with 32 bytes").expect("long enough"),
        partition: PartitionPolicy::Strict,
        address: String::new(),
        servers: String::new(),
        software: String::new(),
        timings: NodeTimings::default(),
    };
    let start = NodeStart {
        start: StartId([1; 16]),
        boot: [1; 16],
        stored: None,
        has_pages: false,
        seed: 1,
        counters: NodeCounters::default(),
    };
    ClusterNode::new(settings, start, 0)
}

fn request(node: &mut ClusterNode, ticket: u64, zone: &str, body: Vec<u8>) {
    let (ticket, zone) = (PurgeTicket(ticket), zone.to_owned());
    node.handle(ClusterEvent::Purge { ticket, zone, body, wait_ms: 1000 }, 10);
}

fn answers(node: &mut ClusterNode) -> BTreeSet<u64> {
    let actions = std::iter::from_fn(|| node.next_action());
    actions
        .filter_map(|action| match action {
            ClusterAction::Answer { ticket, .. } => Some(ticket.0),
            _ => None,
        })
        .collect()
}

fn purge(sequence: u64) -> ClusterPurge {
    ClusterPurge {
        id: PurgeId { start: StartId([2; 16]), sequence },
        origin: NodeName::new("web2").expect("a valid name"),
        zone: "pages".to_owned(),
        body: vec![1; 10].into(),
    }
}

#[test]
fn equal_purges_that_wait_are_one_purge_with_an_answer_for_each() {
    let mut node = node();
    for ticket in 0..10_000 {
        request(&mut node, ticket, "pages", b"tag".to_vec());
    }
    request(&mut node, 10_000, "pages", b"other tag".to_vec());
    assert_eq!(node.status(10).pending_count, 2);
    assert_eq!(answers(&mut node).len(), 0);
    node.handle(ClusterEvent::Tick, 1010);
    assert_eq!(answers(&mut node), (0..=10_000).collect());
}

#[test]
fn purge_that_was_sent_is_not_combined_with_a_later_request() {
    let mut outbox = PurgeOutbox::new(1000, 1000);
    let key = outbox.add(OwnPurge::new(purge(1), 0));
    assert_eq!(outbox.find_combinable("pages", &[1; 10]), Some(key));
    assert_eq!(outbox.find_combinable("pages", &[2; 10]), None);
    outbox.note_sent(&outbox.next_purges(0));
    assert_eq!(outbox.find_combinable("pages", &[1; 10]), None);
    outbox.add(OwnPurge::restored(purge(2), 0));
    assert_eq!(outbox.find_combinable("pages", &[1; 10]), None);
}

#[test]
fn too_many_bytes_are_replaced_by_one_purge_of_each_zone() {
    let mut node = node();
    let max = NodeTimings::default().max_unsent_bytes;
    for ticket in 0..200 {
        let zone = if ticket % 2 == 0 { "a" } else { "b" };
        request(&mut node, ticket, zone, vec![ticket as u8; 100_000]);
        assert!(node.outbox.stored().iter().map(ClusterPurge::encoded_len).sum::<usize>() < max + 100_100);
    }
    let stored = node.outbox.stored();
    let zones: Vec<_> = stored.iter().map(|purge| (purge.zone.as_str(), purge.body.len())).collect();
    assert_eq!(zones, [("a", 0), ("b", 0)]);
    node.handle(ClusterEvent::Tick, 1010);
    assert_eq!(answers(&mut node), (0..200).collect());
}

#[test]
fn lost_purges_are_due_in_the_order_of_their_times_until_they_are_in_the_log() {
    let mut outbox = PurgeOutbox::new(1000, 1000);
    outbox.add_lost(purge(1), 300);
    outbox.add_lost(purge(2), 100);
    outbox.add_lost(purge(2), 50);
    outbox.add_lost(purge(3), 200);
    let due = |outbox: &PurgeOutbox, now| {
        outbox.next_purges(now).iter().map(|purge| purge.id.sequence).collect::<Vec<_>>()
    };
    assert_eq!((outbox.lost_due_at(), due(&outbox, 99)), (Some(100), vec![]));
    assert_eq!(due(&outbox, 200), [2, 3]);
    let position = LogPosition { id: EntryId { epoch: 1, number: 1 }, tag: RecordTag([1; 32]) };
    outbox.note_record(position, &[purge(2), purge(3)]);
    assert_eq!((outbox.lost_due_at(), due(&outbox, 300)), (Some(300), vec![1]));
}

#[test]
fn oldest_purges_in_the_log_do_not_wait_for_receipts_above_the_maximum_size() {
    let mut outbox = PurgeOutbox::new(1000, 1000);
    let purge = |sequence| ClusterPurge { body: vec![1; 300].into(), ..purge(sequence) };
    let position = LogPosition { id: EntryId { epoch: 1, number: 1 }, tag: RecordTag([1; 32]) };
    let mut removed = Vec::new();
    for sequence in 1..=5 {
        outbox.add(OwnPurge::new(purge(sequence), 0));
        assert!(sequence > 1 || outbox.take_excess().is_none());
        if sequence != 2 {
            outbox.note_record(position, &[purge(sequence)]);
        }
        while let Some(own) = outbox.take_excess() {
            removed.push(own.purge.id.sequence);
        }
    }
    let remaining: Vec<u64> = outbox.stored().iter().map(|purge| purge.id.sequence).collect();
    assert_eq!((removed, remaining), (vec![1, 3, 4], vec![2, 5]), "a purge that is not in the log stays");
    assert!(outbox.has_excess());
}

#[test]
fn position_file_has_at_most_the_maximum_size_of_purges_that_wait_for_receipts() {
    let mut node = node();
    let max = NodeTimings::default().max_own_bytes;
    for ticket in 0..200 {
        request(&mut node, ticket, "pages", vec![ticket as u8; 100_000]);
        let sent = node.outbox.next_purges(10);
        let position =
            LogPosition { id: EntryId { epoch: 1, number: ticket }, tag: RecordTag([ticket as u8; 32]) };
        node.outbox.note_record(position, &sent);
        node.handle(ClusterEvent::PurgeDurable(PurgeTicket(ticket)), 10);
        let stored = node.outbox.stored().iter().map(ClusterPurge::encoded_len).sum::<usize>();
        assert!(stored <= max + 100_100, "{stored}");
    }
    node.handle(ClusterEvent::Tick, 1010);
    assert_eq!(answers(&mut node), (0..200).collect());
}
