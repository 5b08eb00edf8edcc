//! Commands of `myriad-tools`, each with its purpose and usage text.

use std::process::ExitCode;

use myriad_tools::{doctor, import, log_stats, takeover, top, tune, warm};

use super::tool::{Implementation, Tool, ToolArguments};

/// All commands for administrators, in the order of the manual.
pub(super) const TOOLS: &[Tool] = &[
    tool("takeover", "take over from an nginx on this machine, and revert", takeover::USAGE, takeover::run),
    tool("import", "translate Apache rules to the nginx language", import::USAGE, import::run),
    tool(
        "tune",
        "tune PHP, database and kernel settings for the machine",
        tune::command::USAGE,
        tune::command::run,
    ),
    tool("doctor", "diagnose a running WordPress site", doctor::command::USAGE, doctor::command::run),
    tool("top", "show the live activity of a running server", top::USAGE, top::run),
    tool("log", "summarize access and error logs", log_stats::command::USAGE, log_stats::command::run),
    tool(
        "warm",
        "fetch pages into the cache before visitors request them",
        warm::command::USAGE,
        warm::command::run,
    ),
    super::optimizer::OPTIMIZE,
];

const fn tool(
    name: &'static str,
    purpose: &'static str,
    usage: &'static str,
    run: fn(ToolArguments) -> ExitCode,
) -> Tool {
    Tool { name, feature: "tools", implementation: Some(Implementation { purpose, usage, run }) }
}
