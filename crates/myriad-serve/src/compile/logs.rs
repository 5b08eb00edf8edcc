//! Log files: opened by whoever may, given by path.

use std::collections::HashMap;
use std::fs::OpenOptions;
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use myriad_conf::settings::{self, OpenLogFileCache, SyslogConf};
use myriad_conf::settings::{ErrorLog as ErrorLogConf, LogLevel};
use myriad_log::{BufferRules, ErrorLog, Level, LogFile, LogTarget, OpenFiles, Sink, Syslog, Target};
use parking_lot::Mutex;

use super::Compile;
use crate::runtime::AccessLog;

/// The log files of the process.
#[derive(Default)]
pub(crate) struct Logs {
    files: Mutex<HashMap<PathBuf, Arc<LogFile>>>,
    syslogs: Mutex<Vec<(SyslogConf, Arc<Syslog>)>>,
    nowhere: bool,
}

impl Logs {
    /// Logs that write to nothing, for a check.
    pub(crate) fn nowhere() -> Self {
        Self { nowhere: true, ..Self::default() }
    }

    /// Takes opened files; one that is known already is swapped, so that everything that writes to it goes on.
    pub(crate) fn take(&self, opened: Vec<(PathBuf, OwnedFd)>) {
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

    /// The file at an absolute path, opened now where it was not given.
    fn file(&self, path: &Path) -> Option<Arc<LogFile>> {
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

    /// The syslog server of a configuration; one socket for all who name it alike.
    fn syslog(&self, conf: &SyslogConf) -> Option<Arc<Syslog>> {
        let mut servers = self.syslogs.lock();
        if let Some((_, known)) = servers.iter().find(|(known, _)| known == conf) {
            return Some(Arc::clone(known));
        }
        // A check must not wait for name servers.
        let syslog = Arc::new(Syslog::new(conf.clone()).ok().filter(|_| !self.nowhere)?);
        servers.push((conf.clone(), Arc::clone(&syslog)));
        Some(syslog)
    }

    /// The error log that `error_log` directives describe.
    pub(crate) fn error_log(&self, targets: &[ErrorLogConf], prefix: &Path) -> ErrorLog {
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
                let path = prefix.join(crate::files::path::as_path(target.target.bytes()));
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

impl Compile<'_> {
    /// The error log of a level: its own, else the main one.
    pub(super) fn error_log(&self, own: &[ErrorLogConf]) -> ErrorLog {
        let targets = if own.is_empty() { &self.model.main.error_logs[..] } else { own };
        self.around.logs.error_log(targets, self.around.prefix)
    }

    pub(super) fn access_log(
        &mut self,
        log: &settings::AccessLog,
        open: Option<OpenLogFileCache>,
    ) -> Option<AccessLog> {
        let format = self.formats.iter().position(|format| format.name == log.format)?;
        let target = if let Some(syslog) = &log.syslog {
            LogTarget::Syslog(self.around.logs.syslog(syslog)?)
        } else if log.path.has_variables() {
            let open = open.map(|open| OpenFiles {
                most: usize::try_from(open.max).unwrap_or(usize::MAX),
                inactive_ms: open.inactive,
                min_uses: open.min_uses,
                valid_ms: open.valid,
            });
            LogTarget::Variable(self.template(&log.path), open)
        } else {
            let path = self.absolute(&log.path);
            LogTarget::File {
                file: self.around.logs.file(&path)?,
                buffer: log.buffer.map(|bytes| BufferRules {
                    size: bytes as usize,
                    flush_ms: log.flush,
                    gzip: log.gzip,
                }),
            }
        };
        let condition = log.condition.as_ref().map(|condition| {
            let template = self.template(condition);
            myriad_script::Predicates::new(vec![template])
        });
        Some(AccessLog { format, target, condition })
    }
}
