//! Landlock (landlock(7)): prohibits running programs, creating devices, pipes or sockets in the file system,
//! signalling other processes, and connecting to abstract sockets of other processes.
//!
//! Reading and writing of files is not restricted: restrictions of Landlock are permanent, but a reload may name new
//! folders. Only the file permissions restrict them.

use landlock::{
    AccessFs, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr, RulesetCreatedAttr,
    RulesetError, RulesetStatus, Scope,
};

/// Actions on files that no worker ever performs, such as executing them or creating devices.
const NEVER: [AccessFs; 5] =
    [AccessFs::Execute, AccessFs::MakeChar, AccessFs::MakeBlock, AccessFs::MakeFifo, AccessFs::MakeSock];

/// Applies the Landlock restrictions to this thread and the threads that it starts: they cannot run programs,
/// create device files, pipes or Unix sockets in folders, or reach other processes by signals or abstract sockets.
///
/// # Errors
///
/// Returns a description of the parts that the kernel does not support.
pub(super) fn forbid_programs_and_devices() -> Result<(), String> {
    match restrict() {
        Ok(RulesetStatus::FullyEnforced) => Ok(()),
        Ok(RulesetStatus::PartiallyEnforced) => Err("partially enforced (an old kernel)".into()),
        Ok(RulesetStatus::NotEnforced) => Err("not supported by this kernel".into()),
        Err(error) => Err(error),
    }
}

fn restrict() -> Result<RulesetStatus, String> {
    let error_text = |error: RulesetError| error.to_string();
    // A cache zone moves its files between folders, which any Landlock rule set prohibits without the right `Refer`.
    // Kernels before 5.19 do not have that right, so Landlock is not used there.
    let mut rules = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    rules =
        rules.handle_access(AccessFs::Refer).map_err(error_text)?.set_compatibility(CompatLevel::BestEffort);
    for access in NEVER {
        rules = rules.handle_access(access).map_err(error_text)?;
    }
    rules = rules.scope(Scope::Signal | Scope::AbstractUnixSocket).map_err(error_text)?;
    let root = PathFd::new("/").map_err(|error| error.to_string())?;
    let rules = rules
        .create()
        .map_err(error_text)?
        .add_rule(PathBeneath::new(root, AccessFs::Refer))
        .map_err(error_text)?;
    Ok(rules.restrict_self().map_err(error_text)?.ruleset)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::Command;
    use std::thread;

    use super::*;

    /// Tests the restrictions in a separate thread, because they apply permanently to the thread that sets them.
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
                // Without Landlock in the kernel, both results are reversed.
                assert_eq!(program.is_err(), held.is_ok(), "{held:?} {program:?}");
                held
            };
            scope.spawn(work).join().expect("the restricted thread")
        });
        fs::remove_dir_all(&folder).expect("removed");
        println!("{held:?}");
    }
}
