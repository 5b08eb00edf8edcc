//! Traffic counts by key that a worker needs for each request, stored by number to avoid a look-up by key.

use std::cell::RefCell;
use std::sync::Arc;

use super::counts::TrafficCounts;
use super::table::TrafficTable;

/// Traffic counts by slot number, so that a worker needs no look-up by key. The configuration assigns a slot number to
/// each key that is known in advance.
#[derive(Debug, Default)]
pub struct TrafficSlots(RefCell<Slots>);

#[derive(Debug, Default)]
struct Slots {
    epoch: u64,
    found: Vec<Option<Arc<TrafficCounts>>>,
}

impl TrafficSlots {
    /// Calls `add` with the counts of slot `number`. If the slot is empty (before its first use, and after keys have
    /// been removed from `board`), first fills it with the result of `find`. If that is `None`, `add` is not called.
    pub fn with(
        &self,
        board: &TrafficTable,
        number: usize,
        find: impl FnOnce() -> Option<Arc<TrafficCounts>>,
        add: impl FnOnce(&TrafficCounts),
    ) {
        let mut slots = self.0.borrow_mut();
        let epoch = board.epoch();
        if slots.epoch != epoch {
            *slots = Slots { epoch, found: Vec::new() };
        }
        if slots.found.len() <= number {
            slots.found.resize(number + 1, None);
        }
        let slot = &mut slots.found[number];
        if slot.is_none() {
            *slot = find();
        }
        if let Some(counts) = slot {
            add(counts);
        }
    }
}
