//! Execution of work with short-lived memory, such as the parsing of a configuration, so that the memory is returned to
//! the system afterwards.
//!
//! The allocator retains freed memory for the thread that freed it, in pages that also contain live objects. It returns
//! pages only when it allocates others, or when a thread exits. Work with short-lived memory therefore runs on a
//! separate thread.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, Builder};
use std::time::Duration;

/// Stack size of the thread, in bytes: that of a main thread, on which configurations are parsed in other commands.
const STACK_BYTES: usize = 8 << 20;
/// Interval between two releases of free memory. The allocator returns pages that have been free for a tenth of a
/// second, so pages collected by one call are returned by the next.
const RELEASE_INTERVAL: Duration = Duration::from_millis(150);
const RELEASES: usize = 3;

/// Runs `work` on a separate thread, or on the calling thread if none can be created, and waits for it. On a separate
/// thread, its allocations are not mixed with those of the calling thread.
///
/// # Panics
/// Panics if `work` panics.
pub fn run_on_temporary_thread<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    let mut work = Some(work);
    let done = thread::scope(|scope| {
        let work = &mut work;
        let spawned = Builder::new()
            .name("temporary".to_owned())
            .stack_size(STACK_BYTES)
            .spawn_scoped(scope, move || work.take().map(|work| work()));
        spawned.ok().and_then(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)))
    });
    // If no thread can be created, the work runs on this thread.
    done.or_else(|| work.take().map(|work| work())).expect("the work runs exactly once")
}

/// Number of times that the memory-releasing thread still has to release memory; 0 if it is not running.
static RELEASES_LEFT: AtomicUsize = AtomicUsize::new(0);

/// Returns freed memory to the system within half a second, on a separate thread. If that thread is already running,
/// its count of releases is restarted instead: with quick successive reloads, several threads would each have a heap
/// and retain free memory for each other.
pub fn release_memory_soon() {
    if RELEASES_LEFT.swap(RELEASES, Ordering::Relaxed) > 0 {
        return;
    }
    let work = || loop {
        thread::sleep(RELEASE_INTERVAL);
        myriad_base::memory::release_free_memory();
        if RELEASES_LEFT.fetch_sub(1, Ordering::Relaxed) == 1 {
            break;
        }
    };
    if Builder::new().name("release-memory".to_owned()).spawn(work).is_err() {
        // No thread could be started; the memory is returned by a later call.
        RELEASES_LEFT.store(0, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_done_by_another_thread_and_may_borrow() {
        let mut list = vec![1];
        let by = run_on_temporary_thread(|| {
            list.push(2);
            thread::current().id()
        });
        assert_eq!(list, [1, 2]);
        assert_ne!(by, thread::current().id());
    }

    #[test]
    #[should_panic(expected = "the work's own")]
    fn panic_of_the_work_is_the_callers() {
        run_on_temporary_thread(|| panic!("the work's own"));
    }

    /// Returns the number of threads of this process that release memory.
    fn releasing_threads() -> usize {
        let threads = std::fs::read_dir("/proc/self/task").expect("threads");
        let names =
            threads.filter_map(|thread| std::fs::read_to_string(thread.ok()?.path().join("comm")).ok());
        names.filter(|name| name.trim_end() == "release-memory").count()
    }

    #[test]
    fn single_thread_releases_memory_for_all_callers_and_exits() {
        for _ in 0..20 {
            release_memory_soon();
        }
        // Other tests may have such threads that are exiting. The count stays far below the number of calls.
        assert!(releasing_threads() < 10, "{}", releasing_threads());
        while releasing_threads() > 0 {
            thread::sleep(RELEASE_INTERVAL);
        }
    }
}
