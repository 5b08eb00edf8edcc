//! Settings of the directives for files.

use myriad_conf::Text;

/// Parameters of `open_file_cache`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OpenFileCache {
    /// `max=`: maximum number of entries.
    pub max: u64,
    /// `inactive=`: time without use after which an entry is removed, in milliseconds.
    pub inactive: u64,
}

/// `open_file_cache*` of a level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct OpenFileSettings {
    /// `open_file_cache`: `None` if not configured; `Some(None)` for `off`.
    #[expect(clippy::option_option, reason = "unset, off and on are three states")]
    pub cache: Option<Option<OpenFileCache>>,
    /// `open_file_cache_valid`, in milliseconds.
    pub valid: u64,
    /// `open_file_cache_min_uses`; without effect.
    pub min_uses: u64,
    /// `open_file_cache_errors`: the absence of files is cached as long as their existence.
    pub errors: bool,
}

/// Parameters of `disable_symlinks on|if_not_owner [from=PART]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DisableSymlinks {
    /// Set with `if_not_owner`: only links whose owner differs from that of their target are rejected.
    pub foreign_only: bool,
    /// `from=`: leading part of paths that is not checked; may contain variables; empty for none.
    pub from: Text,
}

/// `disable_symlinks` of a level; `None` for `off`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SymlinkSettings(pub Option<DisableSymlinks>);

/// Value of `gzip_static`, `brotli_static` or `zstd_static`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum StaticMode {
    /// Precompressed files are not searched.
    #[default]
    Off,
    /// A precompressed file is sent to clients that accept its coding.
    On,
    /// A precompressed file is sent to every client.
    Always,
}

/// `gzip_static`, `brotli_static` and `zstd_static` of a level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PrecompressedSettings {
    /// `gzip_static`.
    pub gzip: StaticMode,
    /// `brotli_static`.
    pub brotli: StaticMode,
    /// `zstd_static`.
    pub zstd: StaticMode,
}

myriad_conf::feature_settings!(OpenFileSettings);
myriad_conf::feature_settings!(SymlinkSettings);
myriad_conf::feature_settings!(PrecompressedSettings);
