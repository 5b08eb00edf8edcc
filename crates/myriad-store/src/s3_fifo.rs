//! The eviction queue: S3-FIFO (Yang et al., SOSP 2023) over a paged slab, aware of weights.
//!
//! ```text
//!   insert --> newcomers --hit--> main --> hit since it last came by? once more round
//!      |           |                '----> else: evicted
//!      |           '--not hit--> evicted, and remembered as a ghost
//!      '--- remembered as a ghost: to main at once
//! ```
//!
//! A hit counts up to three and moves nothing. What a scan brings in leaves by the short way, without passing anything that
//! was hit; what was let go too early is known when it comes back. A value that weighs much more than others holds the
//! room of several, so it must be hit more often to stay.
//!
//! The shares were chosen by hit rates on eight traces, `bench/eviction`.

use crate::ghost::Ghost;

/// Slots of the first page; each further one has twice as many as the one before. Pages are never moved, so a growing queue copies
/// no values while its shard is locked, and they are few, so that finding one waits for no memory.
const FIRST_PAGE: usize = 32;
/// The part of all values that may be newcomers while there are others: one in so many.
const NEWCOMERS: usize = 20;
/// Hits that are counted.
const MOST_USES: u8 = 3;
/// How many values the mean weight is taken over, as a power of two.
const MEAN_OVER: u32 = 6;

const NIL: u32 = u32::MAX;

#[derive(Debug)]
struct Slot<T> {
    /// Towards the head (newer).
    newer: u32,
    /// Towards the tail (older); for a vacant slot, the next vacant one.
    older: u32,
    /// Hits since it came in, or last came by; no more than [`MOST_USES`].
    uses: u8,
    lane: Lane,
    value: Option<T>,
}

/// Which of the two queues a value is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lane {
    Newcomers,
    Main,
}

/// How a value stands in the queue: what a restart should find again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Standing {
    pub(crate) lane: Lane,
    /// Hits that are counted.
    pub(crate) uses: u8,
}

/// A list through slots. Values enter at the head and are looked at when they have come to the tail.
#[derive(Clone, Copy, Debug)]
struct List {
    head: u32,
    tail: u32,
    len: usize,
}

impl List {
    const EMPTY: Self = Self { head: NIL, tail: NIL, len: 0 };
}

/// The page of an index, and the place in it.
#[inline]
fn place(index: u32) -> (usize, usize) {
    let above = index as usize + FIRST_PAGE;
    let page = above.ilog2() - FIRST_PAGE.ilog2();
    (page as usize, above - (FIRST_PAGE << page))
}

#[derive(Debug)]
pub(crate) struct S3Fifo<T> {
    pages: Vec<Vec<Slot<T>>>,
    vacant: u32,
    lists: [List; 2],
    ghost: Ghost,
    /// Mean weight of the values that came to a tail lately, times 2 to the power of [`MEAN_OVER`].
    mean: u64,
}

impl<T> S3Fifo<T> {
    /// Bytes that one value takes here, its own size included.
    pub(crate) const SLOT_BYTES: usize = size_of::<Slot<T>>() + Ghost::BYTES * 7 / 10;

