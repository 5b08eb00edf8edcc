//! Tests of the purge log: written, read by another process, lost and damaged.

use super::*;
use crate::index::{PurgeKind, RulePurge};
use crate::testing::TempFolder as Folder;

fn entry(number: u64) -> PurgeRecord {
    PurgeRecord::Exact {
        number,
        purge: PurgeKind::Hard,
        keys: [u128::from(number)].into(),
        labels: [number; 3].into(),
    }
}

fn reopened(folder: &Folder) -> (PurgeSet, LogDefects) {
    let (log, found) = PurgeLog::open(folder.path()).unwrap();
    (log.book, found)
}

#[test]
fn purges_are_found_again_however_many_there_were() {
    let folder = Folder::new();
    let (mut log, found) = PurgeLog::open(folder.path()).unwrap();
    assert_eq!(found, LogDefects::default());
    let mut book = PurgeSet::default();
    for number in (1..3000).step_by(3) {
        let records = [entry(number), entry(number + 1), entry(number + 2)];
        for entry in &records {
            book.note(entry);
        }
        log.append(&records).unwrap();
    }
    assert_eq!((reopened(&folder), book.len()), ((book, LogDefects::default()), 6000));
}

#[test]
fn removed_log_is_rewritten() {
    let folder = Folder::new();
    let (mut log, _) = PurgeLog::open(folder.path()).unwrap();
    log.append(&[entry(1)]).unwrap();
    fs::remove_file(path(folder.path())).unwrap();
    log.append(&[entry(2)]).unwrap();
    assert_eq!(reopened(&folder).0.keys.len(), 2);
}

#[test]
fn what_could_not_be_written_is_written_with_what_follows() {
    let folder = Folder::new();
    let (mut log, _) = PurgeLog::open(folder.path()).unwrap();
    let away = folder.path().with_extension("away");
    fs::rename(folder.path(), &away).unwrap();
    assert!(log.append(&[entry(1)]).is_err());
    assert!(log.has_unwritten());
    fs::rename(&away, folder.path()).unwrap();
    log.append(&[entry(2)]).unwrap();
    assert!(!log.has_unwritten());
    assert_eq!(reopened(&folder).0.keys.len(), 2);
}

#[test]
fn what_another_process_adds_is_seen_whatever_its_length() {
    let folder = Folder::new();
    let (mut one, _) = PurgeLog::open(folder.path()).unwrap();
    one.append(&[entry(1)]).unwrap();
    let (mut other, _) = PurgeLog::open(folder.path()).unwrap();
    let mut multiples = 0;
    for number in 2..600 {
        let entry = PurgeRecord::Rule(RulePurge {
            number,
            purge: PurgeKind::Soft,
            name: "by rule".into(),
            rule: Some([b'r'].repeat(usize::try_from(number).unwrap()).into()),
        });
        let mut record = Vec::new();
        entry.write(&mut record);
        multiples += usize::from(record[0] == 0);
        one.append(&[entry]).unwrap();
        let news = other.take_news().unwrap();
        assert_eq!(news.rules.last().map(|ruled| ruled.number), Some(number));
        other.adopt(&news);
    }
    assert_eq!(multiples, 2, "payloads of 256 and 512 bytes");
    assert_eq!(reopened(&folder).0, one.book);
}

/// Returns the purge logs of two processes on one folder.
fn older_and_newer(folder: &Folder) -> (PurgeLog, PurgeLog) {
    let epochs = [1, 2].map(|start| start * sequence::EPOCH);
    let logs = epochs.map(|epoch| {
        let (mut log, _) = PurgeLog::open(folder.path()).unwrap();
        sequence::write(folder.path(), epoch).unwrap();
        log.epoch = epoch;
        log
    });
    logs.into()
}

fn of_key(number: u64) -> PurgeRecord {
    PurgeRecord::Exact { number, purge: PurgeKind::Hard, keys: [7].into(), labels: [].into() }
}

/// Adopts the purges that are new in the log, if any, as one purge [`of_key`] with the number `number` after the log's
/// epoch. Returns true if there were any.
fn receives(log: &mut PurgeLog, number: u64) -> bool {
    let news = log.take_news().unwrap();
    let mut numbered = PurgeSet::default();
    if !news.is_empty() {
        numbered.note(&of_key(log.epoch + number));
    }
    log.adopt(&numbered);
    !news.is_empty()
}

