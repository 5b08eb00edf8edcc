//! Compilation of the directives for files.

use myriad_conf::Text;
use myriad_conf::settings::Settings;
use myriad_encode::Coding;
use myriad_files::{LinkRule, Validity};
use myriad_script::Template;

use super::settings::{OpenFileSettings, PrecompressedSettings, StaticMode, SymlinkSettings};
use myriad_exchange::runtime::{SettingsCompiler, Symlinks};

/// Time for which the existence and metadata of a file are cached if `open_file_cache` is not configured, in
/// milliseconds; with it, the maximum time for which the absence of a file is cached unless `open_file_cache_errors` is
/// on.
const FILE_TESTS_VALID_MS: u64 = 1000;
/// Time after a change of a file during which each request checks it again, if `open_file_cache` is not configured, in
/// milliseconds.
const SETTLING_MS: u64 = 2000;

/// Returns the validity of cached file data on a level (`open_file_cache*`).
pub fn validity(settings: &Settings) -> Validity {
    let open = settings.feature::<OpenFileSettings>();
    let both = |ms| Validity { found_ms: ms, missing_ms: ms, settling_ms: 0 };
    match open.cache {
        None => Validity { settling_ms: SETTLING_MS, ..both(FILE_TESTS_VALID_MS) },
        Some(None) => both(0),
        Some(Some(_)) if open.errors => both(open.valid),
        Some(Some(_)) => {
            let missing_ms = open.valid.min(FILE_TESTS_VALID_MS);
            Validity { found_ms: open.valid, missing_ms, settling_ms: 0 }
        }
    }
}

/// Compiles `disable_symlinks`; `None` if it is off. `root` is the root of the level: with `from=$document_root` it is
/// used directly if it has no variables, so that it is not evaluated for each request and stored routing results can be
/// used (`Shortcut` in `myriad-exchange`).
pub fn symlinks(
    settings: &Settings,
    root: &Template,
    compile: &mut dyn SettingsCompiler,
) -> Option<Box<Symlinks>> {
    settings.feature::<SymlinkSettings>().0.as_ref().map(|symlinks| {
        let rule = if symlinks.foreign_only { LinkRule::ForeignOwner } else { LinkRule::Any };
        let of_root = symlinks.from.bytes() == b"$document_root" && root.as_static().is_some();
        let from = if of_root { root.clone() } else { compile.template(&symlinks.from) };
        Box::new(Symlinks { rule, from })
    })
}

/// Returns `from=` of `disable_symlinks`: links in this leading part of paths are not checked. `None` if
/// `disable_symlinks` is off.
pub fn trusted_part(settings: &Settings) -> Option<&Text> {
    settings.feature::<SymlinkSettings>().0.as_ref().map(|symlinks| &symlinks.from)
}

/// Returns the codings of precompressed files that are enabled, in order of preference; the flag is set for `always`.
pub fn precompressed(settings: &Settings) -> impl Iterator<Item = (Coding, bool)> {
    let PrecompressedSettings { gzip, brotli, zstd } = *settings.feature();
    let modes = [(Coding::Brotli, brotli), (Coding::Zstd, zstd), (Coding::Gzip, gzip)];
    let looked_for = modes.into_iter().filter(|(_, mode)| *mode != StaticMode::Off);
    looked_for.map(|(coding, mode)| (coding, mode == StaticMode::Always))
}
