//! Facts of a machine.

use crate::tune::amount::MIB;

/// Facts from which a plan is derived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineFacts {
    /// Memory of the machine or of its control group, in bytes.
    pub memory: u64,
    /// Number of processors.
    pub cores: u32,
    /// Value of `client_max_body_size` of Myriad, in bytes: larger uploads do not reach PHP.
    pub body: u64,
    /// PHP version of php-fpm, if it is installed.
    pub php: Option<InstalledPhp>,
    /// Size of a PHP worker.
    pub worker: PhpWorkerSize,
    /// Number of PHP files of the site, if they were counted.
    pub site_files: Option<u32>,
    /// Database, if it runs on this machine.
    pub database: Option<DatabaseServer>,
    /// Redis or Valkey, if it is installed.
    pub object_cache: Option<ObjectCacheServer>,
    /// Apache, if it is installed.
    pub apache: Option<ApacheSetup>,
    /// Kernel settings that are never lowered, by their names in sysctl.
    pub kernel: Vec<(String, u64)>,
}

/// Installed PHP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstalledPhp {
    /// Major and minor version.
    pub version: (u32, u32),
    /// Names of php-fpm pools.
    pub pools: Vec<String>,
    /// Names of the pools that already have a `pm.status_path`.
    pub with_status: Vec<String>,
    /// True if APCu is installed.
    pub apcu: bool,
}

impl InstalledPhp {
    /// Returns the version in the form of folder names: `8.2`.
    pub fn name(&self) -> String {
        format!("{}.{}", self.version.0, self.version.1)
    }
}

/// Size of a PHP worker: its unshared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PhpWorkerSize {
    /// Size in bytes.
    pub bytes: u64,
    /// Number of measured workers; 0 if the size was assumed.
    pub measured: u32,
}

impl PhpWorkerSize {
    /// Size that is assumed if no worker runs: WordPress with a shop and thirty plugins takes 50 to 70 MB.
    pub const ASSUMED: Self = Self { bytes: 80 * MIB, measured: 0 };
}

/// Database server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatabaseServer {
    /// Family of the server.
    pub kind: DatabaseKind,
    /// Version: `(10, 11, 6)`.
    pub version: (u32, u32, u32),
    /// Size of its data folder in bytes, if known.
    pub data: Option<u64>,
}

/// Families of databases, which differ in their settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DatabaseKind {
    /// MariaDB.
    MariaDb,
    /// MySQL and Percona Server.
    MySql,
}

impl DatabaseServer {
    /// Parses `mariadb-10.11.6`, `mysql-8.0`, and the output of `mariadbd --version`. Returns `None` if the text
    /// contains neither.
    pub fn parse(text: &str) -> Option<Self> {
        let lower = text.to_ascii_lowercase();
        let kind = if lower.contains("mariadb") {
            DatabaseKind::MariaDb
        } else if lower.contains("mysql") || lower.contains("percona") {
            DatabaseKind::MySql
        } else {
            return None;
        };
        // The first word that is a version: `Ver 10.11.6-MariaDB`, `1:10.11.6-0+deb12u1`.
        let words = lower.split(|c: char| !c.is_ascii_digit() && c != '.');
        let version = words.filter(|word| word.contains('.')).find_map(version)?;
        Some(Self { kind, version, data: None })
    }

    /// Returns name and version for people.
    pub fn name(&self) -> String {
        let (major, minor, patch) = self.version;
        match self.kind {
            DatabaseKind::MariaDb => format!("MariaDB {major}.{minor}.{patch}"),
            DatabaseKind::MySql => format!("MySQL {major}.{minor}.{patch}"),
        }
    }
}

fn version(word: &str) -> Option<(u32, u32, u32)> {
    let mut parts = word.split('.').map(|part| part.parse::<u32>().ok());
    Some((parts.next()??, parts.next()??, parts.next().flatten().unwrap_or(0)))
}

/// Server of the object cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectCacheServer {
    /// Name of its service: `redis-server`, `valkey-server`.
    pub service: String,
    /// Main configuration file: `/etc/redis/redis.conf`.
    pub configuration: String,
    /// Command of its service, without the options of this plan.
    pub command: String,
}

/// Apache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ApacheSetup {
    /// Processing module.
    pub mpm: Mpm,
    /// True if PHP runs in its processes (`mod_php`).
    pub php: bool,
}

/// Multi-processing modules of Apache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mpm {
    /// A process for each request.
    Prefork,
    /// A thread for each connection.
    Worker,
    /// Threads that pass idle connections to a common thread.
    Event,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn databases_are_known_by_what_they_print() {
        for (text, kind, version) in [
            (
                "mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu",
                DatabaseKind::MariaDb,
                (10, 11, 19),
            ),
            (
                "mysqld  Ver 8.0.36-0ubuntu0.22.04.1 for Linux on x86_64 (mysql)",
                DatabaseKind::MySql,
                (8, 0, 36),
            ),
            ("mariadb-11.4", DatabaseKind::MariaDb, (11, 4, 0)),
            ("mysql-5.7", DatabaseKind::MySql, (5, 7, 0)),
            ("mariadb-server 1:10.5.23-0+deb11u1", DatabaseKind::MariaDb, (10, 5, 23)),
        ] {
            assert_eq!(
                DatabaseServer::parse(text),
                Some(DatabaseServer { kind, version, data: None }),
                "{text}"
            );
        }
        for text in ["", "postgres 16.1", "mariadb", "mysql x.y"] {
            assert_eq!(DatabaseServer::parse(text), None, "{text}");
        }
    }
}
