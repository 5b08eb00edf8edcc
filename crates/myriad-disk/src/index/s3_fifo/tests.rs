//! Tests of the eviction order, and of the consistency of both queues.

use super::*;

const EVEN: fn(&u32) -> u64 = |_| 100;
const UNSEEN: fn(&u32) -> u8 = |_| 0;

fn hash(value: u32) -> u64 {
    xxhash_rust::xxh3::xxh3_64(&value.to_le_bytes())
}

fn put(queue: &mut S3Fifo<u32>, value: u32) -> u32 {
    queue.insert(value, hash(value))
}

fn evict(queue: &mut S3Fifo<u32>) -> u32 {
    let victim = queue.victim(EVEN, UNSEEN).unwrap();
    queue.remember(victim, hash(*queue.at(victim).unwrap()));
    queue.remove(victim).unwrap()
}

#[test]
fn oldest_leaves_first_when_nothing_was_hit() {
    let mut queue = S3Fifo::default();
    for value in 0..100 {
        put(&mut queue, value);
    }
    for value in 0..100 {
        assert_eq!(evict(&mut queue), value);
    }
    assert!(queue.victim(EVEN, UNSEEN).is_none());
}

#[test]
fn what_was_hit_outlives_a_scan_of_any_length() {
    let mut queue = S3Fifo::default();
    for value in 0..100 {
        let index = put(&mut queue, value);
        queue.hit(index, 1);
    }
    for value in 1000..5000 {
        put(&mut queue, value);
        assert!(evict(&mut queue) >= 1000 || value < 1100, "at {value}");
    }
    assert!(
        (0..queue.slots()).filter_map(|index| queue.at(index)).filter(|value| **value < 100).count() >= 95
    );
}

#[test]
fn what_comes_back_soon_stays() {
    let mut queue = S3Fifo::default();
    for value in 0..100 {
        put(&mut queue, value);
    }
    assert_eq!(evict(&mut queue), 0);
    let again = put(&mut queue, 0);
    assert_eq!(queue.slot(again).lane, Lane::Main);
    for value in 1..100 {
        assert_eq!(evict(&mut queue), value);
    }
    assert_eq!(evict(&mut queue), 0);
}

#[test]
fn a_heavy_value_must_be_hit_more_often_to_stay() {
    let first_to_leave = |hits_of_heavy: u8| {
        let mut queue = S3Fifo::default();
        for value in 0..110 {
            let index = put(&mut queue, value);
            (0..if value < 100 { 1 } else { hits_of_heavy }).for_each(|_| _ = queue.hit(index, 1));
        }
        let victim = queue.victim(|value| if *value < 100 { 100 } else { 10_000 }, UNSEEN).unwrap();
        *queue.at(victim).unwrap()
    };
    assert_eq!((first_to_leave(1), first_to_leave(2)), (100, 0));
}

#[test]
fn hits_that_values_count_by_themselves_keep_them_too() {
    let mut queue = S3Fifo::default();
    for value in 0..100 {
        put(&mut queue, value);
    }
    let unseen = std::cell::Cell::new(1);
    let first_has_one = |value: &u32| if *value == 0 { unseen.replace(0) } else { 0 };
    let victim = queue.victim(EVEN, first_has_one).unwrap();
    assert_eq!((*queue.at(victim).unwrap(), unseen.get()), (1, 0));
}

#[test]
fn vacant_slots_are_reused() {
    let mut queue = S3Fifo::default();
    for value in 0..64 {
        put(&mut queue, value);
    }
    for round in 100..1100 {
        evict(&mut queue);
        put(&mut queue, round);
    }
    assert_eq!((queue.len(), queue.slots()), (64, 64));
}

#[test]
fn sorted_values_leave_in_their_order() {
    let mut queue = S3Fifo::default();
    let gone = put(&mut queue, 9);
    for value in [5, 1, 4, 2, 3] {
        put(&mut queue, value);
    }
    queue.remove(gone);
    queue.sort_by_key(|value| *value);
    assert_eq!(queue.in_order().map(|(value, _)| *value).collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
    for value in 1..=5 {
        assert_eq!(evict(&mut queue), value);
    }
    assert!(queue.in_order().next().is_none());
}

#[test]
fn random_operations_keep_both_queues_whole() {
    for seed in 0..200 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut queue = S3Fifo::default();
        let mut stored: Vec<(u32, u32)> = Vec::new();
        for step in 0..300 {
            match rng.u8(..5) {
                0 | 1 => stored.push((put(&mut queue, step), step)),
                2 if !stored.is_empty() => _ = queue.hit(stored[rng.usize(..stored.len())].0, 1),
                3 if !stored.is_empty() => {
                    let (index, value) = stored.swap_remove(rng.usize(..stored.len()));
                    assert_eq!(queue.remove(index), Some(value));
                    assert_eq!(queue.at(index), None);
                }
                4 if !stored.is_empty() => {
                    let value = evict(&mut queue);
                    let at = stored.iter().position(|(_, other)| *other == value);
                    stored.swap_remove(at.expect("the evicted value was stored"));
                }
                _ => {}
            }
            let mut values: Vec<u32> = queue.in_order().map(|(value, _)| *value).collect();
            values.sort_unstable();
            let mut expected: Vec<u32> = stored.iter().map(|(_, value)| *value).collect();
            expected.sort_unstable();
            assert_eq!((values, queue.len()), (expected, stored.len()), "seed {seed}");
        }
    }
}
