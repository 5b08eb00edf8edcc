//! Settings of PHP: pools of php-fpm, `php.ini`, APCu.

use crate::tune::amount::{GIB, MIB, about, down_to, text, up_to};
use crate::tune::facts::{InstalledPhp, MachineFacts, WorkerSizeSource};
use crate::tune::file::{ConfigFile, FileFormat};
use crate::tune::opcache;
use crate::tune::shares::{CHILDREN_PER_CORE, MOST_CHILDREN, MemoryBudget};

/// Limits of uploads, in bytes. Each is larger than the previous one: a form has fields in addition to its file, and
/// PHP needs memory to parse it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UploadSizes {
    pub(crate) upload: u64,
    pub(crate) post: u64,
    pub(crate) memory_limit: u64,
    /// True if `client_max_body_size` permits larger requests than PHP accepts.
    pub(crate) is_less_than_body: bool,
}

pub(crate) fn uploads(facts: &MachineFacts) -> UploadSizes {
    let step = 4 * MIB;
    let most = down_to(facts.memory / 8, step).max(4 * step);
    let post = up_to(facts.body, step).clamp(2 * step, most);
    let usual = match facts.memory {
        memory if memory < 2 * GIB => 128 * MIB,
        memory if memory < 16 * GIB => 256 * MIB,
        _ => 512 * MIB,
    };
    UploadSizes {
        upload: post - (post / 16 / MIB * MIB).max(MIB),
        post,
        memory_limit: usual.max(post + 64 * MIB),
        is_less_than_body: post < facts.body,
    }
}

/// Returns the planned configuration files for PHP and php-fpm.
pub(crate) fn files(facts: &MachineFacts, budget: &MemoryBudget) -> Vec<ConfigFile> {
    let mut files = Vec::new();
    if let Some(php) = &facts.php {
        files.push(pools(facts, php, budget));
        files.push(ini(facts, php, budget, "fpm", format!("systemctl reload php{}-fpm", php.name())));
        if facts.apache.is_some_and(|apache| apache.php) {
            files.push(ini(facts, php, budget, "apache2", "systemctl restart apache2".to_owned()));
        }
    }
    files
}

fn pools(facts: &MachineFacts, php: &InstalledPhp, budget: &MemoryBudget) -> ConfigFile {
    let path = format!("/etc/php/{}/fpm/pool.d/zz-myriad.conf", php.name());
    let program = format!("php-fpm {}", php.name());
    let mut file = ConfigFile::new(
        path,
        FileFormat::FpmPool,
        &program,
        format!("systemctl reload php{}-fpm", php.name()),
    );
    let children = budget.children;
    let count = u32::try_from(php.pools.len()).unwrap_or(u32::MAX).max(1);
    if count > 1 {
        file.set(
            "global",
            "process.max",
            children,
            format!("{count} pools share the memory: maximum number of children in total"),
        );
    }
    file.set(
        "global",
        "rlimit_files",
        65536,
        "file descriptors of a child; the default of 1024 is often too low",
    );
    for pool in &php.pools {
        let own = if count == 1 { children } else { (children * 2 / count).clamp(1, children) };
        pool_lines(facts, pool, own, count, &mut file);
    }
    file
}

fn pool_lines(facts: &MachineFacts, pool: &str, children: u32, pools: u32, file: &mut ConfigFile) {
    let size = about(facts.worker.bytes);
    let size = match facts.worker.source {
        WorkerSizeSource::Option => format!("{size} each, as set by --worker"),
        WorkerSizeSource::Measured(1) => format!("{size} each: the size of the running child, plus a fifth"),
        WorkerSizeSource::Measured(count) => {
            format!("{size} each: the largest of {count} running children, plus a fifth")
        }
        WorkerSizeSource::Assumed => {
            format!("{size} each, assumed because no running child could be measured")
        }
        WorkerSizeSource::AssumedForRoot => {
            format!("{size} each, assumed because the programs below --root do not run here")
        }
    };
    if pools > 4 {
        file.set(pool, "pm", "ondemand", "with many pools, pools without requests use no memory");
        file.set(pool, "pm.process_idle_timeout", "30s", "a child exits after this time without a request");
    } else {
        file.set(pool, "pm", "dynamic", "children are started for traffic peaks and stopped afterwards");
    }
    let bound = if pools > 1 {
        "a part of the number that all pools share"
    } else if children == facts.cores.max(1) * CHILDREN_PER_CORE {
        "eight per core; more would only compete for the CPU"
    } else if children == MOST_CHILDREN {
        "the maximum; more would cost php-fpm more than they yield"
    } else {
        "as many as fit into the remaining memory"
    };
    file.set(pool, "pm.max_children", children, format!("{bound}; {size}"));
    // php-fpm requires min_spare <= start <= max_spare <= children.
    let most = (children / 2).max(1);
    let least = (children / 8).max(1).min(most);
    let start = (facts.cores.max(1) * 2).clamp(least, most);
    file.set(pool, "pm.start_servers", start, "two per core at start");
    file.set(pool, "pm.min_spare_servers", least, "idle children for traffic peaks");
    file.set(pool, "pm.max_spare_servers", most, "further idle children are stopped to free memory");
    file.set(
        pool,
        "pm.max_requests",
        1000,
        "then the child is replaced, which frees memory leaked by plugins",
    );
    file.set(
        pool,
        "listen.backlog",
        1024,
        "during traffic peaks, requests wait instead of being refused; Myriad sends at most one request per child",
    );
    if !facts.php.as_ref().is_some_and(|php| php.with_status.iter().any(|own| own == pool)) {
        file.set(
            pool,
            "pm.status_path",
            "/fpm-status",
            "for `myriad doctor` and origin_queue status=; not reachable through the site",
        );
    }
}

fn ini(
    facts: &MachineFacts,
    php: &InstalledPhp,
    budget: &MemoryBudget,
    sapi: &str,
    activate: String,
) -> ConfigFile {
    let path = format!("/etc/php/{}/{sapi}/conf.d/99-myriad.ini", php.name());
    let mut file =
        ConfigFile::new(path, FileFormat::PhpIni, &format!("PHP {} ({sapi})", php.name()), activate);
    let UploadSizes { upload, post, memory_limit, is_less_than_body } = uploads(facts);
    let agrees = if is_less_than_body {
        format!(
            "an eighth of the memory: lower client_max_body_size, which allows {}, to this value",
            about(facts.body)
        )
    } else {
        "at least client_max_body_size of Myriad: PHP accepts all bodies that Myriad accepts".to_owned()
    };
    file.set("", "memory_limit", text(memory_limit), "for one page; larger than post_max_size");
    file.set("", "post_max_size", text(post), agrees);
    file.set("", "upload_max_filesize", text(upload), "smaller than post_max_size");
    file.set(
        "",
        "max_input_vars",
        5000,
        "menus and large forms in the admin area have more than 1000 fields",
    );
    file.set(
        "",
        "realpath_cache_size",
        "8M",
        "for the paths of all files of a large site; the default of 4M is often too small",
    );
    file.set("", "realpath_cache_ttl", 600, "seconds; paths of a site rarely change");
    opcache::lines(facts, budget, &mut file);
    if php.apcu {
        file.set("", "apc.enabled", 1, "APCu stores objects across requests");
        file.set(
            "",
            "apc.shm_size",
            text(budget.sizes.apcu),
            "shared by all children; if more is needed, use Redis or Valkey",
        );
        file.set(
            "",
            "apc.ttl",
            3600,
            "seconds; if the memory is full, only entries that were unused for this time are evicted",
        );
    }
    file
}
