//! The counts that a worker needs for each request.

use std::cell::RefCell;
use std::sync::Arc;

use super::board::Board;
use super::counts::TrafficCounts;

/// Counts by a number that the configuration gives what is counted: a request looks for no key.
#[derive(Debug, Default)]
pub struct TrafficSlots(RefCell<Slots>);

#[derive(Debug, Default)]
struct Slots {
    epoch: u64,
    found: Vec<Option<Arc<TrafficCounts>>>,
}

impl TrafficSlots {
    /// Gives the counts of a number to `add`; `find` looks for them on the worker's board where they are asked for the first
    /// time, or since keys were taken out.
    pub fn with(
        &self,
        board: &Board,
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
