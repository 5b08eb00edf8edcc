//! The clocks of this process.
//!
//! | clock | for | jumps when the system clock is set |
//! |---|---|---|
//! | process clock: [`now_ms`], [`now_us`] | ages, lifetimes, limits, durations | no |
//! | system clock: [`wall_ms`], [`to_wall_ms`] | dates in messages, logs and certificates | yes |
//!
//! The process clock starts at the system time and ignores later changes of the system clock, so that ages and
//! lifetimes of cached responses do not jump. Convert its times with [`to_wall_ms`] before comparing them with dates of
//! other machines.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::time::{ClockId, clock_gettime};

/// Minimum change of the difference between system clock and process clock that is recorded, in milliseconds. Smaller
/// changes result from reading the clocks one after the other.
const STEP_MS: i64 = 10;

/// Value of the process clock at the boot of the machine, in microseconds.
static BASE_US: LazyLock<u64> = LazyLock::new(|| {
    let (system_us, since_boot_us) = wall_and_boot_us();
    system_us.wrapping_sub(since_boot_us)
});

/// Hash of the kernel's boot identifier, the same in all processes since a boot. A random number if the identifier
/// cannot be read, so that no other process has this value.
static BOOT: LazyLock<u64> = LazyLock::new(|| {
    std::fs::read("/proc/sys/kernel/random/boot_id")
        .map_or_else(|_| RandomState::new().build_hasher().finish(), |id| xxhash_rust::xxh3::xxh3_64(&id))
});

/// Milliseconds by which the system clock is ahead of the process clock (negative if it is behind), as of the last call
/// of [`synchronize`]; within `STEP_MS` of the exact value.
static AHEAD_MS: AtomicI64 = AtomicI64::new(0);

/// Returns the time of the process clock in milliseconds since the Unix epoch.
pub fn now_ms() -> u64 {
    now_us() / 1000
}

/// Returns the time of the process clock in microseconds since the Unix epoch.
pub fn now_us() -> u64 {
    BASE_US.wrapping_add(since_boot_us())
}

/// Returns the time of the system clock in milliseconds since the Unix epoch.
pub fn wall_ms() -> u64 {
    system_us() / 1000
}

/// Converts a time of the process clock in milliseconds to the system clock. A step of the system clock is taken into
/// account after about a second (see [`synchronize`]).
pub fn to_wall_ms(ms: u64) -> u64 {
    ms.wrapping_add_signed(AHEAD_MS.load(Relaxed))
}

/// Same as [`to_wall_ms`], in microseconds.
pub fn to_wall_us(us: u64) -> u64 {
    us.wrapping_add_signed(AHEAD_MS.load(Relaxed) * 1000)
}

/// Calls [`synchronize`] and returns the milliseconds by which the system clock is ahead of the process clock; negative
/// if it is behind.
pub fn ahead_ms() -> i64 {
    synchronize();
    AHEAD_MS.load(Relaxed)
}

/// Records by how much the system clock is ahead of the process clock. Each thread that serves requests calls this once
/// a second.
pub fn synchronize() {
    let (system_us, since_boot_us) = wall_and_boot_us();
    let ahead_ms = system_us.wrapping_sub(BASE_US.wrapping_add(since_boot_us)).cast_signed() / 1000;
    if (ahead_ms - AHEAD_MS.load(Relaxed)).abs() >= STEP_MS {
        AHEAD_MS.store(ahead_ms, Relaxed);
    }
}

/// Returns a number that identifies this boot of the machine. If two processes return the same number, the values of
/// their process clocks differ by the difference of their [`boot_at_ms`].
pub fn boot() -> u64 {
    *BOOT
}

/// Returns the value of the process clock at the boot of the machine, in milliseconds.
pub fn boot_at_ms() -> i64 {
    BASE_US.cast_signed() / 1000
}

/// Returns the milliseconds since the machine booted, including suspended time.
pub fn monotonic_ms() -> u64 {
    since_boot_us() / 1000
}

/// Returns the system time and the time since boot in microseconds, read within 1 ms of each other unless the thread is
/// interrupted in between in each of ten attempts.
fn wall_and_boot_us() -> (u64, u64) {
    let mut both = (0, 0);
    for _ in 0..10 {
        let before_us = since_boot_us();
        both = (system_us(), before_us);
        if since_boot_us().wrapping_sub(before_us) < 1000 {
            break;
        }
    }
    both
}

fn since_boot_us() -> u64 {
    let time = clock_gettime(ClockId::Boottime);
    (time.tv_sec as u64).wrapping_mul(1_000_000).wrapping_add(time.tv_nsec as u64 / 1000)
}

fn system_us() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| {
        elapsed.as_secs().wrapping_mul(1_000_000).wrapping_add(u64::from(elapsed.subsec_micros()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_agree_where_the_system_clock_was_not_set() {
        let (before, now, after) = (wall_ms(), now_ms(), wall_ms());
        assert!(now + 10 >= before && now <= after + 10, "{before} {now} {after}");
        assert_eq!((ahead_ms(), to_wall_ms(now)), (0, now));
    }

    #[test]
    fn process_clock_never_goes_back() {
        let times: Vec<u64> = (0..1000).map(|_| now_us()).collect();
        assert!(times.is_sorted());
    }
}
