//! The stack that is looked at: which Myriad runs, for which site, with which php-fpm.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::options::Options;
use crate::instance::holder;
use crate::wordpress;

/// What is known of the stack before anything is asked.
#[derive(Debug, Default)]
pub(super) struct Stack {
    /// Process of the supervisor.
    pub(super) pid: Option<u32>,
    /// Address at which it listens for http: `127.0.0.1:8080`.
    pub(super) listens: Option<String>,
    /// Folder of the site; an error says why it is none.
    pub(super) root: Option<Result<PathBuf, String>>,
    /// php-fpm: a path, or `HOST:PORT`.
    pub(super) php: Option<String>,
}

/// Finds the stack: from the options, else from the command line of the `myriad wordpress` that runs.
pub(super) fn find(options: &Options) -> Stack {
    let prefix = wordpress::prefix(options.words.server.prefix.as_deref());
    let running = std::path::absolute(prefix).ok().and_then(|prefix| holder(&prefix).ok().flatten());
    let mut stack = Stack::default();
    let mut said = Vec::new();
    if let Some(running) = running {
        let pid = running.pid.as_raw_nonzero().get().cast_unsigned();
        stack.pid = Some(pid);
        stack.listens = running.told.lines().find_map(|line| {
            let addresses = line.strip_prefix("listens")?.trim();
            addresses.split(", ").find_map(|address| address.strip_prefix("http://")).map(str::to_owned)
        });
        said = command_line(pid);
    }
    // The pid file lies beside the control socket.
    let beside = options.words.socket.as_ref().map(|socket| socket.with_extension("pid"));
    if let Some(pid) = beside.and_then(|path| std::fs::read_to_string(path).ok()?.trim().parse().ok()) {
        stack.pid = Some(pid);
    }
    let value = |name: &str| {
        let at = said.iter().position(|word| word == name)?;
        said.get(at + 1).cloned()
    };
    let root = options.root.clone().or_else(|| value("--root").map(|root| below(stack.pid, &root)));
    stack.root = root.map(|root| checked(&root));
    let php = options.php.clone().or_else(|| value("--php"));
    stack.php = php.map(|php| php.strip_prefix("unix:").map_or(php.clone(), str::to_owned));
    stack
}

/// Words of a process's command line, `--name=value` taken apart.
fn command_line(pid: u32) -> Vec<String> {
    let bytes = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words = bytes.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned());
    words
        .flat_map(|word| match word.split_once('=') {
            Some((name, value)) if name.starts_with("--") => vec![name.to_owned(), value.to_owned()],
            _ => vec![word],
        })
        .collect()
}

/// Path of a process: relative ones begin at its folder.
fn below(pid: Option<u32>, path: &str) -> PathBuf {
    let folder = pid.and_then(|pid| std::fs::read_link(format!("/proc/{pid}/cwd")).ok());
    folder.map_or_else(|| path.into(), |folder| folder.join(path))
}

/// The folder, if WordPress is in it and its configuration may be read.
fn checked(root: &Path) -> Result<PathBuf, String> {
    let shown = root.display();
    if !root.join("wp-includes").is_dir() {
        return Err(format!(
            "--root {shown}: no WordPress is there (it has no wp-includes); name the folder that holds wp-config.php"
        ));
    }
    // It may stand one folder above, as WordPress allows.
    let places = [root.join("wp-config.php"), root.parent().unwrap_or(root).join("wp-config.php")];
    let Some(file) = places.iter().find(|path| path.symlink_metadata().is_ok()) else {
        return Err(format!("{shown} has no wp-config.php: finish WordPress' installation first"));
    };
    match std::fs::File::open(file) {
        Ok(_) if root.as_os_str().as_bytes().contains(&b'\n') => {
            Err(format!("--root {shown}: a path with a line end"))
        }
        Ok(_) => Ok(root.to_owned()),
        Err(error) => Err(format!(
            "{}: {}; run the doctor as root, or as a user who may read it",
            file.display(),
            crate::pidfile::reason(&error)
        )),
    }
}
