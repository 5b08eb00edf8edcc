//! Facts about PHP and WordPress, from a small PHP script that php-fpm runs.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::doctor::{FpmPoolStatus, Observation, OpcacheState, PhpFacts, WordPressFacts};
use myriad_upstream::fastcgi_protocol::PoolStatus;
use serde::Deserialize;

use super::fastcgi::run_script;
use myriad_cli::wordpress::children_of_running;

const SCRIPT: &str = include_str!("probe.php");
/// Default path of php-fpm's status page, as configured by `myriad tune`.
const STATUS: &str = "/fpm-status";
/// Marker in the script's output before the JSON, because plugins may print text before it.
const MARK: &str = "MYRIAD:";

/// PHP script that reports facts, in a file which is removed on drop.
pub(super) struct PhpProbe {
    php: String,
    path: PathBuf,
}

#[derive(Deserialize)]
struct FoundPhp {
    version: String,
    upload: u64,
    post: u64,
    memory: i64,
    opcache: bool,
    status: serde_json::Value,
}

#[derive(Deserialize)]
struct FoundWordPress {
    version: String,
    home: String,
    database: String,
    object_cache: bool,
    plugins: Vec<String>,
    active: Vec<String>,
    nonce_life: u64,
    queries: u64,
    autoload: u64,
    slow_queries: u64,
    uptime: u64,
    used_connections: u64,
    most_connections: u64,
    differing: Vec<String>,
    shows_errors: bool,
    changes: Vec<String>,
}

impl PhpProbe {
    /// Writes the script to a folder where php-fpm can read it: `/run` for root, because services may have a private
    /// `/tmp`; the folder for temporary files for other users.
    pub(super) fn new(php: &str) -> Result<Self, String> {
        let folder = if rustix::process::geteuid().is_root() { "/run".into() } else { std::env::temp_dir() };
        let mut random = [0; 16];
        rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty())
            .map_err(|error| format!("getrandom() failed ({error})"))?;
        let name = random.iter().fold("myriad-doctor-".to_owned(), |name, byte| format!("{name}{byte:02x}"));
        let path = folder.join(name + ".php");
        let file = OpenOptions::new().write(true).create_new(true).mode(0o644).open(&path);
        let describe_error =
            |error: std::io::Error| format!("{}: {}", path.display(), myriad_cli::pidfile::reason(&error));
        let mut file = file.map_err(describe_error)?;
        let probe = Self { php: php.to_owned(), path: path.clone() };
        file.write_all(SCRIPT.as_bytes()).map_err(describe_error)?;
        Ok(probe)
    }

    /// Returns the version of PHP, its upload sizes and memory limit, and the state of OPcache.
    pub(super) fn php(&self) -> Observation<PhpFacts> {
        let found: FoundPhp = self.run_probe(&[])?;
        let opcache = match (found.opcache, found.status.as_object()) {
            (false, _) => Ok(None),
            (true, None) => Err("OPcache is on, but does not report its status".to_owned()),
            (true, Some(_)) => Ok(Some(opcache(&found.status))),
        };
        let memory_limit = u64::try_from(found.memory).ok().filter(|limit| *limit > 0);
        Ok(PhpFacts { version: found.version, opcache, upload: found.upload, post: found.post, memory_limit })
    }

    /// Returns facts about the WordPress installed in the folder `root`, loaded for the host in `authority`.
    pub(super) fn wordpress(&self, root: &Path, authority: &str) -> Observation<WordPressFacts> {
        let site = root.display().to_string();
        let found: FoundWordPress = self.run_probe(&[("MYRIAD_SITE", &site), ("HTTP_HOST", authority)])?;
        Ok(WordPressFacts {
            version: found.version,
            home: found.home,
            database: found.database,
            object_cache: found.object_cache,
            plugins: found.plugins,
            active: found.active,
            nonce_life_s: found.nonce_life,
            queries: found.queries,
            autoload: found.autoload,
            slow_queries: found.slow_queries,
            uptime_s: found.uptime,
            used_connections: found.used_connections,
            most_connections: found.most_connections,
            differing: found.differing,
            shows_errors: found.shows_errors,
            changes: found.changes,
        })
    }

    fn run_probe<T: for<'de> Deserialize<'de>>(&self, further: &[(&str, &str)]) -> Observation<T> {
        let script = self.path.display().to_string();
        let mut params = request(&script, "/index.php", "");
        params.extend_from_slice(further);
        let answer = run_script(&self.php, &params)?;
        let text = String::from_utf8_lossy(&answer);
        let Some((_, json)) = text.rsplit_once(MARK) else { return Err(failure_reason(&text)) };
        serde_json::from_str(json.trim())
            .map_err(|error| format!("the script returned invalid data: {error}"))
    }
}

