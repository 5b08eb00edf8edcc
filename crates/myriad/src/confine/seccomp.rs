//! System call filter with an allowlist (seccomp(2)).
//!
//! A system call that is not on the list fails with `ENOSYS`, as if the kernel did not implement it, which libraries
//! handle. A compromised process cannot start a program, debug another process, mount, load code into the kernel, or
//! listen.

use std::collections::BTreeMap;
use std::env::consts::ARCH;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch,
};

/// System calls that are allowed with any arguments, by purpose.
#[rustfmt::skip]
const FREE: &[libc::c_long] = &[
    // Files.
    libc::SYS_openat, libc::SYS_openat2, libc::SYS_close, libc::SYS_close_range, libc::SYS_read, libc::SYS_readv,
    libc::SYS_pread64, libc::SYS_preadv, libc::SYS_preadv2, libc::SYS_write, libc::SYS_writev, libc::SYS_pwrite64,
    libc::SYS_pwritev, libc::SYS_pwritev2, libc::SYS_lseek, libc::SYS_fstat, libc::SYS_newfstatat, libc::SYS_statx,
    libc::SYS_statfs, libc::SYS_fstatfs, libc::SYS_faccessat, libc::SYS_faccessat2, libc::SYS_readlinkat,
    libc::SYS_getdents64, libc::SYS_getcwd, libc::SYS_chdir, libc::SYS_fchdir, libc::SYS_mkdirat, libc::SYS_unlinkat,
    libc::SYS_renameat, libc::SYS_renameat2, libc::SYS_linkat, libc::SYS_symlinkat, libc::SYS_fchmod, libc::SYS_fchmodat,
    libc::SYS_fchown, libc::SYS_fchownat, libc::SYS_utimensat, libc::SYS_ftruncate, libc::SYS_truncate,
    libc::SYS_fallocate, libc::SYS_fadvise64, libc::SYS_fsync, libc::SYS_fdatasync, libc::SYS_sync_file_range,
    libc::SYS_flock, libc::SYS_fcntl, libc::SYS_ioctl, libc::SYS_dup, libc::SYS_dup3, libc::SYS_pipe2, libc::SYS_umask,
    libc::SYS_sendfile, libc::SYS_splice, libc::SYS_tee, libc::SYS_copy_file_range, libc::SYS_memfd_create,
    libc::SYS_fgetxattr, libc::SYS_fsetxattr, libc::SYS_flistxattr, libc::SYS_fremovexattr, libc::SYS_getxattr,
    libc::SYS_setxattr, libc::SYS_listxattr, libc::SYS_removexattr,
    libc::SYS_inotify_init1, libc::SYS_inotify_add_watch, libc::SYS_inotify_rm_watch,
    // Sockets that connect or accept; `listen` is missing.
    libc::SYS_socketpair, libc::SYS_bind, libc::SYS_connect, libc::SYS_accept, libc::SYS_accept4, libc::SYS_getsockname,
    libc::SYS_getpeername, libc::SYS_getsockopt, libc::SYS_setsockopt, libc::SYS_shutdown, libc::SYS_recvfrom,
    libc::SYS_recvmsg, libc::SYS_recvmmsg, libc::SYS_sendto, libc::SYS_sendmsg, libc::SYS_sendmmsg,
    // Events.
    libc::SYS_epoll_create1, libc::SYS_epoll_ctl, libc::SYS_epoll_pwait, libc::SYS_epoll_pwait2, libc::SYS_ppoll,
    libc::SYS_pselect6, libc::SYS_eventfd2, libc::SYS_timerfd_create, libc::SYS_timerfd_settime,
    libc::SYS_timerfd_gettime, libc::SYS_signalfd4,
    // Memory.
    libc::SYS_mmap, libc::SYS_munmap, libc::SYS_mremap, libc::SYS_mprotect, libc::SYS_madvise, libc::SYS_mincore,
    libc::SYS_msync, libc::SYS_mlock, libc::SYS_mlock2, libc::SYS_munlock, libc::SYS_brk, libc::SYS_membarrier,
    libc::SYS_get_mempolicy, libc::SYS_mbind, libc::SYS_set_mempolicy,
    // Threads and timers.
    libc::SYS_futex, libc::SYS_set_robust_list, libc::SYS_get_robust_list, libc::SYS_rseq, libc::SYS_set_tid_address,
    libc::SYS_gettid, libc::SYS_getpid, libc::SYS_getppid, libc::SYS_sched_yield, libc::SYS_sched_getaffinity,
    libc::SYS_sched_setaffinity, libc::SYS_sched_getparam, libc::SYS_sched_getscheduler, libc::SYS_getcpu,
    libc::SYS_getpriority, libc::SYS_setpriority, libc::SYS_exit, libc::SYS_exit_group, libc::SYS_nanosleep,
    libc::SYS_clock_nanosleep, libc::SYS_clock_gettime, libc::SYS_clock_getres, libc::SYS_gettimeofday,
    libc::SYS_prctl, libc::SYS_getrandom, libc::SYS_restart_syscall, libc::SYS_ioprio_set, libc::SYS_ioprio_get,
    // Signals to the process itself; signals to other processes are prohibited by `Scope::Signal`.
    libc::SYS_rt_sigaction, libc::SYS_rt_sigprocmask, libc::SYS_rt_sigreturn, libc::SYS_rt_sigpending,
    libc::SYS_rt_sigtimedwait, libc::SYS_sigaltstack,
    // Information on the process and the machine.
    libc::SYS_getuid, libc::SYS_geteuid, libc::SYS_getgid, libc::SYS_getegid, libc::SYS_getgroups, libc::SYS_getresuid,
    libc::SYS_getresgid, libc::SYS_capget, libc::SYS_uname, libc::SYS_sysinfo, libc::SYS_getrusage, libc::SYS_times,
];

