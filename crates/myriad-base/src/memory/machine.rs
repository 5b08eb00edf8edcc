//! Parsing of the kernel's files about memory.

/// Returns the resident memory of the process in bytes: `VmRSS` in `status`, the text of `/proc/self/status` (proc(5)),
/// which may be truncated. `None` if the value is missing or invalid.
pub fn resident_bytes(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix("kB")?.trim_end().parse::<u64>().ok()?.checked_mul(1024)
}

/// Returns the path of the process's control group (version 2) without the leading slash (empty for the root group),
/// from the text of `/proc/self/cgroup` (cgroups(7)); `None` if there is none.
pub fn group_path(cgroup: &str) -> Option<&str> {
    cgroup.lines().find_map(|line| line.strip_prefix("0::/"))
}

/// Returns the limit of a control group in bytes, from the text of `memory.max`; `None` if it is `max` or invalid.
pub fn group_limit(memory_max: &str) -> Option<u64> {
    memory_max.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_read_as_the_kernel_writes_them() {
        let status = "Name:\tmyriad\nVmHWM:\t   99 kB\nVmRSS:\t  247321 kB\nRssAnon:\t 1 kB\nRss";
        assert_eq!(resident_bytes(status), Some(247_321 * 1024));
        assert_eq!(
            group_path("1:name=systemd:/x\n0::/system.slice/myriad.service\n"),
            Some("system.slice/myriad.service")
        );
        assert_eq!(group_path("0::/\n"), Some(""));
        assert_eq!((group_limit("max\n"), group_limit("536870912\n")), (None, Some(536_870_912)));
    }

    #[test]
    fn what_is_no_such_text_gives_no_figure() {
        for text in [
            "",
            "x",
            "VmRSS:",
            "VmRSS: 5 MB",
            "VmRSS: 99999999999999999999 kB",
            "VmRSS:\t 99999999999999999 kB",
        ] {
            assert_eq!((resident_bytes(text), group_path(text)), (None, None), "{text}");
        }
        assert_eq!(group_limit("-1"), None);
    }
}
