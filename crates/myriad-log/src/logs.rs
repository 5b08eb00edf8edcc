//! Log files and syslog servers of a process.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::OpenOptions;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use myriad_conf::settings::{ErrorLog as ErrorLogConf, SyslogConf};
use parking_lot::Mutex;

use crate::MODE;
use crate::access::LogThreads;
use crate::error_log::{ErrorLog, ErrorLogTarget, LogSink};
use crate::log_file::LogFile;
use crate::syslog::Syslog;

/// Log files and syslog servers of a process. Each is opened only once, however many logs use it.
#[derive(Default)]
pub struct Logs {
    files: Mutex<HashMap<PathBuf, Arc<LogFile>>>,
    syslogs: Mutex<Vec<(SyslogConf, Arc<Syslog>)>>,
    threads: Arc<LogThreads>,
    /// True in a configuration test: log files are replaced by `/dev/null`, and no syslog server is used.
    nowhere: bool,
}

impl Logs {
    /// Creates an instance for configuration tests: it opens `/dev/null` instead of log files, and no syslog server.
    /// Only messages to standard error are written.
    pub fn without_outputs() -> Self {
        Self { nowhere: true, ..Self::default() }
    }

    /// Returns the threads that write access logs.
    pub fn threads(&self) -> &Arc<LogThreads> {
        &self.threads
    }

    /// Writes lines about suppressed repetitions of error log messages whose interval is over at `now_ms` (milliseconds
    /// since the Unix epoch), and reports lost access log lines to `log`. Must be called about once a second.
    pub fn maintain(&self, now_ms: u64, log: &ErrorLog) {
        let files: Vec<_> = self.files.lock().values().map(Arc::clone).collect();
        for file in files {
            LogSink::File(file).write_repeats(now_ms);
        }
        let syslogs: Vec<_> = self.syslogs.lock().iter().map(|(_, syslog)| Arc::clone(syslog)).collect();
        for syslog in syslogs {
            LogSink::Syslog(syslog).write_repeats(now_ms);
        }
        LogSink::Stderr.write_repeats(now_ms);
        for loss in self.threads.losses() {
            log.write(loss.level(), None, format_args!("{loss}"));
        }
    }

    /// Adds files that were opened with `O_APPEND`, by their absolute paths. If a file with the path is known already,
    /// its descriptor is replaced, so that all logs that share the file use the new descriptor.
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

    /// Returns the file with an absolute path; opens it, and creates it if necessary, unless it is open already. `None`
    /// if it cannot be opened. For configuration tests, opens `/dev/null` instead.
    pub fn file(&self, path: &Path) -> Option<Arc<LogFile>> {
        let mut files = self.files.lock();
        if let Some(file) = files.get(path) {
            return Some(Arc::clone(file));
        }
        let target = if self.nowhere { Path::new("/dev/null") } else { path };
        let opened = OpenOptions::new().append(true).create(true).mode(MODE).open(target).ok()?;
        let file = Arc::new(LogFile::new(path.to_owned(), OwnedFd::from(opened)));
        files.insert(path.to_owned(), Arc::clone(&file));
        Some(file)
    }

    /// Returns the syslog server with these settings; logs with equal settings share it. `None` if its name cannot be
    /// resolved, and always in a configuration test ([`Logs::without_outputs`]). Blocks during the resolution.
    pub fn syslog(&self, conf: &SyslogConf) -> Option<Arc<Syslog>> {
        let mut servers = self.syslogs.lock();
        if let Some((_, known)) = servers.iter().find(|(known, _)| known == conf) {
            return Some(Arc::clone(known));
        }
        // A configuration test uses no syslog server.
        let syslog = Arc::new(Syslog::new(conf.clone()).ok().filter(|_| !self.nowhere)?);
        servers.push((conf.clone(), Arc::clone(&syslog)));
        Some(syslog)
    }

    /// Creates the error log of `error_log` directives. Relative paths are resolved against `prefix`; targets that
    /// cannot be opened are omitted.
    pub fn error_log(&self, targets: &[ErrorLogConf], prefix: &Path) -> ErrorLog {
        let targets = targets.iter().filter_map(|conf| {
            let sink = match &conf.syslog {
                Some(syslog) => LogSink::Syslog(self.syslog(syslog)?),
                None if conf.target.bytes() == b"stderr" => LogSink::Stderr,
                None => {
                    let path = prefix.join(Path::new(OsStr::from_bytes(conf.target.bytes())));
                    LogSink::File(self.file(&path)?)
                }
            };
            let (level, is_json, repeats_all) = (conf.level, conf.is_json, conf.repeats_all);
            Some(ErrorLogTarget { sink, level, is_json, repeats_all })
        });
        ErrorLog::new(targets.collect())
    }
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;

