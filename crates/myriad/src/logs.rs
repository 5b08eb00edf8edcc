//! The log files: found in the model, opened by the supervisor, handed to the worker as descriptors.

use std::fs::OpenOptions;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use myriad_conf::settings::{ErrorLog as ErrorLogConf, LogLevel};
use myriad_conf::{Model, Settings, Span};
use myriad_serve::error_log::{ErrorLog, Level, LogFile, Sink, Target};
use myriad_serve::syslog::Syslog;

use crate::paths::Paths;
use crate::pidfile::reason;

/// Open log files under their absolute paths.
#[derive(Debug, Default)]
pub(crate) struct Logs {
    files: Vec<(PathBuf, OwnedFd)>,
}

impl Logs {
    /// Opens every file that the model names, creating what is not there.
    pub(crate) fn open(model: &Model, paths: &Paths) -> Result<Self, String> {
        let mut logs = Self::default();
        for path in wanted(model, paths) {
            let descriptor = open(&path)
                .map_err(|error| format!("open() \"{}\" failed ({})", path.display(), reason(&error)))?;
            logs.files.push((path, descriptor));
        }
        Ok(logs)
    }

    /// Paths and descriptors, in the same order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Path, BorrowedFd<'_>)> {
        self.files.iter().map(|(path, descriptor)| (path.as_path(), descriptor.as_fd()))
    }

    /// The main error log on these files.
    pub(crate) fn main(&self, model: &Model, paths: &Paths) -> io::Result<ErrorLog> {
        let mut targets = Vec::new();
        for conf in &model.main.error_logs {
            let level = level(conf.level);
            if let Some(syslog) = &conf.syslog {
                let sink = Sink::Syslog(Arc::new(Syslog::new(syslog.clone())?));
                targets.push(Target { sink, level });
                continue;
            }
            let path = paths.complete(conf.target.bytes());
            let sink = match self.files.iter().find(|(known, _)| *known == path) {
                Some((_, file)) => Sink::File(Arc::new(LogFile::new(path, file.try_clone()?))),
                None if conf.target.bytes() == b"stderr" => Sink::Stderr,
                None => continue,
            };
            targets.push(Target { sink, level });
        }
        Ok(ErrorLog::new(targets))
    }
}

/// Opens one file for appending.
pub(crate) fn open(path: &Path) -> io::Result<OwnedFd> {
    Ok(OpenOptions::new().create(true).append(true).open(path)?.into())
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

fn wanted(model: &Model, paths: &Paths) -> Vec<PathBuf> {
    let mut found = Found { paths, files: Vec::new() };
    model.main.error_logs.iter().for_each(|log| found.error_log(log));
    if let Some(http) = &model.http {
        // The default access log of the http level itself is not in use where every server names another.
        let written = http.settings.log.access.iter().any(|log| log.path.span != Span::default());
        http.levels().into_iter().skip(usize::from(!written)).for_each(|settings| found.settings(settings));
    }
    found.files
}

struct Found<'a> {
    paths: &'a Paths,
    files: Vec<PathBuf>,
}

impl Found<'_> {
    fn add(&mut self, written: &[u8]) {
        // A path with variables is opened when its value is known.
        if written == b"stderr" || written.is_empty() || written.contains(&b'$') {
            return;
        }
        let path = self.paths.complete(written);
        if !self.files.contains(&path) {
            self.files.push(path);
        }
    }

    fn error_log(&mut self, log: &ErrorLogConf) {
        if log.syslog.is_none() {
            self.add(log.target.bytes());
        }
    }

    fn settings(&mut self, settings: &Settings) {
        for log in settings.log.access.iter().filter(|log| log.syslog.is_none()) {
            self.add(log.path.bytes());
        }
        settings.log.error.iter().for_each(|log| self.error_log(log));
    }
}
