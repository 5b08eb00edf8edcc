//! What the directives say.

use myriad_conf::Text;

/// `open_file_cache`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OpenFileCache {
    /// At most so many entries.
    pub max: u64,
    /// Dropped after so long without use, ms.
    pub inactive: u64,
}

/// `open_file_cache*`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct OpenFileSettings {
    /// `open_file_cache`: `None` where not written; `Some(None)` for `off`.
    #[expect(clippy::option_option, reason = "not written, off and on are three things")]
    pub cache: Option<Option<OpenFileCache>>,
    /// `open_file_cache_valid`, ms.
    pub valid: u64,
    /// `open_file_cache_min_uses`.
    pub min_uses: u64,
    /// `open_file_cache_errors`.
    pub errors: bool,
}

/// `disable_symlinks on|if_not_owner [from=PART]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DisableSymlinks {
    /// `if_not_owner`: only links whose owner is not that of what they lead to.
    pub foreign_only: bool,
    /// `from=`: the leading part of paths that is not checked, may hold variables; empty for none.
    pub from: Text,
}

/// `disable_symlinks` of a level; none for `off`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SymlinkSettings(pub Option<DisableSymlinks>);

/// `gzip_static`, `brotli_static`, `zstd_static`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum StaticMode {
    /// Files ending in `.gz`, `.br`, `.zst` are not looked for.
    #[default]
    Off,
    /// They are sent to clients that accept the encoding.
    On,
    /// They are sent to every client.
    Always,
}

/// Which files that were compressed beforehand are looked for.
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
