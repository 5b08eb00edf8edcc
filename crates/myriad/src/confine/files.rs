//! Landlock (landlock(7)): no program is run, no device, pipe or socket is made in the file system, and nothing outside the worker is
//! signalled or reached by an abstract socket.
//!
//! Which files are read and written is left to their modes: a reload may name new folders, and what Landlock forbids a process is
//! forbidden for good.

use landlock::{
    AccessFs, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr, RulesetCreatedAttr,
    RulesetError, RulesetStatus, Scope,
};

/// What no worker does, anywhere.
const NEVER: [AccessFs; 5] =
    [AccessFs::Execute, AccessFs::MakeChar, AccessFs::MakeBlock, AccessFs::MakeFifo, AccessFs::MakeSock];

/// Forbids this thread and those that it starts what a worker never does. `Err` says what the kernel does not know.
pub(super) fn forbid_programs_and_devices() -> Result<(), String> {
    match restrict() {
        Ok(RulesetStatus::FullyEnforced) => Ok(()),
        Ok(RulesetStatus::PartiallyEnforced) => Err("held in part (an old kernel)".into()),
        Ok(RulesetStatus::NotEnforced) => Err("not in this kernel".into()),
        Err(error) => Err(error),
    }
}

fn restrict() -> Result<RulesetStatus, String> {
    let said = |error: RulesetError| error.to_string();
    // A file that is moved to another folder, as pages of a zone are, needs a right of its own under any rule set. Kernels before
    // 5.19 do not know it and would move none: they get no rule set.
    let mut rules = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    rules = rules.handle_access(AccessFs::Refer).map_err(said)?.set_compatibility(CompatLevel::BestEffort);
    for access in NEVER {
        rules = rules.handle_access(access).map_err(said)?;
    }
    rules = rules.scope(Scope::Signal | Scope::AbstractUnixSocket).map_err(said)?;
    let root = PathFd::new("/").map_err(|error| error.to_string())?;
    let rules =
        rules.create().map_err(said)?.add_rule(PathBeneath::new(root, AccessFs::Refer)).map_err(said)?;
    Ok(rules.restrict_self().map_err(said)?.ruleset)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::Command;
    use std::thread;

    use super::*;

    /// A rule set binds one thread and those that it starts: the test has its own.
    #[test]
    fn restricted_thread_moves_files_and_runs_no_program() {
        let folder = std::env::temp_dir().join(format!("myriad-confined-{}", std::process::id()));
        let at = |name: &str| folder.join(name);
        fs::create_dir_all(at("a")).and_then(|()| fs::create_dir_all(at("b"))).expect("folders");
        fs::write(at("a/page"), "page").expect("a file");
        let held = thread::scope(|scope| {
            let work = || {
                let held = forbid_programs_and_devices();
                fs::rename(at("a/page"), at("b/page")).expect("moved to another folder");
                let program = Command::new("/bin/true").spawn();
                // A kernel without Landlock serves all the same.
                assert_eq!(program.is_err(), held.is_ok(), "{held:?} {program:?}");
                held
            };
            scope.spawn(work).join().expect("the restricted thread")
        });
        fs::remove_dir_all(&folder).expect("removed");
        println!("{held:?}");
    }
}
