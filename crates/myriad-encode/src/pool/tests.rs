use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

use super::*;

/// Time limit for slow machines; reached only if the pool has a bug.
const PATIENCE: Duration = Duration::from_mins(1);

fn unlimited(threads: usize, queue: usize) -> PoolOptions {
    PoolOptions { threads, queue, budget: 64.0, ..PoolOptions::default() }
}

/// Returns a job that reports its start and waits for a message, the receiver of the report, and the sender of the
/// message.
fn gate() -> (impl FnOnce() + Send + 'static, Receiver<()>, Sender<()>) {
    let (began, has_begun) = channel();
    let (end, may_end) = channel();
    let job = move || {
        began.send(()).unwrap();
        // An error means that the test has ended.
        let _ = may_end.recv();
    };
    (job, has_begun, end)
}

#[test]
fn a_key_that_waits_or_runs_is_not_taken_again() {
    let pool = CompressionPool::start(&unlimited(1, 10)).unwrap();
    let (job, has_begun, end) = gate();
    assert_eq!(pool.submit(1, job), SubmitResult::Queued);
    has_begun.recv_timeout(PATIENCE).unwrap();
    let (ran, has_run) = channel();
    assert_eq!(pool.submit(2, move || ran.send(()).unwrap()), SubmitResult::Queued);
    assert_eq!(pool.submit(1, || panic!("runs already")), SubmitResult::Duplicate);
    assert_eq!(pool.submit(2, || panic!("waits already")), SubmitResult::Duplicate);
    let counters = pool.counters();
    assert_eq!((counters.waiting, counters.running, counters.duplicates), (1, 1, 2));
    end.send(()).unwrap();
    has_run.recv_timeout(PATIENCE).unwrap();
    // A key is accepted again after its job is finished and the thread has removed the key.
    let (ran, has_run) = channel();
    loop {
        let ran = ran.clone();
        match pool.submit(1, move || ran.send(()).unwrap()) {
            SubmitResult::Duplicate => std::thread::yield_now(),
            other => break assert_eq!(other, SubmitResult::Queued),
        }
    }
    has_run.recv_timeout(PATIENCE).unwrap();
}

#[test]
fn a_full_queue_drops_and_counts_and_never_blocks() {
    let pool = CompressionPool::start(&unlimited(1, 3)).unwrap();
    let (job, has_begun, end) = gate();
    assert_eq!(pool.submit(0, job), SubmitResult::Queued);
    has_begun.recv_timeout(PATIENCE).unwrap();
    for key in 1..=3 {
        assert_eq!(pool.submit(key, || ()), SubmitResult::Queued);
    }
    for key in 4..=8 {
        assert_eq!(pool.submit(key, || ()), SubmitResult::Full);
    }
    let counters = pool.counters();
    assert_eq!((counters.waiting, counters.dropped), (3, 5));
    drop(end);
}

#[test]
fn stop_drops_what_waits_ends_what_runs_and_takes_no_more() {
    let pool = Arc::new(CompressionPool::start(&unlimited(1, 10)).unwrap());
    let (job, has_begun, end) = gate();
    pool.submit(0, job);
    has_begun.recv_timeout(PATIENCE).unwrap();
    let held = Arc::new(());
    let in_job = Arc::clone(&held);
    pool.submit(1, move || {
        drop(in_job);
        panic!("must not run");
    });
    let stopper = std::thread::spawn({
        let pool = Arc::clone(&pool);
        move || pool.stop()
    });
    while pool.submit(2, || ()) != SubmitResult::Stopped {
        std::thread::yield_now();
    }
    assert!(!stopper.is_finished(), "a job still runs");
    end.send(()).unwrap();
    stopper.join().unwrap();
    assert_eq!(Arc::strong_count(&held), 1, "the job that waited is dropped");
    let counters = pool.counters();
    assert_eq!((counters.waiting, counters.running, counters.panicked), (0, 0, 0));
    assert_eq!(counters.done, 1, "the gate alone");
}

