//! Settings of MariaDB and MySQL, depending on the version.

use crate::tune::amount::{GIB, MIB, about, down_to, text};
use crate::tune::facts::{DatabaseServer, MachineFacts};
use crate::tune::file::{ConfigFile, FileFormat};
use crate::tune::shares::MemoryBudget;

/// Memory of an active database connection, in bytes: thread, network, sort and join buffers, its part of the caches.
pub(crate) const CONNECTION: u64 = 3 * MIB;
/// Unit of the buffer pool's size, in bytes: the server rounds it up to a multiple.
const CHUNK: u64 = 128 * MIB;
/// Memory of the machine, in bytes, below which the buffer pool and the table caches have their minimum sizes.
const SMALL: u64 = 3 * GIB / 2;
const PAGE_CACHE: u64 = 8 * MIB;

/// Returns the memory of the database server in addition to its buffer pool, in bytes.
pub(crate) fn base(memory: u64, database: &DatabaseServer) -> u64 {
    let own = if database.kind.is_mariadb() {
        96 * MIB
    } else if has_performance_schema(memory) {
        400 * MIB
    } else {
        170 * MIB
    };
    own + 3 * PAGE_CACHE
}

/// Returns whether the plan leaves MySQL's performance schema enabled, which needs some 230 MB: from 4 GB of memory on.
fn has_performance_schema(memory: u64) -> bool {
    memory >= 4 * GIB
}

/// Returns the size of the database's buffer pool, in bytes: on machines below 1.5 GB of memory 64 MB, below 4 GB an
/// eighth of the memory, otherwise a fifth. From 1.5 GB on, it is at most three times the size of the data (if known)
/// or 512 MB, whichever is more, and rounded down to a multiple of [`CHUNK`] times the number of instances, at least
/// one [`CHUNK`].
pub(crate) fn pool(memory: u64, database: &DatabaseServer) -> u64 {
    if memory < SMALL {
        return CHUNK / 2;
    }
    let share = if memory < 4 * GIB { memory / 8 } else { memory / 5 };
    let needed = database.data.map_or(u64::MAX, |data| data.saturating_mul(3).max(512 * MIB));
    let step = CHUNK * u64::from(instances(share.min(needed), database));
    down_to(share.min(needed), step).max(CHUNK)
}

/// Returns the number of instances of a buffer pool of `pool` bytes: one per gigabyte, from 1 to 8; always 1 for
/// MariaDB from 10.5 on, which does not support several.
fn instances(pool: u64, database: &DatabaseServer) -> u32 {
    let has = if database.kind.is_mariadb() { database.version < (10, 5, 0) } else { true };
    if has && pool >= GIB { u32::try_from(pool / GIB).unwrap_or(8).min(8) } else { 1 }
}

/// Returns the maximum size of a temporary table in memory, in bytes.
pub(crate) fn temporary_table(memory: u64) -> u64 {
    if memory < 4 * GIB {
        16 * MIB
    } else if memory < 32 * GIB {
        32 * MIB
    } else {
        64 * MIB
    }
}

/// Returns the maximum number of connections: one per PHP child, and 20 to 29 for cron, backups and administrators.
pub(crate) fn connections(children: u32) -> u32 {
    (children + 20).next_multiple_of(10)
}

