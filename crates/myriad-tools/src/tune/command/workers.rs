//! Measured memory of php-fpm children.

use std::path::Path;

use crate::tune::{PhpWorkerSize, WorkerSizeSource};

use super::programs::{names, text};

/// Minimum plausible memory of a php-fpm child, in bytes: a child that has not yet processed a request is smaller.
const LEAST: u64 = 32 << 20;

/// Returns the memory to plan for a PHP worker: that of the largest running php-fpm child plus a fifth, at least
/// [`LEAST`]. Returns `None` if no child runs or its memory cannot be read. `proc` is `/proc`, or a folder in tests.
pub(super) fn measured(proc: &Path) -> Option<PhpWorkerSize> {
    let (largest, measured) = largest(proc)?;
    Some(PhpWorkerSize { bytes: (largest / 5 * 6).max(LEAST), source: WorkerSizeSource::Measured(measured) })
}

/// Returns the memory of the largest running php-fpm child in bytes, and the number of children that could be measured;
/// `None` if there is none.
pub fn largest(proc: &Path) -> Option<(u64, u32)> {
    let sizes: Vec<u64> = names(proc)
        .iter()
        .filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()))
        .map(|name| proc.join(name))
        .filter(|process| is_child(&process.join("cmdline")))
        .filter_map(|process| own(&process))
        .collect();
    let largest = sizes.iter().max()?;
    Some((*largest, u32::try_from(sizes.len()).unwrap_or(u32::MAX)))
}

fn is_child(cmdline: &Path) -> bool {
    text(cmdline).is_some_and(|line| line.starts_with("php-fpm: pool "))
}

/// Returns the memory of a process that it shares with no other, including swapped-out memory, in bytes. If that cannot
/// be read, returns its anonymous memory; `None` if neither can.
fn own(process: &Path) -> Option<u64> {
    let kilobytes = |text: &str, names: &[&str]| -> Option<u64> {
        let values = text.lines().filter_map(|line| {
            let (name, value) = line.split_once(':')?;
            names.contains(&name).then(|| value.split_whitespace().next()?.parse::<u64>().ok())?
        });
        values.reduce(|a, b| a + b)
    };
    let private = text(&process.join("smaps_rollup"))
        .and_then(|text| kilobytes(&text, &["Private_Clean", "Private_Dirty", "Swap"]));
    let bytes = private.or_else(|| kilobytes(&text(&process.join("status"))?, &["RssAnon"]))?;
    Some(bytes << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn largest_child_counts_and_masters_do_not() {
        let proc = std::env::temp_dir().join(format!("myriad-workers-{}", std::process::id()));
        for (pid, cmdline, private) in [
            ("10", "php-fpm: master process (x)", 900),
            ("11", "php-fpm: pool www", 50),
            ("12", "php-fpm: pool www", 60),
        ] {
            let folder = proc.join(pid);
            std::fs::create_dir_all(&folder).expect("folder");
            std::fs::write(folder.join("cmdline"), cmdline).expect("file");
            let rollup = format!(
                "55-66 ---p\nRss: 99999 kB\nPrivate_Clean: 1024 kB\nPrivate_Dirty: {} kB\n",
                (private - 1) << 10
            );
            std::fs::write(folder.join("smaps_rollup"), rollup).expect("file");
        }
        assert_eq!(
            measured(&proc),
            Some(PhpWorkerSize { bytes: (60 << 20) / 5 * 6, source: WorkerSizeSource::Measured(2) })
        );
        std::fs::remove_dir_all(&proc).expect("clean");
        assert_eq!(measured(&proc), None);
    }
}
