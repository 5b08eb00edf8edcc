//! Kernel settings, and limits of open files.

use crate::tune::amount::GIB;
use crate::tune::facts::MachineFacts;
use crate::tune::file::{ConfigFile, FileFormat};

/// Returns the files with kernel settings and with limits.
pub(crate) fn files(facts: &MachineFacts) -> Vec<ConfigFile> {
    vec![sysctl(facts), limits(facts)]
}

fn sysctl(facts: &MachineFacts) -> ConfigFile {
    let path = "/etc/sysctl.d/99-myriad.conf";
    let mut file = ConfigFile::new(path, FileFormat::Sysctl, "kernel", format!("sysctl -p {path}"));
    let backlog = if facts.memory < 4 * GIB { 4096 } else { 16384 };
    let mut raise = |name: &str, value: u64, why: &str| {
        // The present value is retained if it is higher.
        let now = facts.kernel.iter().find(|(known, _)| known == name).map_or(0, |(_, value)| *value);
        file.set("", name, value.max(now), why);
    };
    raise(
        "net.core.somaxconn",
        backlog,
        "maximum number of connections that wait to be accepted, per socket",
    );
    raise("net.ipv4.tcp_max_syn_backlog", backlog, "maximum number of half-open connections, per socket");
    raise("net.core.rmem_max", 7_500_000, "HTTP/3 uses one socket for all clients");
    raise("net.core.wmem_max", 7_500_000, "as above");
    raise("fs.file-max", descriptors(facts) * 4, "file descriptors of all programs");
    file.set("", "vm.swappiness", 10, "the planned memory does not require swapping");
    file.set(
        "",
        "net.ipv4.tcp_slow_start_after_idle",
        0,
        "connections continue at full speed after idle periods",
    );
    if facts.object_cache.is_some() {
        file.set(
            "",
            "vm.overcommit_memory",
            1,
            "the object cache forks to save its data: both processes share the memory",
        );
    }
    file
}

/// Returns the limit of open files for a program: for 16,384 connections per core, two each (the connection, and a file
/// or an origin connection), and some more; at least 65,536 and at most 1,048,576.
fn descriptors(facts: &MachineFacts) -> u64 {
    (u64::from(facts.cores.max(1)) * 16384 * 2 + 4096).clamp(65_536, 1 << 20)
}

fn limits(facts: &MachineFacts) -> ConfigFile {
    let activate = "log in again; systemd services use LimitNOFILE";
    let mut file =
        ConfigFile::new("/etc/security/limits.d/99-myriad.conf", FileFormat::Limits, "limits", activate);
    let count = descriptors(facts);
    for (who, why) in [
        ("*", "file descriptors of servers that are started from a login session"),
        ("root", "root needs its own line: `*` does not include it"),
    ] {
        file.set("", &format!("{who} soft nofile"), count.min(65_536), why);
        file.set(
            "",
            &format!("{who} hard nofile"),
            count,
            "as above; Myriad raises its own limit to this value",
        );
    }
    file
}