#[test]
fn a_panic_costs_one_job_not_the_thread() {
    let pool = CompressionPool::start(&unlimited(1, 10)).unwrap();
    pool.submit(1, || panic!("a job's own defect"));
    let (ran, has_run) = channel();
    pool.submit(2, move || ran.send(()).unwrap());
    has_run.recv_timeout(PATIENCE).unwrap();
    pool.stop();
    let counters = pool.counters();
    assert_eq!((counters.panicked, counters.done), (1, 1));
}

#[test]
fn every_job_runs_once_on_several_threads() {
    for seed in 0..10 {
        let mut random = fastrand::Rng::with_seed(seed);
        let (threads, jobs) = (random.usize(1..5), random.u64(1..200));
        let pool = CompressionPool::start(&unlimited(threads, 200)).unwrap();
        let count = Arc::new(AtomicUsize::new(0));
        let (ran, has_run) = channel();
        for key in 0..jobs {
            let (count, ran) = (Arc::clone(&count), ran.clone());
            let job = move || {
                count.fetch_add(1, Ordering::Relaxed);
                ran.send(()).unwrap();
            };
            assert_eq!(pool.submit(key, job), SubmitResult::Queued);
        }
        for _ in 0..jobs {
            has_run.recv_timeout(PATIENCE).unwrap();
        }
        pool.stop();
        assert_eq!(count.load(Ordering::Relaxed) as u64, jobs, "seed {seed}");
        assert_eq!(pool.counters().done, jobs, "seed {seed}");
    }
}

#[test]
fn the_budget_holds_a_busy_pool_back() {
    let budget = 0.25;
    let options = PoolOptions { budget, burst: Duration::ZERO, queue: 100, ..PoolOptions::default() };
    let pool = CompressionPool::start(&options).unwrap();
    let (ran, has_run) = channel();
    let start = Instant::now();
    for key in 0..20 {
        let ran = ran.clone();
        pool.submit(key, move || {
            let data = vec![key as u8; 400_000];
            std::hint::black_box(
                crate::compress(crate::Coding::Gzip, crate::CompressionLevel::Fast, &data).unwrap(),
            );
            ran.send(()).unwrap();
        });
    }
    for _ in 0..20 {
        has_run.recv_timeout(PATIENCE).unwrap();
    }
    let elapsed = start.elapsed();
    pool.stop();
    // The last job may not be paid for yet, so at least 80 % of the CPU time is.
    let paid = pool.counters().cpu.as_secs_f64() * 0.8;
    assert!(paid > 0.0);
    assert!(elapsed.as_secs_f64() >= paid / budget, "{paid} s of CPU within {elapsed:?}");
}

#[test]
fn stop_does_not_wait_for_the_budget() {
    let options = PoolOptions { budget: 0.001, burst: Duration::ZERO, ..PoolOptions::default() };
    let pool = CompressionPool::start(&options).unwrap();
    let (ran, has_run) = channel();
    pool.submit(1, move || {
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_millis(50) {
            std::hint::spin_loop();
        }
        ran.send(()).unwrap();
    });
    has_run.recv_timeout(PATIENCE).unwrap();
    pool.submit(2, || panic!("fifty seconds too early"));
    let start = Instant::now();
    pool.stop();
    assert!(start.elapsed() < Duration::from_secs(20));
    assert_eq!(pool.counters().panicked, 0);
}

#[test]
fn pool_that_rests_drops_what_waits_and_what_comes_until_it_goes_on() {
    let pool = CompressionPool::start(&unlimited(1, 10)).unwrap();
    let (job, has_begun, end) = gate();
    assert_eq!(pool.submit(1, job), SubmitResult::Queued);
    has_begun.recv_timeout(PATIENCE).unwrap();
    assert_eq!(pool.submit(2, || panic!("dropped")), SubmitResult::Queued);
    pool.set_paused(true);
    assert_eq!(pool.counters().waiting, 0);
    assert_eq!(pool.submit(3, || panic!("not taken")), SubmitResult::Paused);
    end.send(()).unwrap();
    pool.set_paused(false);
    let (ran, has_run) = channel();
    assert_eq!(pool.submit(3, move || ran.send(()).unwrap()), SubmitResult::Queued);
    has_run.recv_timeout(PATIENCE).unwrap();
}
