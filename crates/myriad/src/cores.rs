//! Cores: files that the kernel writes of a process which ends by a signal, with all that is in its memory. Keys are among it.

use std::io;

use rustix::process::{DumpableBehavior, Resource, Rlimit, getrlimit, set_dumpable_behavior, setrlimit};

/// Lets no core of the supervisor be written. The limit of one byte, and no other, also counts where a program takes cores
/// (`core_pattern`). Others with the same user may still look at the process, as `myriad upgrade` and `takeover` do.
pub(crate) fn refuse() -> io::Result<()> {
    let least = Rlimit { current: Some(1), maximum: getrlimit(Resource::Core).maximum };
    Ok(setrlimit(Resource::Core, least)?)
}

/// Limits cores of the worker process to `worker_rlimit_core`, bytes; must come before it gives up its rights.
pub(crate) fn limit(core: Option<u64>) -> io::Result<()> {
    let bytes = Some(core.unwrap_or(0));
    Ok(setrlimit(Resource::Core, Rlimit { current: bytes, maximum: bytes })?)
}

/// Writes cores of the worker process with `worker_rlimit_core` alone. Must come after it has become another user, since the kernel writes
/// none of a process that has. Without cores no other process of the user may read its memory either.
pub(crate) fn settle(core: Option<u64>) -> io::Result<()> {
    let wanted = core.is_some_and(|bytes| bytes > 0);
    let behavior = if wanted { DumpableBehavior::Dumpable } else { DumpableBehavior::NotDumpable };
    Ok(set_dumpable_behavior(behavior)?)
}