    pub(crate) fn new() -> Self {
        Self { pages: Vec::new(), vacant: NIL, lists: [List::EMPTY; 2], ghost: Ghost::default(), mean: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.lists[0].len + self.lists[1].len
    }

    /// One more than the highest index ever used.
    pub(crate) fn slots(&self) -> u32 {
        let before = |pages: usize| (FIRST_PAGE << (pages - 1)) - FIRST_PAGE;
        self.pages.last().map_or(0, |last| before(self.pages.len()) + last.len()) as u32
    }

    fn slot(&self, index: u32) -> &Slot<T> {
        let (page, at) = place(index);
        &self.pages[page][at]
    }

    fn slot_mut(&mut self, index: u32) -> &mut Slot<T> {
        let (page, at) = place(index);
        &mut self.pages[page][at]
    }

    /// The value at an index, `None` for a vacant or unused one.
    pub(crate) fn at(&self, index: u32) -> Option<&T> {
        let (page, at) = place(index);
        self.pages.get(page)?.get(at)?.value.as_ref()
    }

    pub(crate) fn at_mut(&mut self, index: u32) -> Option<&mut T> {
        let (page, at) = place(index);
        self.pages.get_mut(page)?.get_mut(at)?.value.as_mut()
    }

    /// The value at an index, counted as hit so often.
    pub(crate) fn hit(&mut self, index: u32, times: u8) -> Option<&mut T> {
        let slot = self.slot_mut(index);
        slot.uses = slot.uses.saturating_add(times).min(MOST_USES);
        slot.value.as_mut()
    }

    /// Evicted values that are remembered at this moment.
    fn remembered(&self) -> usize {
        self.len() * 7 / 10
    }

    /// Enters a value; `hash` is what it is remembered by when it leaves.
    pub(crate) fn insert(&mut self, value: T, hash: u64) -> u32 {
        let most = self.remembered();
        let lane = if self.ghost.recall(hash, most) { Lane::Main } else { Lane::Newcomers };
        self.insert_as(value, Standing { lane, uses: 0 })
    }

    /// Enters a value as it stood before.
    pub(crate) fn insert_as(&mut self, value: T, Standing { lane, uses }: Standing) -> u32 {
        let slot = Slot { newer: NIL, older: NIL, uses: uses.min(MOST_USES), lane, value: Some(value) };
        let index = if self.vacant == NIL {
            let index = self.slots();
            match self.pages.last_mut() {
                Some(page) if page.len() < page.capacity() => page.push(slot),
                _ => {
                    let mut page = Vec::with_capacity(FIRST_PAGE << self.pages.len());
                    page.push(slot);
                    self.pages.push(page);
                }
            }
            index
        } else {
            let index = self.vacant;
            self.vacant = std::mem::replace(self.slot_mut(index), slot).older;
            index
        };
        self.link(index, lane);
        index
    }

    /// Puts a slot at the head of a queue.
    fn link(&mut self, index: u32, lane: Lane) {
        let list = &mut self.lists[lane as usize];
        let older = std::mem::replace(&mut list.head, index);
        list.len += 1;
        if older == NIL {
            list.tail = index;
        } else {
            self.slot_mut(older).newer = index;
        }
        let slot = self.slot_mut(index);
        (slot.newer, slot.older, slot.lane) = (NIL, older, lane);
    }

    /// Takes a slot out of its queue.
    fn unlink(&mut self, index: u32) {
        let Slot { newer, older, lane, .. } = *self.slot(index);
        match newer {
            NIL => self.lists[lane as usize].head = older,
            newer => self.slot_mut(newer).older = older,
        }
        match older {
            NIL => self.lists[lane as usize].tail = newer,
            older => self.slot_mut(older).newer = newer,
        }
        self.lists[lane as usize].len -= 1;
    }

    pub(crate) fn remove(&mut self, index: u32) -> Option<T> {
        let value = self.slot_mut(index).value.take()?;
        self.unlink(index);
        self.slot_mut(index).older = self.vacant;
        self.vacant = index;
        Some(value)
    }

    /// Notes that a value is about to be removed to make room, which says nothing against its coming back.
    pub(crate) fn remember(&mut self, index: u32, hash: u64) {
        if self.slot(index).lane == Lane::Newcomers {
            let most = self.remembered();
            self.ghost.remember(hash, most);
        }
    }

    /// The values, newcomers before others and each queue from the oldest on.
    pub(crate) fn in_order(&self) -> impl Iterator<Item = (&T, Standing)> {
        let walk = |lane: Lane| {
            let mut next = self.lists[lane as usize].tail;
            std::iter::from_fn(move || {
                let slot = (next != NIL).then(|| self.slot(next))?;
                next = slot.newer;
                Some((slot.value.as_ref()?, Standing { lane, uses: slot.uses }))
            })
        };
        walk(Lane::Newcomers).chain(walk(Lane::Main))
    }

    /// Puts the values in the order of a key, the least becoming the oldest. All are newcomers then.
    pub(crate) fn sort_by_key<K: Ord>(&mut self, key: impl Fn(&T) -> K) {
        let mut order: Vec<(K, u32)> =
            (0..self.slots()).filter_map(|index| Some((key(self.at(index)?), index))).collect();
        order.sort_unstable();
        self.lists = [List::EMPTY; 2];
        for (_, index) in order {
            self.link(index, Lane::Newcomers);
        }
    }

    /// The value that should leave next. `unseen` takes the hits that a value has counted by itself. It ends because every step
    /// counts a hit down or a newcomer in.
    pub(crate) fn victim(&mut self, weight: impl Fn(&T) -> u64, unseen: impl Fn(&T) -> u8) -> Option<u32> {
        loop {
            let [newcomers, main] = self.lists;
            let lane = if newcomers.len * NEWCOMERS > self.len() || main.len == 0 {
                Lane::Newcomers
            } else {
                Lane::Main
            };
            let index = self.lists[lane as usize].tail;
            if index == NIL {
                return None;
            }
            let cost = 1 + u8::from(self.is_heavy(index, &weight));
            let times = self.at(index).map_or(0, &unseen);
            self.hit(index, times);
            let slot = self.slot_mut(index);
            match lane {
                Lane::Newcomers if slot.uses < cost => return Some(index),
                Lane::Main if slot.uses == 0 => return Some(index),
                Lane::Newcomers => slot.uses = 0,
                Lane::Main => slot.uses = slot.uses.saturating_sub(cost),
            }
            self.unlink(index);
            self.link(index, Lane::Main);
        }
    }

    /// Whether a value weighs half as much again as the mean, of which it becomes a part.
    fn is_heavy(&mut self, index: u32, weight: &impl Fn(&T) -> u64) -> bool {
        let weight = self.at(index).map_or(0, weight);
        if self.mean == 0 {
            self.mean = weight << MEAN_OVER;
        }
        let mean = self.mean >> MEAN_OVER;
        self.mean = self.mean - mean + weight;
        weight > mean + mean / 2
    }
}

#[cfg(test)]
mod tests {
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
        let mut queue = S3Fifo::new();
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
        let mut queue = S3Fifo::new();
        for value in 0..100 {
            let index = put(&mut queue, value);
            queue.hit(index, 1);
        }
        for value in 1000..5000 {
            put(&mut queue, value);
            assert!(evict(&mut queue) >= 1000 || value < 1100, "at {value}");
        }
        assert!(
            (0..queue.slots()).filter_map(|index| queue.at(index)).filter(|value| **value < 100).count()
                >= 95
        );
    }

    #[test]
    fn what_comes_back_soon_stays() {
        let mut queue = S3Fifo::new();
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
            let mut queue = S3Fifo::new();
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
        let mut queue = S3Fifo::new();
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
        let mut queue = S3Fifo::new();
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
        let mut queue = S3Fifo::new();
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
            let mut queue = S3Fifo::new();
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
                        stored.swap_remove(at.expect("what is evicted was there"));
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
}
