//! nginx's slice module.

use super::{Contexts, Directive, ONE, set};

pub(super) static ROWS: &[Directive] = &[Directive::new(
    "slice",
    Contexts::HSL,
    ONE,
    set!(Settings.size => content.slice),
    "Bytes of the pieces that a long answer is asked for in, by $slice_range.",
)
.default("0")];
