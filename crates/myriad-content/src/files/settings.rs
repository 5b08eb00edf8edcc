//! Settings of the directives for files.

use myriad_conf::Text;

/// Parameters of `open_file_cache`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OpenFileCache {
    /// `max=`: maximum number of cached files; without effect.
    pub max: u64,
    /// `inactive=`: time without use after which a cached file is removed, in milliseconds; without effect.
    pub inactive: u64,
}

/// Settings `open_file_cache*` of a configuration level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct OpenFileSettings {
    /// `open_file_cache`: `None` if not configured; `Some(None)` for `off`.
    #[expect(clippy::option_option, reason = "unset, off and on are three states")]
    pub cache: Option<Option<OpenFileCache>>,
    /// `open_file_cache_valid`: time after which a cached file is checked again, in milliseconds.
    pub valid: u64,
    /// `open_file_cache_min_uses`: accepted for compatibility, without effect.
    pub min_uses: u64,
    /// `open_file_cache_errors`: true if the absence of files is cached for `open_file_cache_valid`, like their
    /// existence.
    pub errors: bool,
}

/// Parameters of `disable_symlinks on|if_not_owner [from=PART]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DisableSymlinks {
    /// True with `if_not_owner`: a link is rejected only if its owner differs from the owner of its target. False with
    /// `on`: all links are rejected.
    pub foreign_only: bool,
    /// `from=`: leading part of paths that is not checked; may contain variables; empty for none.
    pub from: Text,
}

/// Setting `disable_symlinks` of a configuration level; `None` for `off`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SymlinkSettings(pub Option<DisableSymlinks>);

/// Value of `gzip_static`, `brotli_static` or `zstd_static`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum StaticMode {
    /// `off`: precompressed files are not used.
    #[default]
    Off,
    /// `on`: a precompressed file is sent to clients that accept its coding.
    On,
    /// `always`: a precompressed file is sent to every client.
    Always,
}

/// Settings `gzip_static`, `brotli_static` and `zstd_static` of a configuration level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PrecompressedSettings {
    /// `gzip_static`: use of `FILE.gz`.
    pub gzip: StaticMode,
    /// `brotli_static`: use of `FILE.br`.
    pub brotli: StaticMode,
    /// `zstd_static`: use of `FILE.zst`.
    pub zstd: StaticMode,
}

myriad_conf::feature_settings!(OpenFileSettings);
myriad_conf::feature_settings!(SymlinkSettings);
myriad_conf::feature_settings!(PrecompressedSettings);

#[cfg(test)]
mod tests {
    use std::path::Path;

    use myriad_conf::registry::Registry;
    use myriad_conf::settings::{FeatureSettings, Settings};
    use myriad_conf::{MemoryLoader, build};

    use super::{OpenFileSettings, PrecompressedSettings, StaticMode};
    use crate::files::{BROTLI_STATIC, FEATURE, GZIP_STATIC, ZSTD_STATIC};

    /// Returns the settings of a server with these directives.
    fn settings<T: FeatureSettings>(inside: &str) -> T {
        let features = [FEATURE, GZIP_STATIC, BROTLI_STATIC, ZSTD_STATIC];
        let registry = Registry::new(features.map(|feature| feature.family), []);
        let path = Path::new("/conf/nginx.conf");
        let file = format!("http {{ server {{ {inside} }} }}");
        let model = build(&registry.parse(&MemoryLoader::with(path, file), path, b""), &registry);
        let mut http = model.expect("a valid configuration").http.expect("a block");
        let settings: Settings = http.servers.remove(0).settings;
        settings.feature::<T>().clone()
    }

    #[test]
    fn open_file_cache_shows_whether_it_was_written() {
        let open_files = settings::<OpenFileSettings>;
        assert_eq!(open_files("").cache, None);
        assert_eq!(open_files("open_file_cache off;").cache, Some(None));
        let cache = open_files("open_file_cache max=100 inactive=20s; open_file_cache_valid 30s;");
        let inner = cache.cache.unwrap().unwrap();
        assert_eq!((inner.max, inner.inactive, cache.valid), (100, 20_000, 30_000));
    }

    #[test]
    fn each_static_directive_sets_mode_of_its_coding() {
        let configured = settings::<PrecompressedSettings>("gzip_static always; zstd_static on;");
        assert_eq!((configured.gzip, configured.brotli), (StaticMode::Always, StaticMode::Off));
        assert_eq!(configured.zstd, StaticMode::On);
    }
}
