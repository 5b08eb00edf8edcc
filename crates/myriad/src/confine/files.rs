//! Landlock (landlock(7)): no program is run, no device, pipe or socket is made in the file system, and nothing outside the worker is
//! signalled or reached by an abstract socket.
//!
//! Which files are read and written is left to their modes: a reload may name new folders, and what Landlock forbids a process is
//! forbidden for good.

use landlock::{AccessFs, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetStatus, Scope};

/// What no worker does, anywhere.
const NEVER: [AccessFs; 5] =
    [AccessFs::Execute, AccessFs::MakeChar, AccessFs::MakeBlock, AccessFs::MakeFifo, AccessFs::MakeSock];

/// Forbids this thread and those that it starts what a worker never does. `Err` says what the kernel does not know.
pub(super) fn forbid_programs_and_devices() -> Result<(), String> {
    let mut rules = Ruleset::default().set_compatibility(CompatLevel::BestEffort);
    for access in NEVER {
        rules = rules.handle_access(access).map_err(|error| error.to_string())?;
    }
    let rules = rules.scope(Scope::Signal | Scope::AbstractUnixSocket).map_err(|error| error.to_string())?;
    let status = rules
        .create()
        .and_then(landlock::RulesetCreated::restrict_self)
        .map_err(|error| error.to_string())?;
    match status.ruleset {
        RulesetStatus::FullyEnforced => Ok(()),
        RulesetStatus::PartiallyEnforced => Err("held in part (an old kernel)".into()),
        RulesetStatus::NotEnforced => Err("not in this kernel".into()),
    }
}
