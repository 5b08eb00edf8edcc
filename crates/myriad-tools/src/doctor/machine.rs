//! Checks of the machine: descriptors, backlog, swap, processes that the kernel has killed.

use crate::doctor::facts::StackFacts;
use crate::doctor::finding::{CheckReport, DoctorFinding};

/// Recommended minimum limit of open files for Myriad. A request needs two: its connection, and a file or a connection
/// to an origin.
const DESCRIPTORS: u64 = 8192;
/// Recommended minimum of the kernel setting `net.core.somaxconn` (queue of connections not yet accepted).
const BACKLOG: u64 = 1024;
/// Remedy in findings about limits that are too low.
const TUNE: &str = "myriad tune shows suitable settings for this machine, myriad tune --apply writes them";

pub(crate) fn check(facts: &StackFacts, list: &mut Vec<DoctorFinding>) {
    descriptors(facts, CheckReport::new("descriptors", list));
    backlog(facts, CheckReport::new("backlog", list));
    swap(facts, CheckReport::new("swap", list));
    killed(facts, CheckReport::new("oom", list));
}

fn descriptors(facts: &StackFacts, report: CheckReport<'_>) {
    match &facts.descriptors {
        Err(why) => {
            report.unseen(
                why,
                "run the doctor on the machine that runs Myriad, as root or as the user that started it",
            );
        }
        Ok(limit) if *limit < DESCRIPTORS => report.warn(
            format!(
                "Myriad can open only {limit} files: traffic peaks of several thousand visitors are refused"
            ),
            format!("set LimitNOFILE=65536 in its systemd unit, or raise ulimit -n; {TUNE}"),
        ),
        Ok(limit) => report.fine(format!("Myriad can open {limit} files")),
    }
}

fn backlog(facts: &StackFacts, report: CheckReport<'_>) {
    match &facts.backlog {
        Err(why) => report.unseen(why, "run sysctl net.core.somaxconn to see the value"),
        Ok(backlog) if *backlog < BACKLOG => report.warn(
            format!(
                "only {backlog} connections can wait to be accepted: during traffic peaks some are refused"
            ),
            format!("run sysctl -w net.core.somaxconn=4096; {TUNE}"),
        ),
        Ok(backlog) => report.fine(format!("{backlog} connections can wait to be accepted")),
    }
}

fn swap(facts: &StackFacts, report: CheckReport<'_>) {
    let mb = |bytes: u64| bytes >> 20;
    match &facts.swap {
        Err(why) => report.unseen(why, "run free -m to see the value"),
        Ok(swap) if swap.used > 64 << 20 => {
            let what = format!(
                "{} MB are swapped out: reading swapped memory is about a hundred times slower",
                mb(swap.used)
            );
            let remedy = format!(
                "reduce the memory of PHP, the database or the caches, so that everything fits; {TUNE}"
            );
            // A small amount of swap may contain memory that was never used since the start.
            if swap.used > 512 << 20 { report.bad(what, remedy) } else { report.warn(what, remedy) }
        }
        Ok(swap) => {
            report.fine(format!("{} MB of {} MB swap space are in use", mb(swap.used), mb(swap.total)));
        }
    }
}

fn killed(facts: &StackFacts, report: CheckReport<'_>) {
    match &facts.killed {
        Err(why) => report.unseen(why, "run dmesg | grep -i 'killed process' as root"),
        Ok(names) if names.is_empty() => report.fine("no process was killed by the OOM killer"),
        Ok(names) => report.bad(
            format!("the OOM killer has killed {}: {}", times(names.len()), counted(names)),
            format!("all programs together need more memory than is available; {TUNE}"),
        ),
    }
}

fn times(count: usize) -> String {
    if count == 1 { "one process".to_owned() } else { format!("{count} processes") }
}

/// Joins the distinct names, each with its number of occurrences if it occurs several times.
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
