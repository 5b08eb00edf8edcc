//! The log files and syslog servers of a process.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::OpenOptions;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use myriad_conf::settings::{ErrorLog as ErrorLogConf, LogLevel, SyslogConf};
use parking_lot::Mutex;

use crate::error_log::{ErrorLog, Sink, Target};
use crate::level::Level;
use crate::log_file::LogFile;
use crate::syslog::Syslog;

/// The log files and syslog servers of a process, each opened once however many logs name it.
#[derive(Default)]
pub struct Logs {
    files: Mutex<HashMap<PathBuf, Arc<LogFile>>>,
    syslogs: Mutex<Vec<(SyslogConf, Arc<Syslog>)>>,
    nowhere: bool,
}

impl Logs {
    /// Logs that write to nothing and connect to nobody, for a check of a configuration.
    pub fn nowhere() -> Self {
        Self { nowhere: true, ..Self::default() }
    }

    /// Takes files opened with `O_APPEND` under their absolute paths. The descriptor of a file that is known already is swapped, so
    /// that all who write to it go on.
    pub fn take(&self, opened: Vec<(PathBuf, OwnedFd)>) {
        let mut files = self.files.lock();
        for (path, descriptor) in opened {
            match files.get(&path) {
                Some(file) => file.replace(descriptor),
                None => {
                    files.insert(path.clone(), Arc::new(LogFile::new(path, descriptor)));
                }
            }
        }
    }

    /// The file at an absolute path, opened now where it was not taken; none where it cannot be opened.
    pub fn file(&self, path: &Path) -> Option<Arc<LogFile>> {
        let mut files = self.files.lock();
        if let Some(file) = files.get(path) {
            return Some(Arc::clone(file));
        }
        let target = if self.nowhere { Path::new("/dev/null") } else { path };
        let opened = OpenOptions::new().append(true).create(true).mode(0o644).open(target).ok()?;
        let file = Arc::new(LogFile::new(path.to_owned(), OwnedFd::from(opened)));
        files.insert(path.to_owned(), Arc::clone(&file));
        Some(file)
    }

    /// The syslog server of a configuration, one socket for all who name it alike; none where its name cannot be resolved. Blocks
    /// while a name is looked up.
    pub fn syslog(&self, conf: &SyslogConf) -> Option<Arc<Syslog>> {
        let mut servers = self.syslogs.lock();
        if let Some((_, known)) = servers.iter().find(|(known, _)| known == conf) {
            return Some(Arc::clone(known));
        }
        // A check must not wait for name servers.
        let syslog = Arc::new(Syslog::new(conf.clone()).ok().filter(|_| !self.nowhere)?);
        servers.push((conf.clone(), Arc::clone(&syslog)));
        Some(syslog)
    }

    /// The error log that `error_log` directives describe, their paths relative to `prefix`. A target that cannot be opened is left
    /// out.
    pub fn error_log(&self, targets: &[ErrorLogConf], prefix: &Path) -> ErrorLog {
        let targets = targets
            .iter()
            .filter_map(|target| {
                let level = level(target.level);
                if let Some(syslog) = &target.syslog {
                    return Some(Target { sink: Sink::Syslog(self.syslog(syslog)?), level });
                }
                if target.target.bytes() == b"stderr" {
                    return Some(Target { sink: Sink::Stderr, level });
                }
                let path = prefix.join(Path::new(OsStr::from_bytes(target.target.bytes())));
                Some(Target { sink: Sink::File(self.file(&path)?), level })
            })
            .collect();
        ErrorLog::new(targets)
    }
}

fn level(level: LogLevel) -> Level {
    match level {
        LogLevel::Emerg => Level::Emerg,
        LogLevel::Alert => Level::Alert,
        LogLevel::Crit => Level::Crit,
        LogLevel::Error => Level::Error,
        LogLevel::Warn => Level::Warn,
        LogLevel::Notice => Level::Notice,
        LogLevel::Info => Level::Info,
        LogLevel::Debug => Level::Debug,
    }
}
