//! Least recently used.

use std::collections::{HashMap, VecDeque};

use super::Policy;

pub struct Lru {
    room: u64,
    used: u64,
    time: u64,
    last: HashMap<u32, (u64, u32)>,
    queue: VecDeque<(u32, u64)>,
}

impl Lru {
    pub fn new(room: u64) -> Self {
        Self { room, used: 0, time: 0, last: HashMap::new(), queue: VecDeque::new() }
    }
}

impl Policy for Lru {
    fn request(&mut self, page: u32, bytes: u32) -> bool {
        self.time += 1;
        let hit = self.last.insert(page, (self.time, bytes)).is_some();
        if !hit {
            self.used += u64::from(bytes);
        }
        self.queue.push_back((page, self.time));
        while self.used > self.room {
            let Some((old, time)) = self.queue.pop_front() else { break };
            if self.last.get(&old).is_some_and(|(last, _)| *last == time)
                && let Some((_, bytes)) = self.last.remove(&old)
            {
                self.used -= u64::from(bytes);
            }
        }
        hit
    }
}
