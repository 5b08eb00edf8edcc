//! The log files: found in the model, opened by the supervisor, handed to the worker as descriptors.

use std::fs::OpenOptions;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use myriad_conf::model::LogLevel;
use myriad_conf::{Model, Settings, Span};
use myriad_serve::error_log::{ErrorLog, Level, LogFile, Sink, Target};

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
        for path in wanted(model, paths)? {
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

fn wanted(model: &Model, paths: &Paths) -> Result<Vec<PathBuf>, String> {
    let mut found = Found { paths, files: Vec::new(), refused: Vec::new() };
    for log in &model.main.error_logs {
        found.add(log.target.bytes());
    }
    if let Some(http) = &model.http {
        // The default access log of the http level itself is not in use where every server names another.
        let written = http.settings.log.access.iter().any(|log| log.path.span != Span::default());
        http.levels().into_iter().skip(usize::from(!written)).for_each(|settings| found.settings(settings));
    }
    match found.refused.first() {
        Some(target) => Err(format!("the log \"{target}\" is not supported: name a file or \"stderr\"")),
        None => Ok(found.files),
    }
}

struct Found<'a> {
    paths: &'a Paths,
    files: Vec<PathBuf>,
    /// Targets of a kind that Myriad does not have.
    refused: Vec<String>,
}

impl Found<'_> {
    fn add(&mut self, written: &[u8]) {
        if written.starts_with(b"syslog:") || written.starts_with(b"memory:") {
            self.refused.push(String::from_utf8_lossy(written).into_owned());
            return;
        }
        // A path with variables is opened when its value is known.
        if written == b"stderr" || written.is_empty() || written.contains(&b'$') {
            return;
        }
        let path = self.paths.complete(written);
        if !self.files.contains(&path) {
            self.files.push(path);
        }
    }

    fn settings(&mut self, settings: &Settings) {
        for log in &settings.log.access {
            self.add(log.path.bytes());
        }
        for log in &settings.log.error {
            self.add(log.target.bytes());
        }
    }
}
