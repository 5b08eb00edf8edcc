//! Facts about a machine, from which a plan is derived.

use crate::tune::amount::MIB;

/// Facts about a machine, from which the settings are planned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineFacts {
    /// Memory of the machine, or of its control group if less, in bytes; with `--memory`, its value.
    pub memory: u64,
    /// Number of processors that this process may use; with `--cores`, its value.
    pub cores: u32,
    /// `client_max_body_size` of Myriad, in bytes: the value of `--body`, otherwise the default of the presets. Larger
    /// uploads do not reach PHP.
    pub body: u64,
    /// Installed php-fpm; `None` if there is none.
    pub php: Option<InstalledPhp>,
    /// Memory of a PHP worker process.
    pub worker: PhpWorkerSize,
    /// Number of PHP files of the site without uploads, at most a million; `None` if no site was found.
    pub site_files: Option<u32>,
    /// Database server of `--database`, otherwise that on the machine; `None` if there is none, or with
    /// `--database none`.
    pub database: Option<DatabaseServer>,
    /// True if `--database none` states that the machine has no database.
    pub excludes_database: bool,
    /// Redis or Valkey; `None` if not installed.
    pub object_cache: Option<ObjectCacheServer>,
    /// Apache; `None` if it is not installed or no multi-processing module is enabled.
    pub apache: Option<ApacheSetup>,
    /// Present values of kernel settings that are never lowered, by sysctl name; empty with `--root`.
    pub kernel: Vec<(String, u64)>,
}

/// Newest installed version of PHP with php-fpm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstalledPhp {
    /// Major and minor version.
    pub version: (u32, u32),
    /// Names of the php-fpm pools of this version.
    pub pools: Vec<String>,
    /// Names of the pools that already have a `pm.status_path`.
    pub with_status: Vec<String>,
    /// True if APCu is installed for php-fpm.
    pub apcu: bool,
}

impl InstalledPhp {
    /// Returns the version as in the names of PHP's folders: `8.2`.
    pub fn name(&self) -> String {
        format!("{}.{}", self.version.0, self.version.1)
    }
}

/// Memory of a PHP worker process that it shares with no other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PhpWorkerSize {
    /// Memory to plan for one worker process, in bytes: that of the largest measured one plus a fifth, the value of
    /// `--worker`, or an assumed size.
    pub bytes: u64,
    /// Origin of `bytes`: option, measurement or assumption.
    pub source: WorkerSizeSource,
}

/// Origin of the size of a PHP worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkerSizeSource {
    /// The size was specified by the option `--worker`.
    Option,
    /// Measurement of this number of running php-fpm children, at least 1.
    Measured(u32),
    /// Assumption, because no php-fpm child runs or its memory cannot be read.
    Assumed,
    /// Assumption, because the programs below `--root` do not run on this machine.
    AssumedForRoot,
}

impl PhpWorkerSize {
    /// Returns the size that is assumed without a measurement. WordPress with a shop and thirty plugins takes 50 to
    /// 70 MB.
    pub fn assumed(source: WorkerSizeSource) -> Self {
        Self { bytes: 80 * MIB, source }
    }
}

/// Database server on the machine, or the one that `--database` specifies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatabaseServer {
    /// Family of the server: MariaDB or MySQL.
    pub kind: DatabaseKind,
    /// Version of the server, such as `(10, 11, 6)`; the last number is 0 if unknown.
    pub version: (u32, u32, u32),
    /// Size of the data folder in bytes; `None` if it cannot be read or `--database` specifies the server.
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
    /// Parses a name and a version: `mariadb-10.11.6`, `mysql-8.0`, or the output of `mariadbd --version`. Returns
    /// `None` if either is missing.
    pub fn parse(text: &str) -> Option<Self> {
        let lower = text.to_ascii_lowercase();
        let kind = if lower.contains("mariadb") {
            DatabaseKind::MariaDb
        } else if lower.contains("mysql") || lower.contains("percona") {
            DatabaseKind::MySql
        } else {
            return None;
        };
        // The first word that is a version, as in `Ver 10.11.6-MariaDB` or `1:10.11.6-0+deb12u1`.
        let words = lower.split(|c: char| !c.is_ascii_digit() && c != '.');
        let version = words.filter(|word| word.contains('.')).find_map(version)?;
        Some(Self { kind, version, data: None })
    }

    /// Returns name and version of the server for messages.
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

/// Redis or Valkey server for the object cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectCacheServer {
    /// Name of its systemd service: `redis-server`, `valkey-server`.
    pub service: String,
    /// Main configuration file of the server, such as `/etc/redis/redis.conf`.
    pub configuration: String,
    /// Command line of its service, to which the plan appends options.
    pub command: String,
}

/// Installed Apache: its processing module, and whether it runs PHP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ApacheSetup {
    /// Enabled multi-processing module.
    pub mpm: Mpm,
    /// True if PHP runs in the processes of Apache (`mod_php`).
    pub php: bool,
}

/// Multi-processing modules of Apache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mpm {
    /// One process per request.
    Prefork,
    /// One thread per connection.
    Worker,
    /// Threads; idle connections are handled by a common thread.
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
