//! Directive `gunzip`, and its setting.

use myriad_conf::registry::{Contexts, Directive, FLAG};
use myriad_conf::set;

/// Setting of `gunzip` on a configuration level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct GunzipSettings {
    /// True for `gunzip on`.
    pub on: bool,
}

myriad_conf::feature_settings!(GunzipSettings);

/// Directives of `gunzip`.
pub static ROWS: &[Directive] = &[Directive::new(
    "gunzip",
    Contexts::HSL,
    FLAG,
    set!(Feature<GunzipSettings>.flag => on),
    "Decompresses gzip for clients that do not support it.",
)
.default("off")];
