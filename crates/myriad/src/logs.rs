//! Log files: the supervisor opens them and passes them to the worker as descriptors.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use myriad_conf::model::MainConf;
use myriad_conf::settings::ErrorLog as ErrorLogConf;
use myriad_conf::{Model, Settings, Span};
use myriad_log::{ErrorLog, ErrorLogTarget, LogFile, LogSink, Syslog};

use myriad_cli::path_walk;
use myriad_cli::paths::ServerPaths;
use myriad_cli::pidfile::reason;

/// Open log files by their absolute paths.
#[derive(Debug, Default)]
pub(crate) struct LogFiles {
    files: Vec<(PathBuf, OwnedFd)>,
}

impl LogFiles {
    /// Opens all log files that the configuration names, and creates missing ones. Paths with variables are skipped,
    /// because the worker opens them; so are standard error and syslog. Returns an error text if a file cannot be
    /// opened.
    pub(crate) fn open(model: &Model, paths: &ServerPaths) -> Result<Self, String> {
        let mut logs = Self::default();
        for path in wanted_files(model, paths) {
            logs.add(path, paths)?;
        }
        Ok(logs)
    }

    /// Opens all log files again under their paths, after they were renamed; creates missing ones. Returns an error
    /// text if one cannot be opened.
    pub(crate) fn reopen(&self, paths: &ServerPaths) -> Result<Self, String> {
        let mut logs = Self::default();
        for (path, _) in &self.files {
            logs.add(path.clone(), paths)?;
        }
        Ok(logs)
    }

    fn add(&mut self, path: PathBuf, paths: &ServerPaths) -> Result<(), String> {
        let descriptor = open(&path).map_err(|error| {
            let advice = paths.advice(&path, &error);
            format!("open() \"{}\" failed ({}){advice}", path.display(), reason(&error))
        })?;
        self.files.push((path, descriptor));
        Ok(())
    }

    /// Returns the path and the descriptor of each log file.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Path, BorrowedFd<'_>)> {
        self.files.iter().map(|(path, descriptor)| (path.as_path(), descriptor.as_fd()))
    }

    /// Returns the error log of the main level. Returns an error if a syslog socket cannot be created or a descriptor
    /// cannot be duplicated.
    pub(crate) fn main(&self, main: &MainConf, paths: &ServerPaths) -> io::Result<ErrorLog> {
        let mut targets = Vec::new();
        for conf in &main.error_logs {
            let (level, is_json, repeats_all) = (conf.level, conf.is_json, conf.repeats_all);
            if let Some(syslog) = &conf.syslog {
                let sink = LogSink::Syslog(Arc::new(Syslog::new(syslog.clone())?));
                targets.push(ErrorLogTarget { sink, level, is_json, repeats_all });
                continue;
            }
            let path = paths.complete(conf.target.bytes());
            let sink = match self.files.iter().find(|(known, _)| *known == path) {
                Some((_, file)) => LogSink::File(Arc::new(LogFile::new(path, file.try_clone()?))),
                None if conf.target.bytes() == b"stderr" => LogSink::Stderr,
                None => continue,
            };
            targets.push(ErrorLogTarget { sink, level, is_json, repeats_all });
        }
        Ok(ErrorLog::new(targets))
    }
}

/// Opens a log file for appending; creates it if it does not exist.
///
/// Root uses [`myriad_cli::path_walk`]: otherwise an attacker with the rights of the worker could replace a path by a
/// link and make root write to any file.
pub(crate) fn open(path: &Path) -> io::Result<OwnedFd> {
    path_walk::open_for_appending(path)
}

fn wanted_files(model: &Model, paths: &ServerPaths) -> Vec<PathBuf> {
    let mut found = FoundLogFiles { paths, files: Vec::new() };
    model.main.error_logs.iter().for_each(|log| found.error_log(log));
    if let Some(http) = &model.http {
        // The default access log of the `http` level is unused if every server names another log.
        let written = http.settings.log.access.iter().any(|log| log.path.span != Span::default());
        http.levels().into_iter().skip(usize::from(!written)).for_each(|settings| found.settings(settings));
    }
    // There is no default access log in `stream`.
    for settings in model.stream.iter().flat_map(myriad_conf::model::HttpConf::levels) {
        found.settings(settings);
    }
    found.files
}

struct FoundLogFiles<'a> {
    paths: &'a ServerPaths,
    files: Vec<PathBuf>,
}

