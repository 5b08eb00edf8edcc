//! Name of the command of the page optimizer in a build without it.

use super::tool::Tool;

pub(super) const OPTIMIZE: Tool = Tool { name: "optimize", feature: "optimizer", implementation: None };
