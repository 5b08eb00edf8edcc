//! The eviction queue: SIEVE (Zhang et al., NSDI 2024) over a paged slab.
//!
//! New values enter at the head. A hit only sets a bit. The hand walks from the tail to the head, clears the bit of
//! what was hit since it last came by, and evicts the first value without one; survivors keep their place. So a hit
//! moves nothing, and what a scan brought in leaves as soon as the hand has passed the old values.

/// Slots per page. Pages are never moved, so a growing queue copies no values while its shard is locked.
const PAGE: usize = 32;

const NIL: u32 = u32::MAX;

#[derive(Debug)]
struct Slot<T> {
    /// Towards the head (newer).
    newer: u32,
    /// Towards the tail (older); for a vacant slot, the next vacant one.
    older: u32,
    visited: bool,
    value: Option<T>,
}

#[derive(Debug)]
pub(crate) struct Sieve<T> {
    pages: Vec<Vec<Slot<T>>>,
    vacant: u32,
    head: u32,
    tail: u32,
    hand: u32,
    len: usize,
}

impl<T> Sieve<T> {
    /// Bytes that one value takes here, its own size included.
    pub(crate) const SLOT_BYTES: usize = size_of::<Slot<T>>();

    pub(crate) fn new() -> Self {
        Self { pages: Vec::new(), vacant: NIL, head: NIL, tail: NIL, hand: NIL, len: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// One more than the highest index ever used.
    pub(crate) fn slots(&self) -> u32 {
        self.pages.last().map_or(0, |last| (self.pages.len() - 1) * PAGE + last.len()) as u32
    }

    fn slot(&self, index: u32) -> &Slot<T> {
        &self.pages[index as usize / PAGE][index as usize % PAGE]
    }

    fn slot_mut(&mut self, index: u32) -> &mut Slot<T> {
        &mut self.pages[index as usize / PAGE][index as usize % PAGE]
    }

    /// The value at an index, `None` for a vacant or unused one.
    pub(crate) fn at(&self, index: u32) -> Option<&T> {
        self.pages.get(index as usize / PAGE)?.get(index as usize % PAGE)?.value.as_ref()
    }

    pub(crate) fn at_mut(&mut self, index: u32) -> Option<&mut T> {
        self.pages.get_mut(index as usize / PAGE)?.get_mut(index as usize % PAGE)?.value.as_mut()
    }

    /// The value at an index, marked as hit.
    pub(crate) fn hit(&mut self, index: u32) -> Option<&mut T> {
        let slot = self.slot_mut(index);
        slot.visited = true;
        slot.value.as_mut()
    }

    pub(crate) fn insert(&mut self, value: T) -> u32 {
        let slot = Slot { newer: NIL, older: self.head, visited: false, value: Some(value) };
        let index = if self.vacant == NIL {
            let index = self.slots();
            match self.pages.last_mut() {
                Some(page) if page.len() < PAGE => page.push(slot),
                _ => {
                    let mut page = Vec::with_capacity(PAGE);
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
        match self.head {
            NIL => self.tail = index,
            head => self.slot_mut(head).newer = index,
        }
        self.head = index;
        self.len += 1;
        index
    }

    pub(crate) fn remove(&mut self, index: u32) -> Option<T> {
        let vacant = self.vacant;
        let slot = self.slot_mut(index);
        let value = slot.value.take()?;
        let (newer, older) = (slot.newer, slot.older);
        slot.older = vacant;
        self.vacant = index;
        match newer {
            NIL => self.head = older,
            newer => self.slot_mut(newer).older = older,
        }
        match older {
            NIL => self.tail = newer,
            older => self.slot_mut(older).newer = newer,
        }
        if self.hand == index {
            self.hand = newer;
        }
        self.len -= 1;
        Some(value)
    }

    /// The values from the oldest to the newest, with whether each was hit since the hand last came by.
    pub(crate) fn in_order(&self) -> impl Iterator<Item = (&T, bool)> {
        let mut next = self.tail;
        std::iter::from_fn(move || {
            let slot = (next != NIL).then(|| self.slot(next))?;
            next = slot.newer;
            Some((slot.value.as_ref()?, slot.visited))
        })
    }

    /// Puts the values in the order of a key, the least becoming the oldest, and the hand back to its start.
    pub(crate) fn sort_by_key<K: Ord>(&mut self, key: impl Fn(&T) -> K) {
        let mut order: Vec<(K, u32)> =
            (0..self.slots()).filter_map(|index| Some((key(self.at(index)?), index))).collect();
        order.sort_unstable();
        let mut older = NIL;
        (self.tail, self.head, self.hand) = (NIL, NIL, NIL);
        for (_, index) in order {
            let slot = self.slot_mut(index);
            (slot.older, slot.newer) = (older, NIL);
            match older {
                NIL => self.tail = index,
                older => self.slot_mut(older).newer = index,
            }
            self.head = index;
            older = index;
        }
    }

    /// The value that should leave next; ends because every step clears a bit.
    pub(crate) fn victim(&mut self) -> Option<u32> {
        if self.len == 0 {
            return None;
        }
        loop {
            if self.hand == NIL {
                self.hand = self.tail;
            }
            let hand = self.hand;
            let slot = self.slot_mut(hand);
            if !std::mem::take(&mut slot.visited) {
                return Some(hand);
            }
            self.hand = self.slot(hand).newer;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evict(queue: &mut Sieve<u32>) -> u32 {
        let victim = queue.victim().unwrap();
        queue.remove(victim).unwrap()
    }

    #[test]
    fn oldest_leaves_first_when_nothing_was_hit() {
        let mut queue = Sieve::new();
        for value in 0..100 {
            queue.insert(value);
        }
        for value in 0..100 {
            assert_eq!(evict(&mut queue), value);
        }
        assert!(queue.victim().is_none());
    }

    #[test]
    fn hit_value_survives_one_round_and_a_scan_leaves_before_it() {
        let mut queue = Sieve::new();
        let hot = queue.insert(1);
        queue.insert(2);
        queue.insert(3);
        queue.hit(hot);
        assert_eq!(evict(&mut queue), 2);
        // The hand has passed the hot value, and takes what the scan brings in before it comes round.
        queue.insert(4);
        queue.insert(5);
        assert_eq!([evict(&mut queue), evict(&mut queue), evict(&mut queue)], [3, 4, 5]);
        assert_eq!(evict(&mut queue), 1);
    }

    #[test]
    fn vacant_slots_are_reused() {
        let mut queue = Sieve::new();
        for value in 0..64 {
            queue.insert(value);
        }
        for round in 0..1000 {
            evict(&mut queue);
            queue.insert(round);
        }
        assert_eq!((queue.len(), queue.slots()), (64, 64));
    }

    #[test]
    fn sorted_values_leave_in_their_order() {
        let mut queue = Sieve::new();
        let gone = queue.insert(9);
        for value in [5, 1, 4, 2, 3] {
            queue.insert(value);
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
    fn random_operations_keep_the_order_of_a_plain_list() {
        for seed in 0..200 {
            let mut rng = fastrand::Rng::with_seed(seed);
            let mut queue = Sieve::new();
            let mut model: Vec<(u32, u32)> = Vec::new();
            for step in 0..300 {
                match rng.u8(0..3) {
                    0 | 1 => model.push((queue.insert(step), step)),
                    _ if model.is_empty() => {}
                    _ => {
                        let (index, value) = model.remove(rng.usize(..model.len()));
                        assert_eq!(queue.remove(index), Some(value));
                        assert_eq!(queue.at(index), None);
                    }
                }
                assert_eq!(queue.len(), model.len());
            }
            queue.hand = NIL;
            for (_, value) in model {
                assert_eq!(evict(&mut queue), value, "seed {seed}");
            }
        }
    }
}
