//! Facts about a machine: this one, or the file system below `--root`.

use std::path::{Path, PathBuf};

use crate::tune::{MachineFacts, PhpWorkerSize, WorkerSizeSource, parse_amount};
use myriad_serve::machine_memory;

use super::options::{DatabaseOption, TuneOptions};
use super::programs::{apache, database, names, object_cache, php, text};
use super::workers;
use myriad_cli::machine_files::below;
use myriad_cli::site_folder::SiteFolder;
use myriad_cli::wordpress::{self, SiteLayout};

/// Maximum number of PHP files of a site that are counted.
const MAX_FILES: usize = 1_000_000;
const MAX_FOLDERS: usize = 200_000;
/// Link to the current release in the folder of a site.
const CURRENT: &str = "current";
/// Kernel settings that a plan may raise but never lower.
const KERNEL: [&str; 5] = [
    "net.core.somaxconn",
    "net.ipv4.tcp_max_syn_backlog",
    "net.core.rmem_max",
    "net.core.wmem_max",
    "fs.file-max",
];

/// Facts about a machine, and the folder of the site in which PHP files were counted (`None` if no site was found).
pub(super) struct DetectedMachine {
    pub(super) facts: MachineFacts,
    pub(super) site: Option<PathBuf>,
}

/// Collects the facts about the machine. Values of the options replace detected ones. Returns an error text if the
/// folder of `--site` contains no WordPress.
pub(super) fn detect_machine(options: &TuneOptions) -> Result<DetectedMachine, String> {
    let root = options.root.as_path();
    let is_here = root == Path::new("/");
    let site = site(options)?;
    let memory = options.memory.unwrap_or_else(machine_memory);
    let facts = MachineFacts {
        memory,
        cores: options.cores.unwrap_or_else(cores),
        body: options.body.unwrap_or_else(body),
        php: php(root),
        worker: match options.worker {
            Some(bytes) => PhpWorkerSize { bytes, source: WorkerSizeSource::Option },
            // The running PHP processes are unrelated to the programs below another root.
            None if !is_here => PhpWorkerSize::assumed(WorkerSizeSource::AssumedForRoot),
            None => workers::measured(Path::new("/proc"))
                .unwrap_or_else(|| PhpWorkerSize::assumed(WorkerSizeSource::Assumed)),
        },
        site_files: site.as_deref().map(count),
        database: match options.database {
            DatabaseOption::Nothing => database(root),
            DatabaseOption::Missing => None,
            DatabaseOption::This(database) => Some(database),
        },
        excludes_database: options.database == DatabaseOption::Missing,
        object_cache: object_cache(root),
        apache: apache(root),
        kernel: if is_here { kernel() } else { Vec::new() },
    };
    Ok(DetectedMachine { facts, site })
}

/// Returns the folder of the site: that of `--site`, which must contain WordPress, otherwise the first one in a folder
/// of `/var/www` or its subfolder `html`, `public`, `public_html` or `htdocs`; `None` if none is found.
fn site(options: &TuneOptions) -> Result<Option<PathBuf>, String> {
    let is_site = |folder: &Path| SiteLayout::find(folder).is_ok_and(|layout| layout.is_some());
    if let Some(site) = &options.site {
        if !is_site(site) {
            return Err(format!(
                "--site {}: no WordPress found; specify the folder that contains its index.php",
                site.display()
            ));
        }
        return Ok(Some(site.clone()));
    }
    let top = below(&options.root, "/var/www");
    let inner = names(&top).into_iter().flat_map(|name| {
        let folder = top.join(name);
        [
            folder.clone(),
            folder.join("html"),
            folder.join("public"),
            folder.join("public_html"),
            folder.join("htdocs"),
        ]
    });
    Ok(inner.into_iter().find(|folder| is_site(folder)))
}

/// Returns the number of PHP files of a site, without uploads, at most [`MAX_FILES`]; 0 if the folder cannot be read.
/// Symbolic links are not followed, except the link `current` to the current release.
fn count(site: &Path) -> u32 {
    let mut site = std::path::absolute(site).unwrap_or_else(|_| site.to_owned());
    let layout = SiteLayout::find(&site).ok().flatten().unwrap_or_else(|| SiteLayout::usual(site.clone()));
    // If there are several releases, PHP runs only the current one.
    let current = site.join(CURRENT);
    if layout.root.starts_with(&current) {
        site = current;
    }
    let Ok(files) = SiteFolder::new(&site).files("", MAX_FOLDERS) else { return 0 };
    let uploads = layout.root.join(&layout.content).join("uploads");
    let files = files.except(&[uploads.strip_prefix(&site).unwrap_or(&uploads)]);
    let counted = files.filter(|file| file.extension().is_some_and(|end| end == "php"));
    u32::try_from(counted.take(MAX_FILES).count()).unwrap_or(u32::MAX)
}

fn cores() -> u32 {
    std::thread::available_parallelism().map_or(1, |cores| u32::try_from(cores.get()).unwrap_or(u32::MAX))
}

/// Returns the default `client_max_body_size` of the presets, in bytes; a site may change it with `--set uploads=`.
fn body() -> u64 {
    parse_amount(wordpress::largest_upload()).unwrap_or(1 << 20)
}

fn kernel() -> Vec<(String, u64)> {
    let value = |name: &&str| Some(((*name).to_owned(), kernel_value(name)?.parse().ok()?));
    KERNEL.iter().filter_map(value).collect()
}

/// Returns the value of a setting of the running kernel; `None` if it cannot be read.
pub(super) fn kernel_value(name: &str) -> Option<String> {
    let value = text(&Path::new("/proc/sys").join(name.replace('.', "/")))?;
    Some(value.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn body_is_that_of_the_preset() {
        assert_eq!(body(), 64 << 20);
    }

    #[test]
    fn php_files_are_counted_without_uploads_and_links() {
        let site = std::env::temp_dir().join(format!("myriad-count-{}", std::process::id()));
        for path in [
            "index.php",
            "wp-includes/a.php",
            "wp-content/plugins/x/y.php",
            "wp-content/uploads/z.php",
            "readme.html",
        ] {
            let path = site.join(path);
            std::fs::create_dir_all(path.parent().expect("parent")).expect("folder");
            std::fs::write(path, "").expect("file");
        }
        std::os::unix::fs::symlink(&site, site.join("wp-content/loop")).expect("link");
        assert_eq!(count(&site), 3);
        std::fs::remove_dir_all(&site).expect("clean");
    }

    #[test]
    fn php_files_of_the_current_release_are_counted_without_its_uploads() {
        let site = std::env::temp_dir().join(format!("myriad-count-bedrock-{}", std::process::id()));
        for release in ["1", "2"] {
            for (path, text) in [
                ("web/index.php", "<?php require __DIR__ . '/wp/wp-blog-header.php';"),
                ("web/wp/wp-includes/a.php", ""),
                ("web/app/plugins/a.php", ""),
                ("web/app/uploads/b.php", ""),
                ("vendor/c.php", ""),
            ] {
                let path = site.join("releases").join(release).join(path);
                std::fs::create_dir_all(path.parent().expect("parent")).expect("folder");
                std::fs::write(path, text).expect("file");
            }
        }
        std::os::unix::fs::symlink("releases/2", site.join("current")).expect("link");
        assert_eq!((count(&site), count(&site.join("releases/1"))), (4, 4));
        std::fs::remove_dir_all(&site).expect("clean");
    }
}