impl Drop for PhpProbe {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

fn request<'p>(script: &'p str, name: &'p str, query: &'p str) -> Vec<(&'p str, &'p str)> {
    vec![
        ("SCRIPT_FILENAME", script),
        ("SCRIPT_NAME", name),
        ("REQUEST_URI", name),
        ("QUERY_STRING", query),
        ("REQUEST_METHOD", "GET"),
        ("SERVER_PROTOCOL", "HTTP/1.1"),
        ("SERVER_NAME", "localhost"),
        ("SERVER_SOFTWARE", "nginx/1 (Myriad)"),
        ("REMOTE_ADDR", "127.0.0.1"),
        ("GATEWAY_INTERFACE", "CGI/1.1"),
    ]
}

/// Returns the reason why the script failed, from the text that php-fpm sent instead of the JSON.
fn failure_reason(text: &str) -> String {
    if text.contains("database connection") {
        return "Error establishing a database connection".to_owned();
    }
    if text.contains("File not found") || text.contains("No input file") || text.contains("Access denied") {
        return "php-fpm does not run scripts outside the folder of the site (open_basedir, chroot)"
            .to_owned();
    }
    let status = text.lines().next().filter(|line| line.starts_with("Status:"));
    format!("the script did not complete ({})", status.unwrap_or("no output; see the log of php-fpm").trim())
}

fn opcache(status: &serde_json::Value) -> OpcacheState {
    let figure = |path: &str| status.pointer(path).and_then(serde_json::Value::as_u64).unwrap_or(0);
    OpcacheState {
        used: figure("/memory_usage/used_memory") + figure("/memory_usage/wasted_memory"),
        free: figure("/memory_usage/free_memory"),
        strings: figure("/interned_strings_usage/buffer_size"),
        strings_free: figure("/interned_strings_usage/free_memory"),
        keys: figure("/opcache_statistics/num_cached_keys"),
        most_keys: figure("/opcache_statistics/max_cached_keys"),
        restarts: figure("/opcache_statistics/oom_restarts") + figure("/opcache_statistics/hash_restarts"),
        is_full: status.pointer("/cache_full").and_then(serde_json::Value::as_bool).unwrap_or(false),
    }
}

/// Returns the status of the php-fpm pool, from its status page at the path `status`, by default [`STATUS`].
pub(super) fn pool(php: &str, status: Option<&str>) -> Observation<FpmPoolStatus> {
    let path = status.unwrap_or(STATUS);
    let answer = run_script(php, &request(path, path, "json"))?;
    let at = answer.windows(4).position(|four| four == b"\r\n\r\n").map_or(0, |at| at + 4);
    let status = PoolStatus::parse(&answer[at..]).map_err(|_| format!("no status page at {path}"))?;
    Ok(FpmPoolStatus {
        total: status.total,
        active: status.active,
        queue: status.listen_queue,
        reached: status.max_children_reached,
    })
}

/// Returns `pm.max_children` of the php-fpm pool that listens at this address, from its configuration file.
pub(super) fn most_children(php: &str) -> Observation<u32> {
    let address = if php.starts_with('/') { format!("unix:{php}") } else { php.to_owned() };
    children_of_running(&address)
        .ok_or_else(|| format!("found no php-fpm configuration file with pm.max_children for {php}"))
}