#[test]
fn older_process_receives_purge_of_key_it_has_also_purged() {
    for is_written_anew in [false, true] {
        for is_heard in [false, true] {
            let folder = Folder::new();
            let (mut older, mut newer) = older_and_newer(&folder);
            let mut number = 0;
            for round in 0..3 {
                older.append(&[of_key(older.epoch + round)]).unwrap();
                if is_heard {
                    number += 1;
                    assert!(receives(&mut newer, number), "round {round}");
                }
                number += 1;
                newer.append(&[of_key(newer.epoch + number)]).unwrap();
                if is_written_anew {
                    newer.rewrite().unwrap();
                }
                assert!(receives(&mut older, 9), "round {round}");
                assert!(!receives(&mut older, 9), "the purge was received already");
            }
            if is_heard && is_written_anew {
                newer.rewrite().unwrap();
                assert!(!receives(&mut older, 9), "all purges were received already");
            }
        }
    }
}

#[test]
fn what_the_newer_of_two_forgets_the_older_does_not_remember_to_have_heard() {
    let folder = Folder::new();
    let (mut older, mut newer) = older_and_newer(&folder);
    for round in 0..5 {
        let records: Vec<PurgeRecord> = (1..100).map(|n| entry(newer.epoch + round * 100 + n)).collect();
        newer.append(&records).unwrap();
        assert!(!older.take_news().unwrap().is_empty());
        older.adopt(&PurgeSet::default());
        assert_eq!(older.received.len(), 198, "99 keys and as many labels");
        newer.book.drop_through(newer.epoch + round * 100 + 90);
        newer.rewrite().unwrap();
        assert!(older.take_news().unwrap().is_empty(), "the remaining purges were received already");
        assert_eq!(older.received.len(), 18);
        newer.book.drop_through(newer.epoch + round * 100 + 99);
        newer.rewrite().unwrap();
        assert!(older.take_news().unwrap().is_empty());
        assert_eq!(older.received.len(), 0);
    }
}

#[test]
fn a_purge_is_news_though_one_of_the_same_number_is_about_to_hold() {
    let folder = Folder::new();
    let (mut older, mut newer) = older_and_newer(&folder);
    older.append(&[of_key(1)]).unwrap();
    let mut numbered = newer.take_news().unwrap();
    assert!(!numbered.is_empty());
    older.append(&[of_key(2)]).unwrap();
    newer.append(&[entry(newer.epoch + 1)]).unwrap();
    numbered.keys.values_mut().for_each(|numbers| numbers.hard = newer.epoch);
    newer.adopt(&numbered);
    assert!(receives(&mut newer, 2), "purges with equal numbers are distinguished by their keys");
    assert!(!receives(&mut newer, 3));
}

#[test]
fn truncated_log_is_rewritten_by_purge_that_detects_it() {
    for len in [0, 5, 12, 40] {
        let folder = Folder::new();
        let (mut log, _) = PurgeLog::open(folder.path()).unwrap();
        log.append(&[entry(1)]).unwrap();
        log.append(&[entry(2)]).unwrap();
        File::options().write(true).open(path(folder.path())).unwrap().set_len(len).unwrap();
        log.append(&[entry(3)]).unwrap();
        assert!(!log.has_unwritten());
        assert_eq!(reopened(&folder), (log.book.clone(), LogDefects::default()), "{len} bytes were left");
        assert_eq!(log.book.keys.len(), 3);
    }
}

#[test]
fn purges_of_a_moment_in_which_the_log_could_not_be_read_are_written_later() {
    let folder = Folder::new();
    let (mut log, _) = PurgeLog::open(folder.path()).unwrap();
    log.append(&[entry(1)]).unwrap();
    fs::remove_file(path(folder.path())).unwrap();
    fs::create_dir(path(folder.path())).unwrap();
    assert!(log.append(&[entry(2)]).is_err());
    assert!(log.has_unwritten(), "purges that are only in memory must still be written");
    fs::remove_dir(path(folder.path())).unwrap();
    log.rewrite().unwrap();
    assert!(!log.has_unwritten());
    assert_eq!(reopened(&folder).0.keys.len(), 2);
}

#[test]
fn foreign_log_is_reported_lost_and_copied() {
    let folder = Folder::new();
    fs::write(path(folder.path()), b"anything").unwrap();
    let (log, found) = PurgeLog::open(folder.path()).unwrap();
    assert_eq!((found, log.book.len()), (LogDefects { is_damaged: true, is_lost: true }, 0));
    assert!(log.has_unwritten(), "a damaged log must be written again");
    assert_eq!(fs::read(folder.path().join(".purges.damaged")).unwrap(), b"anything");
}