/// System calls that older C libraries use instead of their replacements in [`FREE`]; allowed with any arguments.
#[cfg(target_arch = "x86_64")]
#[rustfmt::skip]
const OLDER: &[libc::c_long] = &[
    libc::SYS_open, libc::SYS_stat, libc::SYS_lstat, libc::SYS_access, libc::SYS_readlink, libc::SYS_mkdir,
    libc::SYS_rmdir, libc::SYS_unlink, libc::SYS_rename, libc::SYS_link, libc::SYS_symlink, libc::SYS_chmod,
    libc::SYS_chown, libc::SYS_lchown, libc::SYS_utime, libc::SYS_utimes, libc::SYS_pipe, libc::SYS_dup2,
    libc::SYS_poll, libc::SYS_select, libc::SYS_epoll_wait, libc::SYS_time, libc::SYS_arch_prctl, libc::SYS_getdents,
    libc::SYS_inotify_init,
];
#[cfg(not(target_arch = "x86_64"))]
const OLDER: &[libc::c_long] = &[];

/// Permitted socket families: Unix, IPv4, IPv6, and netlink, by which the C library queries the addresses of this
/// machine.
const FAMILIES: [libc::c_int; 4] = [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];

/// Restricts this thread and the threads that it starts to the listed system calls.
///
/// # Errors
/// Returns the reason if the filter cannot be installed.
pub(super) fn filter() -> Result<(), String> {
    let program = program(std::process::id()).map_err(|error| error.to_string())?;
    seccompiler::apply_filter(&program).map_err(|error| error.to_string())
}

fn program(process: u32) -> Result<BpfProgram, seccompiler::Error> {
    let architecture: TargetArch = ARCH.try_into()?;
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        FREE.iter().chain(OLDER).map(|&call| (call, Vec::new())).collect();
    let equal = |argument, value| single_condition(argument, SeccompCmpOp::Eq, value);
    // `clone` may create threads but not processes. A filter cannot read the flags of `clone3`, so that call is not on
    // the list, and the C library uses `clone` instead.
    let thread = libc::CLONE_THREAD as u64;
    rules.insert(libc::SYS_clone, vec![single_condition(0, SeccompCmpOp::MaskedEq(thread), thread)?]);
    let families = FAMILIES.iter().map(|&family| equal(0, family as u64)).collect::<Result<_, _>>()?;
    rules.insert(libc::SYS_socket, families);
    // `kill` of this process, by which a failed assertion of a library terminates it, and `prlimit64` of this process.
    let itself = u64::from(process);
    rules.insert(libc::SYS_kill, vec![equal(0, itself)?]);
    rules.insert(libc::SYS_tgkill, vec![equal(0, itself)?]);
    rules.insert(libc::SYS_prlimit64, vec![equal(0, 0)?, equal(0, itself)?]);
    let refused = SeccompAction::Errno(libc::ENOSYS as u32);
    Ok(SeccompFilter::new(rules, refused, SeccompAction::Allow, architecture)?.try_into()?)
}

/// Creates a seccomp rule with one condition on the lower 32 bits of an argument.
fn single_condition(
    argument: u8,
    operator: SeccompCmpOp,
    value: u64,
) -> Result<SeccompRule, seccompiler::Error> {
    let condition = SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)?;
    Ok(SeccompRule::new(vec![condition])?)
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::process::Command;
    use std::thread;

    use super::*;

    /// Tests the filter in separate threads, because it applies permanently to the thread that installs it.
    #[test]
    fn filtered_thread_serves_and_starts_no_program_and_does_not_listen() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("its address");
        thread::spawn(move || {
            filter().expect("a filter");
            let other = thread::spawn(move || TcpStream::connect(address).is_ok());
            assert!(listener.accept().is_ok() && other.join().expect("a thread of its own"));
            assert!(std::fs::read("/proc/self/status").is_ok());
            let program = Command::new("/bin/true").spawn();
            assert!(program.is_err(), "{program:?}");
            let port = TcpListener::bind("127.0.0.1:0");
            assert_eq!(port.map(drop).map_err(|error| error.raw_os_error()), Err(Some(libc::ENOSYS)));
        })
        .join()
        .expect("the filtered thread");
    }
}