    use myriad_conf::settings::SyslogServer;
    use myriad_conf::{Span, Text};

    use myriad_conf::settings::LogLevel;

    use super::*;
    use crate::testing::LogTestFolder;

    fn target(path: &str, level: LogLevel) -> ErrorLogConf {
        ErrorLogConf {
            target: Text::new(path, Span::default()),
            syslog: None,
            level,
            is_json: false,
            repeats_all: false,
        }
    }

    fn server(port: u16) -> SyslogConf {
        let server = SyslogServer::Udp("127.0.0.1".to_owned(), port);
        SyslogConf { server, facility: 23, severity: 6, tag: "nginx".to_owned(), hostname: false }
    }

    #[test]
    fn a_file_is_opened_once_however_many_name_it() {
        let folder = LogTestFolder::new("once");
        let logs = Logs::default();
        let [one, other] = [(); 2].map(|()| logs.file(&folder.path("a.log")).expect("a file"));
        assert!(Arc::ptr_eq(&one, &other));
        one.append(b"x").expect("written");
        assert_eq!(folder.read("a.log"), "x");
    }

    #[test]
    fn reopened_file_is_swapped_for_existing_writers() {
        let folder = LogTestFolder::new("taken");
        let logs = Logs::default();
        logs.take(vec![(folder.path("a.log"), folder.open("a.log"))]);
        let file = logs.file(&folder.path("a.log")).expect("a file");
        std::fs::rename(folder.path("a.log"), folder.path("a.log.1")).expect("a rename");
        file.append(b"old").expect("written");
        logs.take(vec![(folder.path("a.log"), folder.open("a.log"))]);
        file.append(b"new").expect("written");
        assert_eq!((folder.read("a.log.1"), folder.read("a.log")), ("old".to_owned(), "new".to_owned()));
    }

    #[test]
    fn configuration_check_creates_no_file_and_no_syslog_socket() {
        let folder = LogTestFolder::new("check");
        let logs = Logs::without_outputs();
        logs.file(&folder.path("a.log")).expect("a file").append(b"x").expect("written");
        assert!(!folder.path("a.log").exists());
        assert!(logs.syslog(&server(514)).is_none());
        // In a configuration test, a missing folder is not an error.
        assert!(logs.file(&folder.path("missing/a.log")).is_some());
    }

    #[test]
    fn a_file_that_cannot_be_opened_is_none() {
        let folder = LogTestFolder::new("unopened");
        assert!(Logs::default().file(&folder.path("missing/a.log")).is_none());
    }

    #[test]
    fn identical_syslog_configurations_share_one_socket() {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        let port = socket.local_addr().expect("an address").port();
        let logs = Logs::default();
        let one = logs.syslog(&server(port)).expect("a server");
        assert!(Arc::ptr_eq(&one, &logs.syslog(&server(port)).expect("a server")));
        let tagged = SyslogConf { tag: "other".to_owned(), ..server(port) };
        assert!(!Arc::ptr_eq(&one, &logs.syslog(&tagged).expect("a server")));
    }

    #[test]
    fn an_error_log_is_all_its_targets_relative_to_the_prefix() {
        let folder = LogTestFolder::new("targets");
        let logs = Logs::default();
        let log = logs.error_log(
            &[
                target("a.log", LogLevel::Error),
                target("b.log", LogLevel::Info),
                target("no/c.log", LogLevel::Debug),
            ],
            &folder.path(""),
        );
        assert!(
            log.enabled(LogLevel::Info) && !log.enabled(LogLevel::Debug),
            "files that cannot be opened are skipped"
        );
        assert!(!log.reaches_stderr(LogLevel::Emerg));
        log.write(LogLevel::Warn, None, format_args!("warned"));
        log.write(LogLevel::Crit, None, format_args!("told"));
        assert_eq!(folder.read("a.log").lines().count(), 1);
        assert_eq!(folder.read("b.log").lines().count(), 2);
    }

    #[test]
    fn standard_error_is_no_file() {
        let folder = LogTestFolder::new("standard-error");
        let log = Logs::default().error_log(&[target("stderr", LogLevel::Alert)], &folder.path(""));
        assert!(log.reaches_stderr(LogLevel::Alert) && !log.reaches_stderr(LogLevel::Crit));
        assert!(!folder.path("stderr").exists());
    }
}
