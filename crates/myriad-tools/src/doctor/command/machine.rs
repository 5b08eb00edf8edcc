//! Facts about the machine: memory, swap, limits, processes that the kernel has killed.

use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::doctor::{FpmChildren, Observation, SwapUsage};
use rustix::fs::OFlags;

use crate::tune::command::largest_worker;
use myriad_cli::pidfile::reason;

/// Maximum number of records that are read from the kernel log.
const RECORDS: usize = 200_000;
const RECORD: usize = 8192;
/// Maximum number of processes killed by the kernel that are counted.
const NAMES: usize = 1000;

/// Returns a value of `/proc/meminfo`, in bytes.
fn meminfo(name: &str) -> Observation<u64> {
    let text =
        fs::read_to_string("/proc/meminfo").map_err(|error| format!("/proc/meminfo: {}", reason(&error)))?;
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kilobytes.map(|kilobytes| kilobytes << 10).ok_or_else(|| format!("/proc/meminfo does not contain {name}"))
}

/// Returns the total memory of the machine, in bytes.
pub(super) fn memory() -> Observation<u64> {
    meminfo("MemTotal")
}

/// Returns the total and the used size of the swap of the machine.
pub(super) fn swap() -> Observation<SwapUsage> {
    let (total, free) = (meminfo("SwapTotal")?, meminfo("SwapFree")?);
    Ok(SwapUsage { total, used: total.saturating_sub(free) })
}

/// Returns `net.core.somaxconn`.
pub(super) fn backlog() -> Observation<u64> {
    let path = "/proc/sys/net/core/somaxconn";
    let text = fs::read_to_string(path).map_err(|error| format!("{path}: {}", reason(&error)))?;
    text.trim().parse().map_err(|_| format!("{path} does not contain a number"))
}

/// Returns the soft limit of open files ([`u64::MAX`] if unlimited) of Myriad's worker process: the first child of the
/// process `supervisor`, or `supervisor` itself if no child is found. Returns an error if `supervisor` is `None`.
pub(super) fn descriptors(supervisor: Option<u32>) -> Observation<u64> {
    let supervisor = supervisor.ok_or("the Myriad of the site is unknown: specify it with -p PREFIX")?;
    let children =
        fs::read_to_string(format!("/proc/{supervisor}/task/{supervisor}/children")).unwrap_or_default();
    let process = children.split_whitespace().next().map_or_else(|| supervisor.to_string(), str::to_owned);
    let path = format!("/proc/{process}/limits");
    let text = fs::read_to_string(&path).map_err(|error| format!("{path}: {}", reason(&error)))?;
    let line = text.lines().find_map(|line| line.strip_prefix("Max open files"));
    let soft = line.and_then(|line| line.split_whitespace().next());
    match soft {
        Some("unlimited") => Ok(u64::MAX),
        Some(soft) => soft.parse().map_err(|_| format!("{path} has an unknown format")),
        None => Err(format!("{path} does not contain the limit of open files")),
    }
}

/// Returns the number of running php-fpm children whose memory could be read, and the unshared memory of the largest of
/// them, in bytes. Returns an error if there is no such child.
pub(super) fn workers() -> Observation<FpmChildren> {
    let (largest, count) = largest_worker(Path::new("/proc"))
        .ok_or("no php-fpm child is running, or its memory usage is not readable")?;
    Ok(FpmChildren { largest, count })
}

/// Returns the names of the processes that the kernel has killed because memory was exhausted, one per kill, the oldest
/// first, at most [`NAMES`]. They are read from the kernel log, which no longer contains its oldest records if it was
/// full. Returns an error if the log is not readable.
pub(super) fn killed() -> Observation<Vec<String>> {
    let path = "/dev/kmsg";
    // Non-blocking: at the end of the log, the kernel would block the reader until the next record.
    let opened = File::options().read(true).custom_flags(OFlags::NONBLOCK.bits().cast_signed()).open(path);
    let mut log = opened.map_err(|error| format!("kernel log ({path}): {}", reason(&error)))?;
    let (mut names, mut record) = (Vec::new(), [0; RECORD]);
    for _ in 0..RECORDS {
        match log.read(&mut record) {
            Ok(0) => break,
            Ok(length) => names.extend(killed_process_name(&String::from_utf8_lossy(&record[..length]))),
            Err(error) if error.kind() == ErrorKind::WouldBlock => break,
            // The record was overwritten while it was read.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {}
            Err(error) => return Err(format!("kernel log ({path}): {}", reason(&error))),
        }
        if names.len() >= NAMES {
            break;
        }
    }
    Ok(names)
}

/// Returns the process name in a kernel log line such as `Out of memory: Killed process 812 (php-fpm8.2) total-vm:...`;
/// `None` for other lines.
fn killed_process_name(record: &str) -> Option<String> {
    let (_, rest) = record.split_once("Killed process ")?;
    let name = rest.split_once('(')?.1.split_once(')')?.0;
    Some(name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_from_records_of_the_kernel() {
        let record = "3,1234,99999,-;Out of memory: Killed process 812 (php-fpm8.2) total-vm:1kB, UID:33\n SUBSYSTEM=x\n";
        assert_eq!(killed_process_name(record).as_deref(), Some("php-fpm8.2"));
        for other in ["", "6,1,1,-;eth0: link up", "Killed process", "Killed process 1 (x"] {
            assert_eq!(killed_process_name(other), None, "{other}");
        }
    }
}
