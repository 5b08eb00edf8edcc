//! Directive `slice`, and its setting.

use myriad_conf::registry::{Contexts, Directive, ONE};
use myriad_conf::set;

/// Setting of `slice` on a configuration level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SliceSettings {
    /// `slice`: size of a slice in bytes; 0 for off.
    pub size: u64,
}

myriad_conf::feature_settings!(SliceSettings);

/// Directives of `slice`.
pub static ROWS: &[Directive] = &[Directive::new(
    "slice",
    Contexts::HSL,
    ONE,
    set!(Feature<SliceSettings>.size => size),
    "Size of the parts in which a long response is requested, with `$slice_range`.",
)
.default("0")];
