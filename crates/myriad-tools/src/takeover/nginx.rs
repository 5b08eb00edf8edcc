//! The nginx on this machine: program, configuration, and paths that were set when it was compiled.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use super::options::TakeoverOptions;

/// Prefix of the command line of the nginx master process.
const MASTER: &str = "nginx: master process ";

/// Installed nginx and its paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct NginxInstallation {
    pub(super) program: PathBuf,
    pub(super) configuration: PathBuf,
    pub(super) prefix: PathBuf,
    /// Default of the directive `error_log` that was compiled into nginx; may be `stderr`.
    pub(super) error_log: PathBuf,
    /// Default of the directive `pid` that was compiled into nginx.
    pub(super) pid: PathBuf,
    /// Version in the output of `nginx -V`, such as `nginx/1.22.1`.
    pub(super) version: String,
}

impl NginxInstallation {
    /// Finds nginx by the options, otherwise by the running master process, otherwise by the usual paths. Returns an
    /// error text with a remedy.
    pub(super) fn find(options: &TakeoverOptions, master: Option<u32>) -> Result<Self, String> {
        let running = master.map(RunningNginx::of).unwrap_or_default();
        let named = options.nginx.clone().or(running.program).or_else(installed);
        let Some(program) = named else {
            return Err("nginx is neither installed nor running; specify its program with --nginx, or its configuration with -c".into());
        };
        let output = Command::new(&program).arg("-V").output();
        let output = output
            .map_err(|error| format!("{}: {}", program.display(), myriad_cli::pidfile::reason(&error)))?;
        let output_text = String::from_utf8_lossy(&output.stderr).into_owned();
        let mut nginx = Self::from_version_output(&output_text).ok_or_else(|| {
            format!(
                "{} -V does not print the version of nginx; specify the nginx program with --nginx",
                program.display()
            )
        })?;
        nginx.program = program;
        let current = std::env::current_dir().unwrap_or_else(|_| "/".into());
        if let Some(prefix) = options.prefix.as_deref().or(running.prefix.as_deref()) {
            nginx.prefix = current.join(prefix);
        }
        if let Some(file) = &options.configuration {
            nginx.configuration = current.join(file);
        } else if let Some(file) = &running.configuration {
            nginx.configuration = nginx.prefix.join(file);
        }
        Ok(nginx)
    }

    /// Parses the output of `nginx -V`. Relative paths are resolved against the prefix. Returns `None` if it has no
    /// version.
    fn from_version_output(text: &str) -> Option<Self> {
        let version = text
            .lines()
            .find_map(|line| line.split_once("version: ").map(|(_, version)| version.to_owned()))?;
        let value =
            |name: &str| text.split_whitespace().find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
        let prefix = PathBuf::from(value("--prefix").unwrap_or("/usr/local/nginx"));
        let at = |name: &str, default: &str| prefix.join(value(name).unwrap_or(default));
        let error_log = match value("--error-log-path") {
            Some("stderr") => "stderr".into(),
            path => prefix.join(path.unwrap_or("logs/error.log")),
        };
        Some(Self {
            program: PathBuf::new(),
            configuration: at("--conf-path", "conf/nginx.conf"),
            error_log,
            pid: at("--pid-path", "logs/nginx.pid"),
            version,
            prefix,
        })
    }
}

fn installed() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders =
        std::env::split_paths(&path).chain([PathBuf::from("/usr/sbin"), "/usr/local/nginx/sbin".into()]);
    folders.map(|folder| folder.join("nginx")).find(|path| path.is_file())
}

/// Paths from the command line of a running nginx master process.
#[derive(Debug, Default, PartialEq, Eq)]
struct RunningNginx {
    program: Option<PathBuf>,
    configuration: Option<PathBuf>,
    prefix: Option<PathBuf>,
}

impl RunningNginx {
    fn of(pid: u32) -> Self {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        let mut running = Self::from_title(&line);
        if let Ok(program) = fs::read_link(format!("/proc/{pid}/exe"))
            && program.is_file()
        {
            running.program = Some(program);
        }
        running
    }

