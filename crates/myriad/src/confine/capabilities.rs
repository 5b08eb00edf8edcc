//! Capabilities (capabilities(7)).

use std::io;

use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};

/// Capabilities for files of other users. A worker with `user root;` needs them to read the same files as without the
/// sandbox.
const OF_FILES: [(CapabilitySet, &str); 5] = [
    (CapabilitySet::CHOWN, "CAP_CHOWN"),
    (CapabilitySet::DAC_OVERRIDE, "CAP_DAC_OVERRIDE"),
    (CapabilitySet::DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH"),
    (CapabilitySet::FOWNER, "CAP_FOWNER"),
    (CapabilitySet::FSETID, "CAP_FSETID"),
];

/// Drops all capabilities, except that a process of root retains those of [`OF_FILES`] that are in effect. Returns the
/// names of the retained capabilities.
pub(super) fn drop_all_but_files() -> io::Result<Vec<&'static str>> {
    let before = capabilities(None)?;
    let is_root = rustix::process::geteuid().is_root();
    let retained: Vec<_> =
        OF_FILES.into_iter().filter(|(one, _)| is_root && before.effective.contains(*one)).collect();
    let left = retained.iter().fold(CapabilitySet::empty(), |all, (one, _)| all | *one);
    rustix::thread::clear_ambient_capability_set().or_else(ignore_unsupported)?;
    set_capabilities(
        None,
        CapabilitySets { effective: left, permitted: left, inheritable: CapabilitySet::empty() },
    )?;
    Ok(retained.into_iter().map(|(_, name)| name).collect())
}

/// Ignores the error of kernels before 4.3, which have no ambient set.
fn ignore_unsupported(error: rustix::io::Errno) -> Result<(), rustix::io::Errno> {
    if error == rustix::io::Errno::INVAL { Ok(()) } else { Err(error) }
}
