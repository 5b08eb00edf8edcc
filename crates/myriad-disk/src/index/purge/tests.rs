//! Tests of the set of logged purges: written, read back, torn and damaged.

use super::log::SECTOR;
use super::record::frame;
use super::{PurgeKind, PurgeRecord, PurgeSet, RulePurge, examine_purges};

fn exact(number: u64, purge: PurgeKind, keys: &[u128], labels: &[u64]) -> PurgeRecord {
    PurgeRecord::Exact { number, purge, keys: keys.into(), labels: labels.into() }
}

fn rule(number: u64, purge: PurgeKind, text: Option<&[u8]>) -> PurgeRecord {
    PurgeRecord::Rule(RulePurge { number, purge, name: "a name".into(), rule: text.map(Into::into) })
}

/// Returns the set of these purges, and a log to which they were appended one by one.
fn written(records: &[PurgeRecord]) -> (PurgeSet, Vec<u8>) {
    let (mut book, mut log) = (PurgeSet::default(), PurgeSet::default().write());
    for record in records {
        book.note(record);
        record.write(&mut log);
    }
    (book, log)
}

fn some() -> Vec<PurgeRecord> {
    vec![
        exact(3, PurgeKind::Hard, &[7], &[1, 2]),
        rule(4, PurgeKind::Soft, Some(b"rule")),
        exact(5, PurgeKind::Soft, &[7], &[2]),
        rule(6, PurgeKind::Soft, None),
        rule(7, PurgeKind::Hard, Some(b"rule")),
    ]
}

#[test]
fn what_was_written_is_read_from_a_log_and_from_a_compacted_one() {
    let (book, mut log) = written(&some());
    assert_eq!((book.len(), book.oldest(), book.newest()), (6, Some(3), 7));
    log.extend_from_slice(&[0; 5000]);
    for bytes in [log, book.write()] {
        let reading = PurgeSet::read(&bytes);
        assert_eq!(reading.book, book);
        assert!(!reading.is_damaged && !reading.is_lost);
    }
}

#[test]
fn many_keys_and_labels_go_into_many_records() {
    let (keys, labels): (Vec<u128>, Vec<u64>) = ((0..9000).collect(), (0..5000).collect());
    let (book, log) = written(&[exact(3, PurgeKind::Hard, &keys, &labels)]);
    assert_eq!((book.keys.len(), book.labels.len()), (9000, 5000));
    assert_eq!(PurgeSet::read(&log).book, book);
    assert_eq!(PurgeSet::read(&book.write()).book, book);
}

#[test]
fn purge_all_supersedes_earlier_rules_and_duplicate_rule_is_stored_once() {
    let (book, _) = written(&[rule(3, PurgeKind::Hard, Some(b"a")), rule(4, PurgeKind::Hard, Some(b"a"))]);
    assert_eq!((book.len(), book.oldest()), (1, Some(4)));
    let mut records = some();
    records.push(rule(8, PurgeKind::Hard, None));
    records.push(exact(9, PurgeKind::Hard, &[], &[1]));
    let (book, _) = written(&records);
    assert_eq!((book.rules.len(), book.labels.len(), book.keys.len()), (1, 1, 0));
}

#[test]
fn nothing_that_was_noted_after_all_is_forgotten_when_the_log_is_compacted_whatever_its_number() {
    let (book, log) = written(&[
        exact(2, PurgeKind::Hard, &[6], &[]),
        rule(8, PurgeKind::Hard, None),
        exact(3, PurgeKind::Hard, &[7], &[1]),
        rule(5, PurgeKind::Soft, None),
        rule(7, PurgeKind::Hard, None),
        rule(8, PurgeKind::Hard, Some(b"of the same number")),
        rule(10, PurgeKind::Hard, Some(b"a")),
        rule(9, PurgeKind::Hard, Some(b"a")),
        exact(7, PurgeKind::Soft, &[9], &[3]),
    ]);
    assert_eq!(book.keys.keys().min(), Some(&9), "the purges of all pages remove the earlier exact purges");
    assert_eq!(book.rules.iter().map(|rule| rule.number).collect::<Vec<_>>(), [7, 8, 8, 9, 10]);
    assert_eq!(PurgeSet::read(&book.write()).book, book);
    assert_eq!(examine_purges(&log), (log.len(), true));
}

