//! Names of the commands of `myriad-tools` in a build without it, so that they are rejected with the reason.

use super::tool::Tool;

/// Commands for administrators, none of which is compiled into this build.
pub(super) const TOOLS: &[Tool] = &[
    absent("takeover"),
    absent("import"),
    absent("tune"),
    absent("doctor"),
    absent("top"),
    absent("log"),
    absent("warm"),
    Tool { feature: "optimizer", ..absent("optimize") },
];

const fn absent(name: &'static str) -> Tool {
    Tool { name, feature: "tools", implementation: None }
}
