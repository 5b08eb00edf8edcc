//! Settings of OPcache, which stores compiled PHP in shared memory.

use crate::tune::amount::{MIB, down_to, text, up_to};
use crate::tune::facts::MachineFacts;
use crate::tune::file::ConfigFile;
use crate::tune::shares::{MemoryBudget, MemorySizes};

/// Size of a compiled PHP file in bytes: the 958 files of WordPress 6.1 take 34 MB, and 20 MB of strings.
const FILE: u64 = 36 << 10;
const STRINGS_OF_FILE: u64 = 21 << 10;
/// Assumed number of PHP files if no site was found: WordPress with a shop and some plugins.
const ASSUMED_FILES: u32 = 6000;
/// Possible sizes of OPcache's table of files from 1979 on. OPcache rounds other values up to the next of these.
const TABLES: [u32; 10] = [1979, 3907, 7963, 16229, 32531, 65407, 130_987, 262_237, 524_521, 1_048_793];
/// Maximum value of `opcache.max_accelerated_files`, the size of OPcache's table of files.
const MOST_FILES: u32 = 1_000_000;

/// Returns the sizes of OPcache (memory, strings, table of files, JIT) for the files of the site; all further fields
/// are 0.
pub(crate) fn sizes(facts: &MachineFacts) -> MemorySizes {
    let files = facts.site_files.unwrap_or(ASSUMED_FILES);
    // Of a large site, most files of the back office, languages and shop are seldom or never run.
    let run = u64::from(files).min(1000) + u64::from(files.saturating_sub(1000)) / 3;
    let strings = up_to(run * STRINGS_OF_FILE, 8 * MIB).clamp(8 * MIB, 64 * MIB);
    let strings = strings.min(down_to(facts.memory / 64, 8 * MIB).max(8 * MIB));
    // A quarter more, because replaced scripts remain in memory until the next start.
    let scripts = run * FILE / 4 * 5;
    let most = down_to(facts.memory / 12, 8 * MIB).clamp(64 * MIB, 1024 * MIB);
    let opcache = up_to(strings + scripts, 8 * MIB).clamp(64 * MIB, most.max(64 * MIB));
    let wanted = files.saturating_add(files / 2).max(4000);
    let table = TABLES.into_iter().find(|size| *size >= wanted).unwrap_or(MOST_FILES).min(MOST_FILES);
    MemorySizes { opcache, strings, files: table, jit: jit(facts), ..MemorySizes::default() }
}

/// Returns the memory for the JIT compiler's machine code, in bytes; 0, which disables the compiler, on machines with
/// less than 1900 MB of memory, with PHP before 8.1, and without php-fpm.
fn jit(facts: &MachineFacts) -> u64 {
    let is_ripe = facts.php.as_ref().is_some_and(|php| php.version >= (8, 1));
    match facts.memory {
        memory if !is_ripe || memory < 1900 * MIB => 0,
        memory if memory < 8192 * MIB => 32 * MIB,
        _ => 64 * MIB,
    }
}

/// Adds the settings of OPcache, and from PHP 8.0 on of its JIT, to the planned `php.ini` file.
pub(crate) fn lines(facts: &MachineFacts, budget: &MemoryBudget, file: &mut ConfigFile) {
    let sizes = &budget.sizes;
    let counted = match facts.site_files {
        Some(files) => format!("the site has {files} PHP files"),
        None => format!("the site was not found: {ASSUMED_FILES} PHP files assumed"),
    };
    file.set(
        "",
        "opcache.enable",
        1,
        "without OPcache, PHP compiles several hundred files for each page, which takes four times as long",
    );
    file.set(
        "",
        "opcache.memory_consumption",
        sizes.opcache / MIB,
        format!(
            "MB, shared by all children; if it is full, pages take three times as long. {counted}, 36 KB each"
        ),
    );
    file.set(
        "",
        "opcache.interned_strings_buffer",
        sizes.strings / MIB,
        "MB of the above, for strings that all files share; WordPress alone has up to 20 MB",
    );
    file.set(
        "",
        "opcache.max_accelerated_files",
        sizes.files,
        format!("{counted}, plus half of that for updates"),
    );
    file.set("", "opcache.validate_timestamps", 1, "detects files that are replaced manually");
    file.set(
        "",
        "opcache.revalidate_freq",
        10,
        "seconds between checks of a file on disk; updates by WordPress itself take effect immediately",
    );
    file.set("", "opcache.save_comments", 1, "plugins read annotations in comments");
    if facts.php.as_ref().is_some_and(|php| php.version >= (8, 0)) {
        let (mode, why) = match sizes.jit {
            0 => ("off", "on this machine, a PHP child is a better use of the memory"),
            _ => (
                "tracing",
                "compiles frequent code to machine code: PHP needs 5 to 10 % less time for a WordPress page, as measured",
            ),
        };
        file.set("", "opcache.jit", mode, why);
        file.set("", "opcache.jit_buffer_size", text(sizes.jit), "in addition to the memory of OPcache");
    }
}
