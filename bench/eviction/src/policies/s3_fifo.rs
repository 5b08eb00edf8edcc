//! S3-FIFO as published (Yang et al., SOSP 2023): a small queue with a tenth of the room, two hits to stay, a ghost queue with
//! the length of the main queue. A simple implementation, to compare with the zone's variant.

use std::collections::{HashMap, VecDeque};

use super::Policy;

pub struct S3Fifo {
    room: u64,
    small_used: u64,
    main_used: u64,
    small: VecDeque<u32>,
    main: VecDeque<u32>,
    ghost: VecDeque<(u32, u64)>,
    remembered: HashMap<u32, u64>,
    time: u64,
    /// Hits and bytes of what is stored.
    pages: HashMap<u32, (u8, u32)>,
}

impl S3Fifo {
    pub fn new(room: u64) -> Self {
        Self {
            room,
            small_used: 0,
            main_used: 0,
            small: VecDeque::new(),
            main: VecDeque::new(),
            ghost: VecDeque::new(),
            remembered: HashMap::new(),
            time: 0,
            pages: HashMap::new(),
        }
    }

    fn evict(&mut self) {
        if self.small_used > self.room / 10 || self.main.is_empty() {
            let Some(old) = self.small.pop_front() else { return };
            let (uses, bytes) = self.pages[&old];
            self.small_used -= u64::from(bytes);
            if uses > 1 {
                self.pages.insert(old, (0, bytes));
                self.main_used += u64::from(bytes);
                self.main.push_back(old);
            } else {
                self.pages.remove(&old);
                self.remember(old);
            }
        } else if let Some(old) = self.main.pop_front() {
            let (uses, bytes) = self.pages[&old];
            if uses == 0 {
                self.pages.remove(&old);
                self.main_used -= u64::from(bytes);
            } else {
                self.pages.insert(old, (uses - 1, bytes));
                self.main.push_back(old);
            }
        }
    }

    fn remember(&mut self, page: u32) {
        self.time += 1;
        self.remembered.insert(page, self.time);
        self.ghost.push_back((page, self.time));
        while self.ghost.len() > self.pages.len() * 9 / 10 {
            let Some((page, time)) = self.ghost.pop_front() else { break };
            if self.remembered.get(&page) == Some(&time) {
                self.remembered.remove(&page);
            }
        }
    }
}

impl Policy for S3Fifo {
    fn request(&mut self, page: u32, bytes: u32) -> bool {
        if let Some((uses, _)) = self.pages.get_mut(&page) {
            *uses = (*uses + 1).min(3);
            return true;
        }
        while self.small_used + self.main_used + u64::from(bytes) > self.room && !self.pages.is_empty() {
            self.evict();
        }
        self.pages.insert(page, (0, bytes));
        let (queue, used) = if self.remembered.remove(&page).is_some() {
            (&mut self.main, &mut self.main_used)
        } else {
            (&mut self.small, &mut self.small_used)
        };
        queue.push_back(page);
        *used += u64::from(bytes);
        false
    }
}