#[test]
fn rules_of_one_number_keep_their_places() {
    let rules = [b"a", b"b", b"c"].map(|text| rule(4, PurgeKind::Soft, Some(text)));
    let (book, log) = written(&rules);
    assert_eq!(book.rules.len(), 3);
    assert_eq!(examine_purges(&log), (log.len(), true));
}

#[test]
fn purges_are_forgotten_up_to_a_number() {
    let (mut book, _) = written(&some());
    book.drop_through(5);
    assert_eq!((book.keys.len(), book.labels.len(), book.rules.len()), (0, 0, 2));
    book.drop_through(7);
    assert!(book.is_empty());
}

#[test]
fn torn_end_is_damage_but_no_loss_wherever_it_was_torn() {
    let (book, whole) = written(&some());
    let mut log = whole.clone();
    let last: Vec<u64> = (0..300).collect();
    exact(9, PurgeKind::Hard, &[], &last).write(&mut log);
    let size = log.len().next_multiple_of(SECTOR) + SECTOR;
    for lost in 1..2_u32.pow(4) {
        // Some sectors of the last write have not reached the disk.
        let mut torn = log.clone();
        torn.resize(size, 0);
        let sectors = (whole.len() / SECTOR..=(log.len() - 1) / SECTOR).take(4).enumerate();
        for (_, sector) in sectors.filter(|(bit, _)| lost & 1 << bit != 0) {
            let from = (sector * SECTOR).max(whole.len());
            torn[from..(sector + 1) * SECTOR].fill(0);
        }
        if torn[..log.len()] == log[..] {
            continue;
        }
        let reading = PurgeSet::read(&torn);
        assert_eq!((&reading.book, reading.len), (&book, whole.len()));
        assert!(!reading.is_lost, "{lost}");
    }
    for cut in whole.len()..log.len() {
        let reading = PurgeSet::read(&log[..cut]);
        assert_eq!(reading.book, book);
        assert!(!reading.is_lost);
    }
}

#[test]
fn no_damage_to_what_was_whole_passes_for_a_torn_end() {
    let (book, log) = written(&some());
    let mut whole = log.clone();
    whole.extend_from_slice(&[0; 100]);
    for at in 0..log.len() {
        for bit in 0..8 {
            let mut damaged = whole.clone();
            damaged[at] ^= 1 << bit;
            let reading = PurgeSet::read(&damaged);
            assert!(reading.is_lost || reading.book == book, "byte {at}");
        }
    }
}

#[test]
fn any_record_with_a_right_checksum_is_read_without_harm() {
    let mut rng = fastrand::Rng::with_seed(2);
    for _ in 0..20_000 {
        let mut log = PurgeSet::default().write();
        for _ in 0..rng.usize(1..4) {
            let kind = rng.u8(..4);
            let len = rng.usize(..120);
            frame(&mut log, |out| {
                out.push(kind);
                out.extend((0..len).map(|at| if at < 12 && rng.bool() { 0 } else { rng.u8(..) }));
            });
        }
        let (len, same) = examine_purges(&log);
        assert!(len <= log.len() && same);
    }
}

#[test]
fn any_bytes_are_read_without_harm() {
    let (_, log) = written(&some());
    let mut rng = fastrand::Rng::with_seed(1);
    for _ in 0..20_000 {
        let mut bytes = log.clone();
        for _ in 0..rng.usize(1..6) {
            let at = rng.usize(..bytes.len());
            match rng.u8(..3) {
                0 => bytes[at] = rng.u8(..),
                1 => bytes.truncate(at + 1),
                _ => bytes.insert(at, rng.u8(..)),
            }
        }
        let (len, same) = examine_purges(&bytes);
        assert!(len <= bytes.len() && same);
    }
}
