//! The settings made into how files are looked for.

use myriad_conf::Text;
use myriad_conf::settings::Settings;
use myriad_encode::Coding;
use myriad_files::{LinkRule, Validity};
use myriad_script::Template;

use super::settings::{OpenFileSettings, PrecompressedSettings, StaticMode, SymlinkSettings};
use myriad_exchange::runtime::{SettingsCompiler, Symlinks};

/// How long file tests are believed where no `open_file_cache` is written.
const FILE_TESTS_VALID_MS: u64 = 1000;
/// How long after its last change a file is asked about each time, where no `open_file_cache` is written.
const SETTLING_MS: u64 = 2000;

/// How long what is known of files is believed (`open_file_cache`).
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

/// How symbolic links are followed; none where each is (`disable_symlinks off`). `root` is that of the level: `from=$document_root`
/// without variables in the root lets requests take the short way, and costs them no evaluation.
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

/// The leading part of paths whose links are not checked, where links are; may hold variables.
pub fn trusted_part(settings: &Settings) -> Option<&Text> {
    settings.feature::<SymlinkSettings>().0.as_ref().map(|symlinks| &symlinks.from)
}

/// The codings in which files may lie ready, the best first; the flag says `always`.
pub fn precompressed(settings: &Settings) -> impl Iterator<Item = (Coding, bool)> {
    let PrecompressedSettings { gzip, brotli, zstd } = *settings.feature();
    let modes = [(Coding::Brotli, brotli), (Coding::Zstd, zstd), (Coding::Gzip, gzip)];
    let looked_for = modes.into_iter().filter(|(_, mode)| *mode != StaticMode::Off);
    looked_for.map(|(coding, mode)| (coding, mode == StaticMode::Always))
}
