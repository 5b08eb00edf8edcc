//! Memory of what is made and thrown away, such as the tree and the model of a configuration: how it goes back to the system.
//!
//! The allocator keeps what a thread has freed for that thread, in pages over which what stays is scattered; and it gives pages back
//! only when it is asked for others, or when a thread ends. So short-lived heaps get threads of their own.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, Builder};
use std::time::Duration;

/// Bytes of stack: those of a main thread, on which configurations are read elsewhere.
const STACK: usize = 8 << 20;
/// The allocator gives back pages that were free for a tenth of a second: what it collects one time, it gives back the next.
const AFTER: Duration = Duration::from_millis(150);
const TIMES: usize = 3;

/// Does work on a thread of its own, and waits for it. What it takes and frees is not mixed with what the calling thread has.
///
/// # Panics
/// As the work does.
pub fn apart<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    let mut work = Some(work);
    let done = thread::scope(|scope| {
        let work = &mut work;
        let spawned = Builder::new()
            .name("apart".to_owned())
            .stack_size(STACK)
            .spawn_scoped(scope, move || work.take().map(|work| work()));
        spawned.ok().and_then(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)))
    });
    // Where no thread can be had, it is done all the same.
    done.or_else(|| work.take().map(|work| work())).expect("work is done once")
}

/// How often the thread that gives back still does; 0 where there is none.
static LEFT: AtomicUsize = AtomicUsize::new(0);

/// Gives back to the system what was freed, within half a second, on a thread of its own. Asked again meanwhile, that thread begins
/// anew: of reloads that follow each other quickly, many threads would each have a heap, and keep for each other what is free.
pub fn give_back_soon() {
    if LEFT.swap(TIMES, Ordering::Relaxed) > 0 {
        return;
    }
    let work = || loop {
        thread::sleep(AFTER);
        myriad_memory::give_back();
        if LEFT.fetch_sub(1, Ordering::Relaxed) == 1 {
            break;
        }
    };
    if Builder::new().name("give-back".to_owned()).spawn(work).is_err() {
        // The memory is given back later.
        LEFT.store(0, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_done_by_another_thread_and_may_borrow() {
        let mut list = vec![1];
        let by = apart(|| {
            list.push(2);
            thread::current().id()
        });
        assert_eq!(list, [1, 2]);
        assert_ne!(by, thread::current().id());
    }

    #[test]
    #[should_panic(expected = "the work's own")]
    fn panic_of_the_work_is_the_callers() {
        apart(|| panic!("the work's own"));
    }

    /// How many threads of this process give back.
    fn giving_back() -> usize {
        let threads = std::fs::read_dir("/proc/self/task").expect("threads");
        let names =
            threads.filter_map(|thread| std::fs::read_to_string(thread.ok()?.path().join("comm")).ok());
        names.filter(|name| name.trim_end() == "give-back").count()
    }

    #[test]
    fn one_thread_gives_back_whoever_asks_and_ends() {
        for _ in 0..20 {
            give_back_soon();
        }
        // The one of this moment, and those that other tests had and that end: not one for each.
        assert!(giving_back() < 10, "{}", giving_back());
        while giving_back() > 0 {
            thread::sleep(AFTER);
        }
    }
}
