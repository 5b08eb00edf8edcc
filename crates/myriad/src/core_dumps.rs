//! Core dumps: files that the kernel writes when a signal terminates a process. They contain its memory, including
//! keys.

use std::io;

use rustix::process::{DumpableBehavior, Resource, Rlimit, getrlimit, set_dumpable_behavior, setrlimit};

/// Disables core dumps of the supervisor.
///
/// The limit is one byte, not 0: if a program receives the dumps (`core_pattern`), the kernel ignores all limits except
/// 1. Other processes of the user can still access this process, which `myriad upgrade` and `takeover` require.
pub(crate) fn disable() -> io::Result<()> {
    let least = Rlimit { current: Some(1), maximum: getrlimit(Resource::Core).maximum };
    Ok(setrlimit(Resource::Core, least)?)
}

/// Sets the limit of the worker's core dumps to `worker_rlimit_core`, in bytes; `None` sets it to 0. This is both the
/// soft and the hard limit. Must be called before the process drops its rights.
pub(crate) fn limit(core: Option<u64>) -> io::Result<()> {
    let bytes = Some(core.unwrap_or(0));
    Ok(setrlimit(Resource::Core, Rlimit { current: bytes, maximum: bytes })?)
}

/// Enables core dumps of the worker process if `worker_rlimit_core` is above 0, and disables them otherwise.
///
/// Must be called after the process has changed its user, because the kernel disables dumps at that change. While dumps
/// are disabled, other processes of the user cannot read its memory either.
pub(crate) fn apply(core: Option<u64>) -> io::Result<()> {
    let wanted = core.is_some_and(|bytes| bytes > 0);
    let behavior = if wanted { DumpableBehavior::Dumpable } else { DumpableBehavior::NotDumpable };
    Ok(set_dumpable_behavior(behavior)?)
}