/// Returns the planned configuration file of the database server.
pub(crate) fn file(facts: &MachineFacts, database: &DatabaseServer, budget: &MemoryBudget) -> ConfigFile {
    let is_mariadb = database.kind.is_mariadb();
    let (path, group, service) = if is_mariadb {
        ("/etc/mysql/mariadb.conf.d/99-myriad.cnf", "mariadb", "mariadb")
    } else {
        ("/etc/mysql/mysql.conf.d/zz-myriad.cnf", "mysqld", "mysql")
    };
    let mut file =
        ConfigFile::new(path, FileFormat::MyCnf, &database.name(), format!("systemctl restart {service}"));
    buffer_pool(&mut file, group, database, budget);
    redo_log(&mut file, group, database, budget.sizes.pool);
    let children = budget.children;
    file.set(
        group,
        "max_connections",
        budget.sizes.connections,
        format!("one for each of {children} PHP children, plus some for cron, backups and administrators"),
    );
    file.set(
        group,
        "thread_cache_size",
        budget.sizes.connections.min(256),
        "each WordPress page opens a connection, which reuses a cached thread",
    );
    let table = budget.sizes.temporary_table;
    file.set(
        group,
        "tmp_table_size",
        text(table),
        format!("lists of posts are sorted in memory up to {}", about(table)),
    );
    file.set(
        group,
        "max_heap_table_size",
        text(table),
        "the lower of the two values applies, so both are equal",
    );
    file.set(
        group,
        "table_open_cache",
        if facts.memory < SMALL { 1000 } else { 4000 },
        "shops have several hundred tables",
    );
    file.set(group, "table_definition_cache", if facts.memory < SMALL { 800 } else { 2000 }, "as above");
    file.set(
        group,
        "key_buffer_size",
        text(PAGE_CACHE),
        "only for MyISAM, which WordPress has not used since 2013",
    );
    if is_mariadb {
        file.set(group, "aria_pagecache_buffer_size", text(PAGE_CACHE), "only for temporary tables on disk");
    } else if !has_performance_schema(facts.memory) {
        file.set(group, "performance_schema", "OFF", "saves about 230 MB");
    }
    query_cache(&mut file, group, database);
    file
}

fn buffer_pool(file: &mut ConfigFile, group: &str, database: &DatabaseServer, budget: &MemoryBudget) {
    let pool = budget.sizes.pool;
    let known = database
        .data
        .map(|data| format!("; the current size of the data is {}", about(data)))
        .unwrap_or_default();
    file.set(
        group,
        "innodb_buffer_pool_size",
        text(pool),
        format!(
            "tables and indexes in memory, in multiples of the chunk size {}{known}",
            about(CHUNK.min(pool))
        ),
    );
    if instances(pool, database) > 1 {
        file.set(
            group,
            "innodb_buffer_pool_instances",
            instances(pool, database),
            "one gigabyte each, so that threads do not wait for the same lock",
        );
    }
    let needs_direct =
        if database.kind.is_mariadb() { database.version < (10, 6, 0) } else { database.version < (8, 4, 0) };
    if needs_direct {
        file.set(
            group,
            "innodb_flush_method",
            "O_DIRECT",
            "the buffer pool caches the data, so the kernel does not need a second copy",
        );
    }
}

/// Sets the size of the redo log to a quarter of the buffer pool, from 48 MB (MySQL from 8.0.30 on: 96 MB) to 2 GB.
fn redo_log(file: &mut ConfigFile, group: &str, database: &DatabaseServer, pool: u64) {
    let has_capacity = !database.kind.is_mariadb() && database.version >= (8, 0, 30);
    let least = if has_capacity { 96 * MIB } else { 48 * MIB };
    let size = down_to(pool / 4, 16 * MIB).clamp(least, 2 * GIB);
    let why = format!("a quarter of the buffer pool, at least {}: writes are batched", about(least));
    if has_capacity {
        file.set(group, "innodb_redo_log_capacity", text(size), why);
    } else if !database.kind.is_mariadb() || database.version < (10, 5, 0) {
        // The server uses two files of this size.
        file.set(group, "innodb_log_file_size", text(down_to(size / 2, 8 * MIB)), why);
    } else {
        file.set(group, "innodb_log_file_size", text(size), why);
    }
}

/// Disables the query cache, which has one lock for all connections. MySQL 8.0 has none, and does not start if it is
/// configured.
fn query_cache(file: &mut ConfigFile, group: &str, database: &DatabaseServer) {
    if !database.kind.is_mariadb() && database.version >= (8, 0, 0) {
        return;
    }
    file.set(
        group,
        "query_cache_type",
        0,
        "it has one lock for all connections, and each write invalidates it",
    );
    file.set(group, "query_cache_size", 0, "as above");
}
