//! Division of the memory among the programs, which together get at most three quarters of it if that suffices.

use crate::tune::amount::{GIB, MIB, about, down_to, up_to};
use crate::tune::facts::{ApacheSetup, DatabaseKind, DatabaseServer, MachineFacts, Mpm};
use crate::tune::shares::{CHILDREN_PER_CORE, MOST_CHILDREN, MemoryBudget, MemoryShare, MemorySizes};
use crate::tune::{database, opcache};

/// Memory of Myriad in addition to its cached pages, in bytes: the process, small files, connections.
const MYRIAD: u64 = 64 * MIB;
/// Memory of the php-fpm master process, and of Apache without its workers, in bytes.
const MASTER: u64 = 20 * MIB;
/// Memory of an Apache process without PHP, in bytes.
const APACHE_PROCESS: u64 = 8 * MIB;
const APACHE_THREAD: u64 = MIB / 2;

/// Divides the memory of a machine among the programs. Shares that do not depend on the number of PHP children are
/// allocated first; the rest determines that number.
pub(crate) fn budget(facts: &MachineFacts) -> MemoryBudget {
    let limit = facts.memory / 4 * 3;
    let mut sizes = MemorySizes {
        apcu: if facts.php.as_ref().is_some_and(|php| php.apcu) { apcu(facts.memory) } else { 0 },
        object_cache: if facts.object_cache.is_some() { object_cache(facts.memory) } else { 0 },
        ..opcache::sizes(facts)
    };
    let mut shares = vec![myriad(facts.memory)];
    if let Some(database) = &facts.database {
        sizes.pool = database::pool(facts.memory, database);
        sizes.temporary_table = database::temporary_table(facts.memory);
        shares.push(database_share(facts.memory, database, &sizes));
    }
    if facts.object_cache.is_some() {
        shares.push(MemoryShare {
            name: "object cache".into(),
            bytes: sizes.object_cache / 4 * 5,
            how: format!(
                "maxmemory {}, plus a quarter for fragmentation and snapshots",
                about(sizes.object_cache)
            ),
        });
    }
    if facts.php.is_some() || facts.apache.is_some_and(|apache| apache.php) {
        shares.push(MemoryShare {
            name: "PHP, shared".into(),
            bytes: sizes.opcache + sizes.jit + sizes.apcu + MASTER,
            how: format!(
                "OPcache {}, JIT {}, APCu {}, {} for the master",
                about(sizes.opcache),
                about(sizes.jit),
                about(sizes.apcu),
                about(MASTER)
            ),
        });
    }
    let taken: u64 = shares.iter().map(|share| share.bytes).sum();
    let rest = limit.saturating_sub(taken);
    let apache_workers = facts.apache.map_or(0, |apache| apache_workers(facts, apache, rest, &sizes));
    if let Some(apache) = facts.apache {
        shares.push(apache_share(facts, apache, apache_workers, &sizes));
    }
    let rest = limit.saturating_sub(shares.iter().map(|share| share.bytes).sum());
    let children = if facts.php.is_some() { children(facts, rest, &sizes) } else { 0 };
    if children > 0 {
        shares.push(MemoryShare {
            name: "PHP, children".into(),
            bytes: u64::from(children) * child(facts, &sizes),
            how: format!(
                "{children} of {} each{}",
                about(facts.worker.bytes),
                if sizes.pool > 0 {
                    format!(", plus {} for a database connection", about(connection(&sizes)))
                } else {
                    String::new()
                }
            ),
        });
    }
    let of_php = children + if facts.apache.is_some_and(|apache| apache.php) { apache_workers } else { 0 };
    sizes.connections = database::connections(of_php);
    MemoryBudget { limit, shares, children, apache_workers, sizes }
}

fn myriad(memory: u64) -> MemoryShare {
    MemoryShare {
        name: "Myriad".into(),
        bytes: memory / 8 + MYRIAD,
        how: format!("an eighth of the memory for pages, {} for the process and small files", about(MYRIAD)),
    }
}

fn database_share(memory: u64, database: &DatabaseServer, sizes: &MemorySizes) -> MemoryShare {
    let base = database::base(memory, database);
    // Each buffer pool needs a twelfth of its size in addition.
    MemoryShare {
        name: database.name(),
        bytes: base + sizes.pool / 12 * 13,
        how: format!("buffer pool {}, {} for the server", about(sizes.pool), about(base + sizes.pool / 12)),
    }
}

/// Returns the memory of a PHP child process, including its database connection, in bytes.
fn child(facts: &MachineFacts, sizes: &MemorySizes) -> u64 {
    facts.worker.bytes + connection(sizes)
}

/// Returns the memory of an active database connection, in bytes; assumes that one in four connections uses a temporary
/// table. Returns 0 if the machine has no database.
fn connection(sizes: &MemorySizes) -> u64 {
    if sizes.pool == 0 { 0 } else { database::CONNECTION + sizes.temporary_table / 4 }
}

fn children(facts: &MachineFacts, rest: u64, sizes: &MemorySizes) -> u32 {
    let bear = u32::try_from(rest / child(facts, sizes).max(1)).unwrap_or(u32::MAX);
    bear.clamp(1, (facts.cores.max(1) * CHILDREN_PER_CORE).min(MOST_CHILDREN))
}

/// Returns the number of concurrent requests in Apache. `rest` is the memory in bytes that is left for PHP and Apache.
/// With `mod_php`, Apache gets a quarter of it, or all if there is no php-fpm; without `mod_php`, a sixteenth, but
/// memory for 4 to 256 processes or 25 to 400 threads.
fn apache_workers(facts: &MachineFacts, apache: ApacheSetup, rest: u64, sizes: &MemorySizes) -> u32 {
    if apache.php {
        let rest = if facts.php.is_some() { rest / 4 } else { rest };
        return children(facts, rest.saturating_sub(MASTER), sizes).max(1);
    }
    let each = if apache.mpm == Mpm::Prefork { APACHE_PROCESS } else { APACHE_THREAD };
    let bear = u32::try_from(rest / 16 / each).unwrap_or(u32::MAX);
    match apache.mpm {
        Mpm::Prefork => bear.clamp(4, 256),
        // Multiples of 25, the number of threads of a process.
        Mpm::Worker | Mpm::Event => (bear / 25 * 25).clamp(25, 400),
    }
}

fn apache_share(facts: &MachineFacts, apache: ApacheSetup, workers: u32, sizes: &MemorySizes) -> MemoryShare {
    let (each, what) = match (apache.php, apache.mpm) {
        (true, _) => (child(facts, sizes), "workers with embedded PHP"),
        (false, Mpm::Prefork) => (APACHE_PROCESS, "processes"),
        (false, _) => (APACHE_THREAD, "threads"),
    };
    MemoryShare {
        name: "Apache".into(),
        bytes: MASTER + u64::from(workers) * each,
        how: format!("{workers} {what}"),
    }
}

fn apcu(memory: u64) -> u64 {
    down_to(memory / 48, 8 * MIB).clamp(16 * MIB, 256 * MIB)
}

fn object_cache(memory: u64) -> u64 {
    up_to(memory / 32, 8 * MIB).clamp(32 * MIB, 2 * GIB)
}

impl DatabaseKind {
    pub(crate) fn is_mariadb(self) -> bool {
        self == Self::MariaDb
    }
}