impl FoundLogFiles<'_> {
    fn add(&mut self, written: &[u8]) {
        // A path with variables is opened by the worker when their values are known.
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

#[cfg(test)]
mod tests {
    use std::fs::{self, File, Permissions};
    use std::io::{Read, Write};
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::{PermissionsExt, chown, lchown, symlink};

    use super::*;
    use rustix::io::Errno;

    /// Temporary folder of root that contains a folder of another user; removed on drop.
    struct OtherUsersFolder(PathBuf);

    const OTHER: u32 = 54_321;

    impl OtherUsersFolder {
        /// Creates the folder; returns `None` unless the tests run as root, because they test the rights of root.
        fn new(name: &str) -> Option<Self> {
            if !rustix::process::geteuid().is_root() {
                eprintln!("skipped: this test requires root");
                return None;
            }
            let scratch =
                Self(std::env::temp_dir().join(format!("myriad-logs-{name}-{}", std::process::id())));
            fs::create_dir_all(scratch.path("theirs")).expect("folders");
            chown(scratch.path("theirs"), Some(OTHER), Some(OTHER)).expect("chown");
            fs::write(scratch.path("victim"), "as it was").expect("a file");
            Some(scratch)
        }

        fn path(&self, name: &str) -> PathBuf {
            self.0.join(name)
        }

        /// Writes a line to a log with this name.
        fn write(&self, name: &str) -> io::Result<()> {
            File::from(open(&self.path(name))?).write_all(b"line\n")
        }

        fn refuses(&self, name: &str) {
            let error = self.write(name).expect_err(name);
            assert_eq!(error.kind(), io::ErrorKind::PermissionDenied, "{name}: {error}");
            assert_eq!(fs::read_to_string(self.path("victim")).expect("a file"), "as it was", "{name}");
        }
    }

    impl Drop for OtherUsersFolder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn links_in_folder_of_other_user_are_not_followed_regardless_of_owner() {
        let Some(scratch) = OtherUsersFolder::new("theirs") else { return };
        scratch.write("theirs/plain.log").expect("a plain file");
        assert_eq!(fs::read_to_string(scratch.path("theirs/plain.log")).expect("a log"), "line\n");
        symlink(scratch.path("victim"), scratch.path("theirs/roots.log")).expect("a link");
        symlink(scratch.path("victim"), scratch.path("theirs/own.log")).expect("a link");
        lchown(scratch.path("theirs/own.log"), Some(OTHER), None).expect("chown");
        symlink(&scratch.0, scratch.path("theirs/folder")).expect("a link");
        symlink(scratch.path("absent"), scratch.path("theirs/made.log")).expect("a link");
        for name in ["theirs/roots.log", "theirs/own.log", "theirs/folder/victim", "theirs/made.log"] {
            scratch.refuses(name);
        }
        assert!(!scratch.path("absent").exists());
        // A link owned by root that points to a file of that user.
        symlink(scratch.path("theirs/own.log"), scratch.path("on.log")).expect("a link");
        scratch.refuses("on.log");
    }

    #[test]
    fn other_names_of_a_file_and_pipes_are_no_logs_where_others_may_put_them() {
        let Some(scratch) = OtherUsersFolder::new("kinds") else { return };
        fs::create_dir(scratch.path("all")).expect("a folder");
        fs::set_permissions(scratch.path("all"), Permissions::from_mode(0o1777)).expect("chmod");
        for folder in ["theirs", "all"] {
            fs::hard_link(scratch.path("victim"), scratch.path(folder).join("hard.log")).expect("a link");
            scratch.refuses(&format!("{folder}/hard.log"));
            let pipe = scratch.path(folder).join("pipe.log");
            let kind = rustix::fs::FileType::Fifo;
            rustix::fs::mknodat(rustix::fs::CWD, &pipe, kind, 0o666.into(), 0).expect("a pipe");
            // Opening a pipe without a reader for writing must not block.
            let error = scratch.write(&format!("{folder}/pipe.log")).expect_err("a pipe");
            assert_eq!(error.raw_os_error(), Some(Errno::NXIO.raw_os_error()));
            let _reader = fs::OpenOptions::new().read(true).write(true).open(&pipe).expect("a reader");
            scratch.refuses(&format!("{folder}/pipe.log"));
        }
    }

    #[test]
    fn links_of_root_in_folders_of_root_are_followed_to_files_and_to_what_has_no_name() {
        let Some(scratch) = OtherUsersFolder::new("own") else { return };
        fs::create_dir(scratch.path("disk")).expect("a folder");
        symlink("disk", scratch.path("folder")).expect("a link");
        symlink("folder/deep.log", scratch.path("two.log")).expect("a link");
        scratch.write("two.log").expect("a chain of links");
        assert_eq!(fs::read_to_string(scratch.path("disk/deep.log")).expect("a log"), "line\n");
        symlink("round.log", scratch.path("round.log")).expect("a link");
        let error = scratch.write("round.log").expect_err("no end");
        assert_eq!(error.raw_os_error(), Some(Errno::LOOP.raw_os_error()));
        assert!(scratch.write("absent/a.log").is_err());

        // Images of containers link their logs to /dev/stdout, which links to /proc/self/fd/1.
        let (reader, writer) = rustix::pipe::pipe().expect("a pipe");
        let target = format!("/proc/self/fd/{}", writer.as_raw_fd());
        symlink(&target, scratch.path("stdout.log")).expect("a link");
        scratch.write("stdout.log").expect("a file without a path");
        drop(writer);
        let mut text = String::new();
        File::from(reader).read_to_string(&mut text).expect("text");
        assert_eq!(text, "line\n");
    }
}