    /// Parses the process title `nginx: master process PROGRAM ARGUMENTS`, where spaces separate the arguments. Returns
    /// no paths for another title.
    fn from_title(line: &str) -> Self {
        let mut words = line.strip_prefix(MASTER).unwrap_or_default().split_whitespace();
        let program = words.next().map(PathBuf::from).filter(|path| path.is_absolute());
        let mut running = Self { program, ..Self::default() };
        while let Some(word) = words.next() {
            for (option, place) in [("-c", &mut running.configuration), ("-p", &mut running.prefix)] {
                if let Some(glued) = word.strip_prefix(option) {
                    let value = if glued.is_empty() { words.next() } else { Some(glued) };
                    *place = value.map(PathBuf::from);
                    break;
                }
            }
        }
        running
    }
}

/// Returns the process IDs of the nginx master processes that root or the current user runs, for an nginx that systemd
/// does not know.
pub(super) fn masters() -> Vec<u32> {
    let own = rustix::process::geteuid().as_raw();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let is_master = |pid: &u32| {
        fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.starts_with(MASTER.as_bytes()))
            && fs::read_to_string(format!("/proc/{pid}/status")).is_ok_and(|status| is_trusted(&status, own))
    };
    pids.filter(is_master).collect()
}

/// Returns whether root or the user with the ID `own` runs a process, by the text of `/proc/PID/status`. The check is
/// necessary because any user can start a process with the title of an nginx master, and its program is executed.
fn is_trusted(status: &str, own: u32) -> bool {
    let Some(uids) = status.lines().find_map(|line| line.strip_prefix("Uid:")) else { return false };
    // Real, effective, saved and file system user ID. The real ID of a setuid program is that of the user that started
    // it.
    uids.split_whitespace().all(|uid| uid.parse() == Ok(0) || uid.parse() == Ok(own))
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt;
    use std::path::Path;

    use super::*;

    #[test]
    fn compiled_paths_are_made_absolute() {
        let text = "nginx version: nginx/1.22.1\nconfigure arguments: --with-cc-opt='-g -O2' --prefix=/usr/share/nginx \
                    --conf-path=/etc/nginx/nginx.conf --error-log-path=stderr --pid-path=run/nginx.pid\n";
        let nginx = NginxInstallation::from_version_output(text).expect("nginx");
        assert_eq!(
            (nginx.version.as_str(), nginx.configuration.as_path()),
            ("nginx/1.22.1", Path::new("/etc/nginx/nginx.conf"))
        );
        assert_eq!(
            (nginx.pid.as_path(), nginx.error_log.as_path()),
            (Path::new("/usr/share/nginx/run/nginx.pid"), Path::new("stderr"))
        );
        let bare = NginxInstallation::from_version_output("nginx version: nginx/1.30.0\n").expect("nginx");
        assert_eq!(bare.configuration, Path::new("/usr/local/nginx/conf/nginx.conf"));
        assert_eq!(NginxInstallation::from_version_output("usage: something else"), None);
    }

    #[test]
    fn command_line_of_a_master_is_read() {
        let line =
            "nginx: master process /usr/sbin/nginx -g daemon on; master_process on; -c/srv/a.conf -p /srv ";
        let running = RunningNginx::from_title(line);
        assert_eq!(running.program, Some("/usr/sbin/nginx".into()));
        assert_eq!(
            (running.configuration, running.prefix),
            (Some("/srv/a.conf".into()), Some("/srv".into()))
        );
        assert_eq!(RunningNginx::from_title("python3 -c nginx"), RunningNginx::default());
    }

    #[test]
    fn what_another_user_calls_nginx_is_no_master() {
        let begin = |uid: Option<u32>| {
            let mut command = Command::new("sleep");
            command.arg0(format!("{MASTER}/usr/sbin/nginx")).arg("60");
            if let Some(uid) = uid {
                command.uid(uid);
            }
            command.spawn().expect("sleep")
        };
        let mut ours = begin(None);
        let mut foreign = rustix::process::geteuid().is_root().then(|| begin(Some(65534)));
        let found = masters();
        for process in [&mut ours].into_iter().chain(&mut foreign) {
            process.kill().expect("killed");
            process.wait().expect("ended");
        }
        assert!(found.contains(&ours.id()));
        assert!(foreign.is_none_or(|foreign| !found.contains(&foreign.id())));
        for (uids, trusted) in
            [("0\t0\t0\t0", true), ("7\t7\t7\t7", true), ("8\t8\t8\t8", false), ("8\t0\t0\t0", false)]
        {
            assert_eq!(is_trusted(&format!("Name:\tnginx\nUid:\t{uids}\nGid:\t0\n"), 7), trusted, "{uids}");
        }
        assert!(!is_trusted("", 0));
    }
}
