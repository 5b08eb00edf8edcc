//! Workers of Apache.

use crate::tune::facts::{Apache, Mpm};
use crate::tune::file::{ConfigFile, Format};
use crate::tune::shares::Budget;

/// Number of threads per process, as in the default configuration of Apache.
const THREADS: u32 = 25;

/// Returns the configuration file of Apache.
pub(crate) fn file(apache: Apache, budget: &Budget) -> ConfigFile {
    let restart = "apachectl configtest && systemctl restart apache2";
    let mut file =
        ConfigFile::new("/etc/apache2/conf-enabled/zz-myriad.conf", Format::Apache, "Apache", restart);
    file.set("", "ListenBacklog", 1024, "a rush waits a moment and is not refused");
    let workers = budget.apache_workers;
    let each = if apache.php {
        "PHP runs in each, as large as a worker of PHP"
    } else {
        "files and what is passed on to PHP"
    };
    match apache.mpm {
        Mpm::Prefork => prefork(&mut file, workers, each),
        Mpm::Worker => threads(&mut file, "mpm_worker_module", workers, each),
        Mpm::Event => threads(&mut file, "mpm_event_module", workers, each),
    }
    file
}

fn prefork(file: &mut ConfigFile, workers: u32, each: &str) {
    let section = "mpm_prefork_module";
    let spare = (workers / 2).max(1);
    file.set(section, "ServerLimit", workers, "no fewer than the workers below");
    file.set(section, "MaxRequestWorkers", workers, format!("{each}; more would be swapped"));
    file.set(section, "StartServers", (workers / 4).max(1), "from the beginning");
    file.set(section, "MinSpareServers", (workers / 8).max(1), "idle ones for a rush that begins");
    file.set(section, "MaxSpareServers", spare + 1, "more idle ones give their memory back");
    file.set(
        section,
        "MaxConnectionsPerChild",
        1000,
        "then a process ends and a new one comes: what leaks is given back",
    );
}

fn threads(file: &mut ConfigFile, section: &str, workers: u32, each: &str) {
    let processes = workers.div_ceil(THREADS);
    file.set(section, "ThreadsPerChild", THREADS, "as in Apache's own file");
    file.set(section, "ServerLimit", processes, format!("processes of {THREADS} threads"));
    file.set(
        section,
        "MaxRequestWorkers",
        workers,
        format!("{each}; a multiple of the threads of a process"),
    );
    file.set(section, "StartServers", processes.min(2), "from the beginning");
    file.set(section, "MinSpareThreads", THREADS.min(workers), "idle ones for a rush that begins");
    file.set(
        section,
        "MaxSpareThreads",
        (THREADS * 3).min(workers).max(THREADS * 2),
        "more idle ones are ended",
    );
    file.set(section, "MaxConnectionsPerChild", 10_000, "then a process ends and a new one comes");
}
