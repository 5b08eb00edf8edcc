//! Who sits where in a memory of fixed size.

/// Slots of a memory; a power of two.
const SLOTS: usize = 1024;

/// The hashes of what is kept in each slot, apart from it, so that whoever finds nothing has looked at eight bytes.
///
/// What lies in a slot is displaced by what is asked for twice while it is not kept: visitors who go through a million pages
/// neither push out what others come for again, nor write anything down.
#[derive(Debug, Default)]
pub(super) struct Seats {
    /// Zero where nothing is kept; none before the first.
    kept: Vec<u64>,
    /// Of what was last to be kept in each slot and was not.
    turned_away: Vec<u64>,
}

impl Seats {
    /// The slot that keeps what has this hash.
    #[inline]
    pub(super) fn find(&self, hash: u64) -> Option<usize> {
        let at = hash as usize & (SLOTS - 1);
        (self.kept.get(at) == Some(&hash.max(1))).then_some(at)
    }

    /// The slot in which what has this hash is to be kept from now on, if it may: `is_over` tells of what is kept that nobody
    /// believes it any more. `slots` are made to be as many as there are.
    pub(super) fn take<T: Default>(
        &mut self,
        hash: u64,
        slots: &mut Vec<T>,
        is_over: impl Fn(&T) -> bool,
    ) -> Option<usize> {
        if slots.is_empty() {
            self.kept.resize(SLOTS, 0);
            self.turned_away.resize(SLOTS, 0);
            slots.resize_with(SLOTS, T::default);
        }
        let (at, hash) = (hash as usize & (SLOTS - 1), hash.max(1));
        let is_taken = ![0, hash].contains(&self.kept[at]) && !is_over(&slots[at]);
        if is_taken && self.turned_away[at] != hash {
            self.turned_away[at] = hash;
            return None;
        }
        self.kept[at] = hash;
        Some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAYS: fn(&()) -> bool = |()| false;

    #[test]
    fn those_who_come_once_displace_nobody_and_who_comes_twice_does() {
        let (mut seats, mut slots) = (Seats::default(), Vec::<()>::new());
        let (home, rival) = (3, 3 + SLOTS as u64);
        assert_eq!(
            (seats.find(home), seats.take(home, &mut slots, STAYS), slots.len()),
            (None, Some(3), SLOTS)
        );
        for once in 2..1000 {
            assert_eq!(seats.take(home + once * SLOTS as u64, &mut slots, STAYS), None);
        }
        for seat in [None, Some(3)] {
            assert_eq!(seats.find(home), Some(3));
            assert_eq!(seats.take(rival, &mut slots, STAYS), seat);
        }
        assert_eq!((seats.find(home), seats.find(rival)), (None, Some(3)));
        assert_eq!(seats.take(home, &mut slots, |()| true), Some(3));
    }

    #[test]
    fn a_hash_of_zero_is_one_like_others() {
        let (mut seats, mut slots) = (Seats::default(), Vec::<()>::new());
        assert_eq!(seats.find(0), None);
        assert_eq!(seats.take(0, &mut slots, STAYS), Some(0));
        assert_eq!(seats.find(0), Some(0));
    }
}
