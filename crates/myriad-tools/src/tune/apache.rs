//! Settings of Apache's workers.

use crate::tune::facts::{ApacheSetup, Mpm};
use crate::tune::file::{ConfigFile, FileFormat};
use crate::tune::shares::MemoryBudget;

/// Number of threads per Apache process, as in the default configuration of Apache.
const THREADS: u32 = 25;

/// Returns the planned configuration file of Apache.
pub(crate) fn file(apache: ApacheSetup, budget: &MemoryBudget) -> ConfigFile {
    let restart = "apachectl configtest && systemctl restart apache2";
    let mut file =
        ConfigFile::new("/etc/apache2/conf-enabled/zz-myriad.conf", FileFormat::Apache, "Apache", restart);
    file.set("", "ListenBacklog", 1024, "during traffic peaks, connections wait instead of being refused");
    let workers = budget.apache_workers;
    let each = if apache.php {
        "each runs PHP and needs the memory of a PHP worker"
    } else {
        "for files and requests that are passed to PHP"
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
    file.set(section, "ServerLimit", workers, "at least MaxRequestWorkers");
    file.set(section, "MaxRequestWorkers", workers, format!("{each}; more would cause swapping"));
    file.set(section, "StartServers", (workers / 4).max(1), "number of processes at start");
    file.set(section, "MinSpareServers", (workers / 8).max(1), "idle processes for traffic peaks");
    file.set(section, "MaxSpareServers", spare + 1, "further idle processes are stopped to free memory");
    file.set(
        section,
        "MaxConnectionsPerChild",
        1000,
        "then the process is replaced, which frees leaked memory",
    );
}

fn threads(file: &mut ConfigFile, section: &str, workers: u32, each: &str) {
    let processes = workers.div_ceil(THREADS);
    file.set(section, "ThreadsPerChild", THREADS, "as in the default configuration of Apache");
    file.set(section, "ServerLimit", processes, format!("processes of {THREADS} threads"));
    file.set(section, "MaxRequestWorkers", workers, format!("{each}; a multiple of ThreadsPerChild"));
    file.set(section, "StartServers", processes.min(2), "number of processes at start");
    file.set(section, "MinSpareThreads", THREADS.min(workers), "idle threads for traffic peaks");
    file.set(
        section,
        "MaxSpareThreads",
        (THREADS * 3).min(workers).max(THREADS * 2),
        "further idle threads are stopped",
    );
    file.set(section, "MaxConnectionsPerChild", 10_000, "then the process is replaced");
}
