//! Drop-in for Myriad's systemd unit: command line for the nginx configuration, and writable folders.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use myriad_conf::ParsedConfiguration;

use super::differences::gather;
use super::nginx::NginxInstallation;

/// Path of the systemd drop-in by which Myriad's unit runs with nginx's configuration.
pub(super) const PLACE: &str = "/etc/systemd/system/myriad.service.d/takeover.conf";
/// Folders that the drop-in does not make writable even if they directly contain a file or zone of the server, because
/// they also contain unrelated files.
const TOO_WIDE: [&str; 6] = ["/", "/etc", "/usr", "/home", "/root", "/boot"];

/// Command line with which Myriad replaces nginx.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MyriadCommandLine {
    program: PathBuf,
    paths: Vec<(&'static str, PathBuf)>,
    /// Value of the option `-g` (directives on the command line), without `daemon off;`.
    pub(super) directives: String,
    /// True if the configuration contains the directive `daemon`.
    sets_daemon: bool,
}

impl MyriadCommandLine {
    /// Creates the command line for a configuration. It sets the default error log to that of nginx, and `pid`, if the
    /// configuration lacks it, to the compiled default of nginx.
    pub(super) fn of(nginx: &NginxInstallation, parsed: &ParsedConfiguration, program: PathBuf) -> Self {
        let has_directive = |name: &str| parsed.nodes.iter().any(|node| node.name.text == name.as_bytes());
        let directives =
            if has_directive("pid") { String::new() } else { format!("pid {};", nginx.pid.display()) };
        let mut paths = vec![("-p", nginx.prefix.clone()), ("-c", nginx.configuration.clone())];
        paths.push(("-e", nginx.error_log.clone()));
        Self { program, paths, directives, sets_daemon: has_directive("daemon") }
    }

    /// Returns the command line; `quote` quotes the program, the paths and the directives. `more` are further options,
    /// which are not quoted; `foreground` is true for a systemd service.
    pub(super) fn words(&self, more: &[&str], foreground: bool, quote: fn(&str) -> String) -> String {
        let mut line = quote(&self.program.display().to_string());
        for word in more {
            let _ = write!(line, " {word}");
        }
        for (option, path) in &self.paths {
            let _ = write!(line, " {option} {}", quote(&path.display().to_string()));
        }
        let daemon = if foreground && !self.sets_daemon { "daemon off;" } else { "" };
        let directives = format!("{daemon} {}", self.directives);
        if !directives.trim().is_empty() {
            let _ = write!(line, " -g {}", quote(directives.trim()));
        }
        line
    }
}

/// Returns the text of the systemd drop-in: the command line, and the folders that Myriad may write.
pub(super) fn text(line: &MyriadCommandLine, folders: &BTreeSet<PathBuf>) -> String {
    let mut text = String::from(
        "# Written by `myriad takeover --apply`; `myriad takeover --undo` removes it.\n[Service]\nExecStart=\n",
    );
    let _ = writeln!(text, "ExecStart={}", line.words(&[], true, quoted));
    let _ = writeln!(text, "ExecReload=\nExecReload={}", line.words(&["-t", "-q"], false, quoted));
    let _ = writeln!(text, "ExecReload={}", line.words(&["-s", "reload"], false, quoted));
    for folder in folders {
        let _ = writeln!(text, "ReadWritePaths={}", quoted(&format!("-{}", folder.display())));
    }
    text
}

/// Returns the folders that Myriad must be able to write with this configuration: the folders of logs, pid file,
/// control socket, history, zones and temporary files.
pub(super) fn folders(nginx: &NginxInstallation, parsed: &ParsedConfiguration) -> BTreeSet<PathBuf> {
    let mut folders: BTreeSet<PathBuf> = nginx.pid.parent().map(Path::to_owned).into_iter().collect();
    gather(&parsed.nodes, &mut |node| {
        let name = String::from_utf8_lossy(&node.name.text).into_owned();
        let is_file =
            matches!(name.as_str(), "pid" | "error_log" | "access_log" | "control_socket" | "history");
        let is_folder = name.ends_with("_cache_path") || name.ends_with("_temp_path");
        let Some(path) = node.args.first().filter(|_| is_file || is_folder) else { return };
        let path = path.text.as_slice();
        if matches!(path, b"off" | b"stderr") || path.starts_with(b"syslog:") {
            return;
        }
        // A path with variables is cut before the first one. Myriad also writes files next to a zone's folder, so the
        // folder above it must be writable.
        let fixed = path.iter().position(|byte| *byte == b'$').map_or(path, |at| &path[..at]);
        let path: PathBuf = nginx.prefix.join(OsStr::from_bytes(fixed)).components().collect();
        let above = if fixed.ends_with(b"/") { Some(path.as_path()) } else { path.parent() };
        if let Some(folder) = above.filter(|folder| !TOO_WIDE.iter().any(|wide| *folder == Path::new(wide))) {
            folders.insert(folder.to_owned());
        }
        if is_folder {
            folders.insert(path);
        }
    });
    folders
}

/// Quotes a word for the command line of a unit (systemd.service(5), systemd.syntax(7)). Control characters are
/// removed.
fn quoted(word: &str) -> String {
    let mut text = String::from("\"");
    for letter in word.chars() {
        match letter {
            '"' | '\\' => text.extend(['\\', letter]),
            '%' | '$' => text.extend([letter, letter]),
            letter if letter.is_control() => {}
            letter => text.push(letter),
        }
    }
    text + "\""
}

/// Quotes a word for the command line of a shell.
pub(super) fn shell(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use myriad_conf::MemoryLoader;

    use super::*;

    #[test]
    fn unit_has_the_command_line_and_the_folders_of_the_configuration() {
        let text = "error_log /var/log/nginx/error.log; daemon off;\n\
                    http { access_log /srv/logs/$host/a.log; proxy_cache_path /var/cache/n keys_zone=a:1m;\n\
                    server { access_log off; error_log stderr; client_body_temp_path tmp/x; } }";
        let nginx = NginxInstallation {
            configuration: "/etc/a b/50%.conf".into(),
            prefix: "/usr/share/nginx".into(),
            error_log: "stderr".into(),
            pid: "/run/nginx.pid".into(),
            ..NginxInstallation::default()
        };
        let loader = MemoryLoader::with(nginx.configuration.clone(), text.as_bytes().to_vec());
        let parsed = myriad_serve::registry().parse(&loader, &nginx.configuration, b"");
        let folders = folders(&nginx, &parsed);
        let names: Vec<_> = folders.iter().map(|folder| folder.display().to_string()).collect();
        assert_eq!(
            names,
            [
                "/run",
                "/srv/logs",
                "/usr/share/nginx/tmp",
                "/usr/share/nginx/tmp/x",
                "/var/cache",
                "/var/cache/n",
                "/var/log/nginx"
            ]
        );
        let line = MyriadCommandLine::of(&nginx, &parsed, "/usr/sbin/myriad".into());
        let unit = super::text(&line, &folders);
        let start = "ExecStart=\"/usr/sbin/myriad\" -p \"/usr/share/nginx\" -c \"/etc/a b/50%%.conf\" -e \"stderr\" -g \"pid /run/nginx.pid;\"\n";
        assert!(unit.contains(start), "{unit}");
        assert!(
            unit.contains("ExecReload=\"/usr/sbin/myriad\" -t -q -p")
                && unit.contains("ReadWritePaths=\"-/var/log/nginx\"\n")
        );
        assert_eq!((shell("/a/b"), shell("it's")), ("/a/b".into(), "'it'\\''s'".into()));
    }
}
