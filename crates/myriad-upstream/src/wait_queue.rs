//! FIFO queue of tasks that wait for a resource.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// Queue of requests that wait for the same resource (a free peer or connection). Clones refer to the same queue;
/// workers may share it.
#[derive(Clone, Debug, Default)]
pub struct WaitQueue(Arc<Inner>);

#[derive(Debug, Default)]
pub(crate) struct Inner {
    waiting: Mutex<WaiterList>,
    /// Number of waiters; readable without the lock.
    length: AtomicUsize,
}

#[derive(Debug, Default)]
struct WaiterList {
    /// Ticket number and waker of each waiter, in ascending order.
    all: VecDeque<(u64, Option<Waker>)>,
    next: u64,
}

/// Position of a waiter in a [`WaitQueue`]. Dropping it leaves the queue and, if it was first, wakes the next waiter.
#[derive(Debug)]
pub struct WaitTicket {
    queue: WaitQueue,
    number: u64,
}

impl WaitQueue {
    /// Creates an empty queue.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns whether the queue is empty. If it is not, new requests must not overtake the waiters.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of waiters.
    pub fn len(&self) -> usize {
        self.0.length.load(Relaxed)
    }

    /// Adds a waiter at the end of the queue; returns `None` if `most` waiters already exist.
    pub fn join(&self, most: usize) -> Option<WaitTicket> {
        let mut waiting = self.0.lock();
        if waiting.all.len() >= most {
            return None;
        }
        let number = waiting.next;
        waiting.next += 1;
        waiting.all.push_back((number, None));
        self.0.length.store(waiting.all.len(), Relaxed);
        Some(WaitTicket { queue: self.clone(), number })
    }

    /// Wakes the first waiter, which then tries to get the resource. Must be called whenever the resource may be
    /// available.
    pub fn wake_first(&self) {
        self.0.wake_first();
    }

    pub(crate) fn shared(&self) -> &Arc<Inner> {
        &self.0
    }
}

impl Inner {
    pub(crate) fn wake_first(&self) {
        let waker = self.lock().all.front_mut().and_then(|(_, waker)| waker.take());
        waker.into_iter().for_each(Waker::wake);
    }

    fn lock(&self) -> MutexGuard<'_, WaiterList> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WaitTicket {
    /// Returns ready with the value of `attempt` once this waiter is the first and `attempt` returns `Some`. Otherwise
    /// returns pending and registers the task, which must poll again after each [`WaitQueue::wake_first`].
    pub fn poll<T>(&mut self, cx: &mut Context<'_>, attempt: impl FnOnce() -> Option<T>) -> Poll<T> {
        {
            let mut waiting = self.queue.0.lock();
            let Ok(at) = waiting.all.binary_search_by_key(&self.number, |(number, _)| *number) else {
                return Poll::Pending;
            };
            waiting.all[at].1 = Some(cx.waker().clone());
            if at > 0 {
                return Poll::Pending;
            }
        }
        // No lost wakeup: the waker is registered before the attempt.
        attempt().map_or(Poll::Pending, Poll::Ready)
    }
}

impl Drop for WaitTicket {
    fn drop(&mut self) {
        let next = {
            let mut waiting = self.queue.0.lock();
            let Ok(at) = waiting.all.binary_search_by_key(&self.number, |(number, _)| *number) else {
                return;
            };
            waiting.all.remove(at);
            self.queue.0.length.store(waiting.all.len(), Relaxed);
            // The resource may suffice for several waiters, so the next one tries too.
            if at == 0 { waiting.all.front_mut().and_then(|(_, waker)| waker.take()) } else { None }
        };
        next.into_iter().for_each(Waker::wake);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;
    use std::task::Wake;

    use super::*;

    #[derive(Default)]
    struct Bell(AtomicUsize);

    impl Wake for Bell {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Relaxed);
        }
    }

    struct Waiter {
        turn: WaitTicket,
        bell: Arc<Bell>,
    }

    impl Waiter {
        fn of(line: &WaitQueue) -> Self {
            let mut waiter = Self { turn: line.join(8).expect("room"), bell: Arc::default() };
            assert!(!waiter.gets(false), "nothing is there yet");
            waiter
        }

        fn gets(&mut self, is_there: bool) -> bool {
            let waker = Waker::from(self.bell.clone());
            self.turn.poll(&mut Context::from_waker(&waker), || is_there.then_some(())).is_ready()
        }

        fn rings(&self) -> usize {
            self.bell.0.load(Relaxed)
        }
    }

    #[test]
    fn waiters_are_served_in_order() {
        let line = WaitQueue::new();
        let (mut first, mut second) = (Waiter::of(&line), Waiter::of(&line));
        line.wake_first();
        assert_eq!((first.rings(), second.rings()), (1, 0));
        assert!(!second.gets(true), "not before the first");
        assert!(first.gets(true));
        drop(first);
        assert_eq!(second.rings(), 1, "there may be enough for two");
        assert!(second.gets(true));
        drop(second);
        assert!(line.is_empty());
    }

    #[test]
    fn waiter_that_leaves_passes_its_wakeup_to_next_waiter() {
        let line = WaitQueue::new();
        let (first, second, mut third) = (Waiter::of(&line), Waiter::of(&line), Waiter::of(&line));
        line.wake_first();
        drop(second);
        assert_eq!((line.len(), third.rings()), (2, 0));
        drop(first);
        assert_eq!(third.rings(), 1, "the call that the first did not answer");
        assert!(third.gets(true));
    }

    #[test]
    fn the_line_has_an_end() {
        let line = WaitQueue::new();
        let turns: Vec<_> = (0..2).map(|_| line.join(2).expect("room")).collect();
        assert!(line.join(2).is_none());
        drop(turns);
        assert!(line.join(2).is_some() && line.is_empty());
    }
}
