//! Memory of the machine, and memory used by the process.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use myriad_base::memory::{group_limit, group_path, resident_bytes};

/// Mount point of version 2 control groups (cgroups).
const GROUPS: &str = "/sys/fs/cgroup";
/// File with the memory limit of a container's control group in version 1, in bytes.
const FIRST_VERSION: &str = "/sys/fs/cgroup/memory/memory.limit_in_bytes";

/// Returns the memory available to the process, in bytes: that of the machine, or the smallest limit of its control
/// groups if that is less.
pub fn available_memory() -> u64 {
    let whole = rustix::system::sysinfo();
    let whole = whole.totalram as u64 * u64::from(whole.mem_unit.max(1));
    let own = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let mut bounds = group_limit_files(Path::new(GROUPS), group_path(&own).unwrap_or_default());
    bounds.push(FIRST_VERSION.into());
    let least = bounds.iter().filter_map(|path| group_limit(&std::fs::read_to_string(path).ok()?)).min();
    least.unwrap_or(u64::MAX).min(whole)
}

/// Returns the limit files of a control group and of all groups that contain it. `root` is the mount point.
fn group_limit_files(root: &Path, group: &str) -> Vec<PathBuf> {
    let around = Path::new(group).ancestors().map(|group| root.join(group).join("memory.max"));
    around.collect()
}

/// Number of bytes read from `/proc/self/status`. The memory figure (`VmRSS`) is within them, unless the user is a
/// member of a thousand groups.
const STATUS: usize = 16 << 10;

/// Reader of the process's resident memory (`RSS` in `ps`). Each [`Self::bytes`] is one system call.
pub(crate) struct ResidentMemory {
    status: File,
    text: Vec<u8>,
}

impl ResidentMemory {
    /// Opens `/proc/self/status`, from which the memory is read.
    pub(crate) fn open() -> io::Result<Self> {
        Self::open_at(Path::new("/proc/self/status"))
    }

    /// Opens a file in the format of `/proc/self/status`, for tests.
    pub(crate) fn open_at(path: &Path) -> io::Result<Self> {
        Ok(Self { status: File::open(path)?, text: vec![0; STATUS] })
    }

    /// Returns the resident memory in bytes. Returns an error if the file cannot be read or contains no `VmRSS`.
    pub(crate) fn bytes(&mut self) -> io::Result<u64> {
        let length = self.status.read_at(&mut self.text, 0)?;
        let found = resident_bytes(&String::from_utf8_lossy(&self.text[..length]));
        found.ok_or_else(|| io::Error::other("/proc/self/status contains no memory figures"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_bounded_by_all_groups_around_it() {
        let paths = group_limit_files(Path::new("/g"), "system.slice/myriad.service");
        let paths: Vec<_> = paths.iter().map(|path| path.display().to_string()).collect();
        assert_eq!(
            paths,
            ["/g/system.slice/myriad.service/memory.max", "/g/system.slice/memory.max", "/g/memory.max"]
        );
        assert_eq!(group_limit_files(Path::new("/g"), ""), [Path::new("/g/memory.max")]);
    }

    #[test]
    fn resident_memory_is_re_read_each_time() {
        let path = std::env::temp_dir().join(format!("myriad-status-{}", std::process::id()));
        let mut seen = Vec::new();
        std::fs::write(&path, "Name:\tmyriad\nVmRSS:\t    1000 kB\n").expect("written");
        let mut resident = ResidentMemory::open_at(&path).expect("opened");
        seen.extend(resident.bytes());
        std::fs::write(&path, "Name:\tmyriad\nVmRSS:\t    2000 kB\n").expect("written");
        seen.extend(resident.bytes());
        std::fs::remove_file(&path).expect("removed");
        assert_eq!(seen, [1000 << 10, 2000 << 10]);
        let own = ResidentMemory::open().and_then(|mut resident| resident.bytes()).expect("a figure");
        assert!(
            own > 0 && own < available_memory(),
            "the process uses more than the available memory: {own}"
        );
    }
}
