//! The command of the page optimizer.

use myriad_tools::optimize;

use super::compiled::tool;
use super::tool::Tool;

pub(super) const OPTIMIZE: Tool = Tool {
    feature: "optimizer",
    ..tool("optimize", "grade a page, and show what smaller files would save", optimize::USAGE, optimize::run)
};
