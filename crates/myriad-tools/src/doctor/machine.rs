//! Checks of the machine: descriptors, backlog, swap, processes that the kernel has killed.

use crate::doctor::facts::Facts;
use crate::doctor::finding::{Finding, Report};

/// Minimum number of descriptors of Myriad: a request uses one for the connection and one for a file or an origin
/// connection.
const DESCRIPTORS: u64 = 8192;
/// Minimum backlog.
const BACKLOG: u64 = 1024;
/// Remedy of `myriad tune` for limits.
const TUNE: &str = "myriad tune shows the settings that fit this machine, myriad tune --apply writes them";

pub(crate) fn check(facts: &Facts, list: &mut Vec<Finding>) {
    descriptors(facts, Report::new("descriptors", list));
    backlog(facts, Report::new("backlog", list));
    swap(facts, Report::new("swap", list));
    killed(facts, Report::new("oom", list));
}

fn descriptors(facts: &Facts, report: Report<'_>) {
    match &facts.descriptors {
        Err(why) => {
            report.unseen(why, "run the doctor on the machine of Myriad, as root or as who started it");
        }
        Ok(limit) if *limit < DESCRIPTORS => report.warn(
            format!("Myriad may have {limit} files open: a rush of some thousand visitors is refused"),
            format!("LimitNOFILE=65536 in its unit, or ulimit -n; {TUNE}"),
        ),
        Ok(limit) => report.fine(format!("Myriad may have {limit} files open")),
    }
}

fn backlog(facts: &Facts, report: Report<'_>) {
    match &facts.backlog {
        Err(why) => report.unseen(why, "sysctl net.core.somaxconn shows it"),
        Ok(backlog) if *backlog < BACKLOG => report.warn(
            format!("{backlog} connections may wait to be accepted: in a rush some are refused"),
            format!("sysctl -w net.core.somaxconn=4096; {TUNE}"),
        ),
        Ok(backlog) => report.fine(format!("{backlog} connections may wait to be accepted")),
    }
}

fn swap(facts: &Facts, report: Report<'_>) {
    let mb = |bytes: u64| bytes >> 20;
    match &facts.swap {
        Err(why) => report.unseen(why, "free -m shows it"),
        Ok(swap) if swap.used > 64 << 20 => {
            let what = format!(
                "{} MB are swapped: whatever is read back from there takes a hundred times as long",
                mb(swap.used)
            );
            let remedy = format!("give PHP, the database or the caches less, so that all fit; {TUNE}");
            // A small amount of swap contains pages that were unused since the start.
            if swap.used > 512 << 20 { report.bad(what, remedy) } else { report.warn(what, remedy) }
        }
        Ok(swap) => report.fine(format!("{} MB of {} MB swap are used", mb(swap.used), mb(swap.total))),
    }
}

fn killed(facts: &Facts, report: Report<'_>) {
    match &facts.killed {
        Err(why) => report.unseen(why, "as root: dmesg | grep -i 'killed process'"),
        Ok(names) if names.is_empty() => report.fine("the kernel has ended nobody for want of memory"),
        Ok(names) => report.bad(
            format!("the kernel has ended {} for want of memory: {}", times(names.len()), counted(names)),
            format!("the programs together take more than there is; {TUNE}"),
        ),
    }
}

fn times(count: usize) -> String {
    if count == 1 { "one process".to_owned() } else { format!("{count} processes") }
}

/// Lists the names, each once with its count.
fn counted(names: &[String]) -> String {
    let mut seen: Vec<(&str, usize)> = Vec::new();
    for name in names {
        match seen.iter_mut().find(|(known, _)| known == name) {
            Some((_, count)) => *count += 1,
            None => seen.push((name, 1)),
        }
    }
    let words = seen
        .iter()
        .map(|(name, count)| if *count > 1 { format!("{name} ({count} times)") } else { (*name).to_owned() });
    words.collect::<Vec<_>>().join(", ")
}
