//! Facts of a machine, as whoever looked at it found them.

use crate::amount::MIB;

/// Facts that a plan follows from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Memory of the machine or of its control group, bytes.
    pub memory: u64,
    /// Processors.
    pub cores: u32,
    /// `client_max_body_size` of Myriad, bytes: no larger upload reaches PHP.
    pub body: u64,
    /// PHP that php-fpm runs, if there is one.
    pub php: Option<Php>,
    /// Worker of PHP.
    pub worker: Worker,
    /// PHP files of the site, if they were counted.
    pub site_files: Option<u32>,
    /// Database, if it runs on this machine.
    pub database: Option<Database>,
    /// Redis or Valkey, if it is there.
    pub object_cache: Option<ObjectCache>,
    /// Apache, if it is there.
    pub apache: Option<Apache>,
    /// Values of the kernel that are never lowered, by their names of sysctl.
    pub kernel: Vec<(String, u64)>,
}

/// Installed PHP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Php {
    /// Major and minor version.
    pub version: (u32, u32),
    /// Names of php-fpm's pools.
    pub pools: Vec<String>,
    /// Those of them that have a `pm.status_path` of their own.
    pub with_status: Vec<String>,
    /// Whether APCu is installed.
    pub apcu: bool,
}

impl Php {
    /// Version as folders are named: `8.2`.
    pub fn name(&self) -> String {
        format!("{}.{}", self.version.0, self.version.1)
    }
}

/// Size of a worker of PHP: memory that it shares with no other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Worker {
    /// Bytes.
    pub bytes: u64,
    /// Workers that were measured; 0 if it was assumed.
    pub measured: u32,
}

impl Worker {
    /// Size that is assumed where none runs: WordPress with a shop and thirty plugins takes 50 to 70 MB.
    pub const ASSUMED: Self = Self { bytes: 80 * MIB, measured: 0 };
}

/// Database server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Database {
    /// Which of the two families it is.
    pub kind: DatabaseKind,
    /// Version: `(10, 11, 6)`.
    pub version: (u32, u32, u32),
    /// Bytes of its data folder, if they are known.
    pub data: Option<u64>,
}

/// Families of databases, which differ in what they can be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DatabaseKind {
    /// MariaDB.
    MariaDb,
    /// MySQL, and Percona's server.
    MySql,
}

impl Database {
    /// Reads `mariadb-10.11.6`, `mysql-8.0`, and what `mariadbd --version` prints. `None` if neither is in the text.
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

    /// Name and version for people.
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
pub struct ObjectCache {
    /// Name of its service: `redis-server`, `valkey-server`.
    pub service: String,
    /// Its own configuration file: `/etc/redis/redis.conf`.
    pub configuration: String,
    /// Command of its service, without the options of this plan.
    pub command: String,
}

/// Apache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Apache {
    /// How it serves several at once.
    pub mpm: Mpm,
    /// Whether PHP runs inside its processes (`mod_php`).
    pub php: bool,
}

/// Multi-processing modules of Apache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mpm {
    /// One process for each request.
    Prefork,
    /// Threads.
    Worker,
    /// Threads that leave idle connections to one of them.
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
            assert_eq!(Database::parse(text), Some(Database { kind, version, data: None }), "{text}");
        }
        for text in ["", "postgres 16.1", "mariadb", "mysql x.y"] {
            assert_eq!(Database::parse(text), None, "{text}");
        }
    }
}
