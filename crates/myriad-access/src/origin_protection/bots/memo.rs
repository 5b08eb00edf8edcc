//! Per-worker memo of recent lookups by `User-Agent`: searching a list takes about a microsecond, finding a value in
//! the memo some nanoseconds.

use std::cell::RefCell;

/// Number of `User-Agent` values that a worker remembers; each hash has one slot. Clients that send random values cause
/// one search each, and no further cost.
const PLACES: usize = 256;

#[derive(Default)]
struct MemoSlot {
    list: u64,
    agent: Vec<u8>,
    line: usize,
}

thread_local! {
    static MEMO: RefCell<Box<[MemoSlot]>> =
        RefCell::new((0..PLACES).map(|_| MemoSlot::default()).collect());
}

/// Returns the index of the line that matches `agent` in the list with the identifier `list`. If the memo does not
/// contain the index, calls `find`, which searches the list. `agent` must not be empty.
pub(super) fn matching_line(list: u64, agent: &[u8], find: impl FnOnce() -> usize) -> usize {
    MEMO.with_borrow_mut(|memo| {
        let known = &mut memo[slot_index(agent)];
        if known.list != list || known.agent != agent {
            known.line = find();
            known.list = list;
            known.agent.clear();
            known.agent.extend_from_slice(agent);
        }
        known.line
    })
}

/// Returns the slot of a value, from a hash of its length, eight bytes of its middle and its last eight bytes, which
/// differ most.
fn slot_index(agent: &[u8]) -> usize {
    let word = |at: usize| {
        let bytes = agent.get(at..at + 8).and_then(|bytes| bytes.try_into().ok());
        u64::from_le_bytes(bytes.unwrap_or_default())
    };
    let middle = word(agent.len() / 2);
    let end = word(agent.len().saturating_sub(8));
    let mixed = (middle ^ end.rotate_left(23) ^ agent.len() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 56) as usize % PLACES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_remembered_is_of_that_list_and_that_name() {
        let agents: Vec<Vec<u8>> = (1..2000_u32).map(|n| format!("agent {n} of many").into_bytes()).collect();
        for round in 0..2 {
            for (number, agent) in agents.iter().enumerate() {
                for list in [7, 8] {
                    let answer = number * 10 + list as usize;
                    assert_eq!(matching_line(list, agent, || answer), answer, "round {round}");
                }
            }
        }
        assert_eq!(matching_line(7, b"once", || 3), 3);
        assert_eq!(matching_line(7, b"once", || 4), 3, "a remembered value is not searched again");
    }
}
