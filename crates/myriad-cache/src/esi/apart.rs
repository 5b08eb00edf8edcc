//! Parts that are kept for one visitor each.
//!
//! A part counts only as long as nothing may have changed for its visitor since it was asked for. What may have changed something
//! is noted under the visitor's marks, with the number of the change; a part bears the number of changes when it was asked for. So a
//! part that was under way while something changed is never kept as if it were new, and nothing has to be searched for:
//!
//! ```text
//! asked for (at 7) -- changed by mark M (8) -- answered: kept with 7 -- looked up: M has 8 > 7, it does not count
//! ```

use std::sync::LazyLock;

use bytes::Bytes;
use myriad_bounded::Lru;
use parking_lot::Mutex;

use super::settings::PrivateCache;
use super::visitor::{Digest, Marks, Visitor};

/// Most marks whose last change is remembered: some 4 MB. Parts from before a change that was forgotten do not count.
const CHANGES: u64 = 65_536;
/// What a part weighs besides its bytes.
const OVERHEAD: usize = 128;

/// The parts of the process; all workers share them, and they outlive reloads.
pub(super) static APART: LazyLock<Mutex<Apart>> = LazyLock::new(Mutex::default);

/// When a part was asked for: the number of changes by then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Moment(u64);

/// Parts by visitor.
pub(super) struct Apart {
    visitors: Lru<Digest, Vec<Part>>,
    changes: Lru<Digest, Moment>,
    now: Moment,
    /// Parts from before this do not count, whoever's they are.
    floor: Moment,
}

struct Part {
    target: Box<[u8]>,
    bytes: Bytes,
    until_ms: u64,
    asked: Moment,
}

impl Part {
    fn weight(&self) -> usize {
        self.target.len() + self.bytes.len() + OVERHEAD
    }
}

impl Default for Apart {
    fn default() -> Self {
        Self { visitors: Lru::new(0), changes: Lru::new(CHANGES), now: Moment(0), floor: Moment(0) }
    }
}

impl Apart {
    /// The present moment, for a part that is about to be asked for.
    pub(super) fn moment(&self) -> Moment {
        self.now
    }

    /// The part of a visitor.
    pub(super) fn get(&mut self, visitor: &Visitor, target: &[u8], now_ms: u64) -> Option<Bytes> {
        let since = self.last_change(&visitor.marks);
        let parts = self.visitors.get_mut(&visitor.id)?;
        let part = parts.iter().find(|part| *part.target == *target)?;
        (part.asked >= since && now_ms < part.until_ms).then(|| part.bytes.clone())
    }

    /// Keeps a part that was asked for at a moment. The visitor's oldest make room for it.
    pub(super) fn keep(
        &mut self,
        visitor: &Visitor,
        (target, bytes): (&[u8], Bytes),
        (asked, until_ms): (Moment, u64),
        bounds: PrivateCache,
    ) {
        let part = Part { target: target.into(), bytes, until_ms, asked };
        if part.weight() as u64 > bounds.visitor || asked < self.last_change(&visitor.marks) {
            return;
        }
        self.visitors.set_most(bounds.total);
        let mut parts = self.visitors.remove(&visitor.id).unwrap_or_default();
        parts.retain(|other| *other.target != *target);
        parts.push(part);
        let mut weight: usize = parts.iter().map(Part::weight).sum();
        while weight as u64 > bounds.visitor {
            weight -= parts.remove(0).weight();
        }
        self.visitors.insert(visitor.id, parts, u32::try_from(weight).unwrap_or(u32::MAX));
    }

    /// Something may have changed for whoever bears one of these marks.
    pub(super) fn changed(&mut self, marks: &Marks) {
        self.now.0 += 1;
        for mark in marks {
            let floor = &mut self.floor;
            if !self.changes.has_room(1) && self.changes.get(mark).is_none() {
                self.changes.remove_oldest_if(|forgotten| {
                    *floor = (*floor).max(*forgotten);
                    true
                });
            }
            self.changes.insert(*mark, self.now, 1);
        }
    }

