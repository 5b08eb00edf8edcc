//! The command of the page optimizer.

use myriad_tools::optimize;

use super::tool::{Implementation, Tool};

pub(super) const OPTIMIZE: Tool = Tool {
    name: "optimize",
    feature: "optimizer",
    implementation: Some(Implementation {
        purpose: "grade a page, and show what smaller files would save",
        usage: optimize::USAGE,
        run: optimize::run,
    }),
};
