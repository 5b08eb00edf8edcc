//! Names that a directive uses and another one defines.

use crate::text::Text;

/// A name that must be defined somewhere; checked when everything has been read.
pub enum Use {
    /// A `log_format`.
    LogFormat(Text),
    /// A cache zone.
    CacheZone(Text),
    /// A zone of limits, and the directive that would define it.
    LimitZone(Text, &'static str),
}