    fn last_change(&self, marks: &Marks) -> Moment {
        let changes = marks.iter().filter_map(|mark| self.changes.get(mark).copied());
        changes.max().unwrap_or(self.floor).max(self.floor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: PrivateCache = PrivateCache { total: 10_000, visitor: 1_000, valid_ms: 60_000 };

    fn visitor(name: u8) -> Visitor {
        Visitor { id: [name; 32], marks: [[name; 32], [name + 100; 32]].into_iter().collect() }
    }

    fn keep(apart: &mut Apart, name: u8, target: &str, asked: Moment) {
        let bytes = Bytes::from(format!("{name} {target}"));
        apart.keep(&visitor(name), (target.as_bytes(), bytes), (asked, 1_000), BOUNDS);
    }

    fn has(apart: &mut Apart, name: u8, target: &str) -> bool {
        let found = apart.get(&visitor(name), target.as_bytes(), 999);
        assert!(found.as_ref().is_none_or(|bytes| *bytes == format!("{name} {target}")));
        found.is_some()
    }

    #[test]
    fn part_is_its_visitor_s_alone_and_ends() {
        let mut apart = Apart::default();
        let moment = apart.moment();
        keep(&mut apart, 1, "/a", moment);
        assert!(has(&mut apart, 1, "/a") && !has(&mut apart, 1, "/b") && !has(&mut apart, 2, "/a"));
        assert_eq!(apart.get(&visitor(1), b"/a", 1_000), None);
    }

    #[test]
    fn change_ends_the_parts_of_its_visitor_also_those_under_way() {
        let mut apart = Apart::default();
        let before = apart.moment();
        keep(&mut apart, 1, "/a", before);
        keep(&mut apart, 2, "/a", before);
        apart.changed(&[[101; 32]].into_iter().collect());
        assert!(!has(&mut apart, 1, "/a") && has(&mut apart, 2, "/a"));
        keep(&mut apart, 1, "/b", before);
        assert!(!has(&mut apart, 1, "/b"), "it was asked for before the change");
        let after = apart.moment();
        keep(&mut apart, 1, "/b", after);
        assert!(has(&mut apart, 1, "/b"));
    }

    #[test]
    fn change_that_was_forgotten_takes_all_parts_before_it_along() {
        let mut apart = Apart::default();
        let before = apart.moment();
        apart.changed(&[[1; 32]].into_iter().collect());
        for number in 0..CHANGES {
            let mut mark = [9; 32];
            mark[..8].copy_from_slice(&number.to_le_bytes());
            apart.changed(&[mark].into_iter().collect());
        }
        assert_eq!(apart.changes.len() as u64, CHANGES);
        keep(&mut apart, 1, "/a", before);
        assert!(!has(&mut apart, 1, "/a"));
        let after = apart.moment();
        keep(&mut apart, 1, "/a", after);
        assert!(has(&mut apart, 1, "/a"));
    }

    #[test]
    fn memory_of_one_visitor_and_of_all_is_bounded() {
        let mut apart = Apart::default();
        let moment = apart.moment();
        for number in 0..20 {
            keep(&mut apart, 1, &format!("/{number:04}"), moment);
        }
        assert!(has(&mut apart, 1, "/0019") && !has(&mut apart, 1, "/0000"));
        for name in 2..100 {
            for number in 0..20 {
                keep(&mut apart, name, &format!("/{number:04}"), moment);
            }
        }
        assert!(apart.visitors.weight() <= BOUNDS.total && !has(&mut apart, 1, "/0019"));
        let long = Bytes::from(vec![b'x'; 1_000]);
        apart.keep(&visitor(1), (b"/long", long), (moment, 1_000), BOUNDS);
        assert_eq!(apart.get(&visitor(1), b"/long", 0), None);
    }
}
