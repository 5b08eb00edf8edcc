//! SIEVE (Zhang et al., NSDI 2024): one queue, one bit per page, and a hand. The queue is a
//! doubly linked list in a vector.

use std::collections::HashMap;

use super::Policy;

struct Node {
    page: u32,
    bytes: u32,
    visited: bool,
    newer: usize,
    older: usize,
}

const NIL: usize = usize::MAX;

pub struct Sieve {
    room: u64,
    used: u64,
    at: HashMap<u32, usize>,
    nodes: Vec<Node>,
    free: Vec<usize>,
    head: usize,
    tail: usize,
    hand: usize,
}

impl Sieve {
    pub fn new(room: u64) -> Self {
        Self {
            room,
            used: 0,
            at: HashMap::new(),
            nodes: Vec::new(),
            free: Vec::new(),
            head: NIL,
            tail: NIL,
            hand: NIL,
        }
    }

    fn evict(&mut self) {
        loop {
            if self.hand == NIL {
                self.hand = self.tail;
            }
            let index = self.hand;
            if index == NIL {
                return;
            }
            let (newer, older) = (self.nodes[index].newer, self.nodes[index].older);
            self.hand = newer;
            if std::mem::take(&mut self.nodes[index].visited) {
                continue;
            }
            if newer == NIL {
                self.head = older
            } else {
                self.nodes[newer].older = older
            }
            if older == NIL {
                self.tail = newer
            } else {
                self.nodes[older].newer = newer
            }
            self.used -= u64::from(self.nodes[index].bytes);
            self.at.remove(&self.nodes[index].page);
            self.free.push(index);
            return;
        }
    }
}

impl Policy for Sieve {
    fn request(&mut self, page: u32, bytes: u32) -> bool {
        if let Some(index) = self.at.get(&page) {
            self.nodes[*index].visited = true;
            return true;
        }
        while self.used + u64::from(bytes) > self.room && self.tail != NIL {
            self.evict();
        }
        let node = Node { page, bytes, visited: false, newer: NIL, older: self.head };
        let index = match self.free.pop() {
            Some(index) => {
                self.nodes[index] = node;
                index
            }
            None => {
                self.nodes.push(node);
                self.nodes.len() - 1
            }
        };
        if self.head == NIL {
            self.tail = index
        } else {
            self.nodes[self.head].newer = index
        }
        self.head = index;
        self.used += u64::from(bytes);
        self.at.insert(page, index);
        false
    }
}
