//! Log files of a configuration, and the formats of their lines.

use std::fs;
use std::path::{Path, PathBuf};

use crate::log_stats::LogLayout;
use myriad_conf::Settings;
use myriad_conf::model::{HttpConf, LogEscape};

use myriad_cli::cli;
use myriad_cli::configuration::ConfigurationSource;
use myriad_cli::paths::ServerPaths;
use myriad_cli::servers::SelectedServer;
use myriad_cli::wordpress;

/// Log files and formats of a configuration.
#[derive(Debug, Default)]
pub(super) struct ConfiguredLogs {
    /// Access logs, each with the index of its format; `None` if the format is unknown, or its lines cannot be parsed.
    access: Vec<(PathBuf, Option<usize>)>,
    errors: Vec<PathBuf>,
    formats: Vec<(String, LogLayout)>,
}

impl ConfiguredLogs {
    /// Returns the logs of the server that the command-line options select, except access logs of `stream` blocks, logs
    /// to syslog or standard error, and access logs with variables in their path.
    pub(super) fn find(server: &cli::ServerOptions) -> Result<Self, String> {
        let paths = match SelectedServer::of(server) {
            SelectedServer::Configuration(paths) => paths,
            SelectedServer::Preset(prefix) => return Ok(Self::of_preset(&prefix)),
        };
        let directives = server.directives.clone().unwrap_or_default();
        let origin = ConfigurationSource { paths, directives, preset: None };
        let model = origin.survey().map_err(myriad_cli::configuration::errors_of)?.model;
        let mut found = Self::default();
        found.errors_of(&origin.paths, &model.main.error_logs);
        if model.main.error_logs.is_empty() {
            found.errors.extend(origin.paths.error_log.clone());
        }
        if let Some(http) = &model.http {
            found.http(&origin.paths, http);
        }
        if let Some(stream) = &model.stream {
            for settings in stream.levels() {
                found.errors_of(&origin.paths, &settings.log.error);
            }
        }
        Ok(found)
    }

    /// Returns the logs of `myriad wordpress` and `myriad php`, which have no configuration file.
    fn of_preset(prefix: &Path) -> Self {
        let folder = wordpress::logs(prefix);
        let files = fs::read_dir(&folder).into_iter().flatten().flatten().map(|file| file.path());
        let is_of_a_site =
            |path: &PathBuf| path.to_string_lossy().ends_with(&format!(".{}", wordpress::ACCESS_LOG));
        let mut access: Vec<_> = files.filter(is_of_a_site).collect();
        access.sort();
        access.insert(0, folder.join(wordpress::ACCESS_LOG));
        Self {
            access: access.into_iter().map(|path| (path, None)).collect(),
            errors: vec![folder.join("error.log")],
            formats: Vec::new(),
        }
    }

    fn http(&mut self, paths: &ServerPaths, http: &HttpConf) {
        for format in &http.log_formats {
            if let Some(layout) = LogLayout::of(&format.format.lossy(), format.escape == LogEscape::Json) {
                self.formats.push((format.name.clone(), layout));
            }
        }
        for settings in http.levels() {
            self.level(paths, settings);
        }
    }

    fn level(&mut self, paths: &ServerPaths, settings: &Settings) {
        for log in settings.log.access.iter().filter(|log| log.syslog.is_none() && !log.path.has_variables())
        {
            let format = self.formats.iter().position(|(name, _)| *name == log.format);
            let path = paths.complete(log.path.bytes());
            if !self.access.iter().any(|(known, _)| *known == path) {
                self.access.push((path, format));
            }
        }
        self.errors_of(paths, &settings.log.error);
    }

    fn errors_of(&mut self, paths: &ServerPaths, logs: &[myriad_conf::settings::ErrorLog]) {
        for log in logs.iter().filter(|log| log.syslog.is_none() && log.target.bytes() != b"stderr") {
            let path = paths.complete(log.target.bytes());
            if !self.errors.contains(&path) {
                self.errors.push(path);
            }
        }
    }

    /// Returns the paths of configured logs that are existing regular files.
    pub(super) fn files(&self) -> Vec<PathBuf> {
        let all = self.access.iter().map(|(path, _)| path).chain(&self.errors);
        all.filter(|path| path.is_file()).cloned().collect()
    }

    /// Returns the paths of all log files, separated by `, `, for a message.
    pub(super) fn shown(&self) -> String {
        let all = self.access.iter().map(|(path, _)| path).chain(&self.errors);
        all.map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
    }

    /// Returns the format of a log file, or of a rotated copy (`LOG.1`, `LOG-20261124.gz`); `None` if the format is
    /// unknown.
    pub(super) fn layout(&self, path: &Path) -> Option<&LogLayout> {
        let path = std::path::absolute(path).ok()?;
        let path = path.as_os_str().as_encoded_bytes();
        let fits = |known: &Path| {
            let rest = path.strip_prefix(known.as_os_str().as_encoded_bytes());
            rest.is_some_and(|rest| matches!(rest.first(), None | Some(b'.' | b'-')))
        };
        let format = self.access.iter().find(|(known, _)| fits(known))?.1?;
        self.formats.get(format).map(|(_, layout)| layout)
    }

    /// Returns the `log_format` named `name`; `None` if the configuration has no such format, or its lines cannot be
    /// parsed.
    pub(super) fn named(&self, name: &str) -> Option<&LogLayout> {
        self.formats.iter().find(|(known, _)| known == name).map(|(_, layout)| layout)
    }

    /// Returns the log formats of the configuration, except formats by which lines cannot be parsed.
    pub(super) fn layouts(&self) -> impl Iterator<Item = &LogLayout> {
        self.formats.iter().map(|(_, layout)| layout)
    }
}
