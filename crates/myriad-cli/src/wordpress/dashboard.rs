//! Dashboard of the sites: a server on a loopback port, and the secret that it requires.
//!
//! ```text
//! start -> PREFIX/dashboard/port    its port; reloads, `-t` and a new binary use the same
//!       -> PREFIX/dashboard/secret  readable by the user that started the server; the configuration has its SHA-256
//! ```
//!
//! The secret is necessary because all users of the machine can connect to loopback, and the URLs that the dashboard
//! shows may contain keys that reset passwords. `status` prints a link with the secret after `#`, a part that browsers
//! send to no server.

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::dashboard_access::{ConfigurationPurpose, DashboardAccess};
use super::options::SiteOptions;
use super::prefix::{pid_file, prefix};
use super::site_files::{WritableFolder, hex, random};
use crate::pidfile::{self, reason};
use crate::site_folder::read_named;

/// Ports for the dashboard of a server with the default prefix. The first free one is used, unless a stored port is
/// free.
///
/// With `--prefix`, any free port is chosen once and stored, so that the ports of several servers do not depend on the
/// order in which they are started.
const PORTS: std::ops::Range<u16> = 9199..9219;
/// Length of the secret in bytes; short, because users type or copy it.
const SECRET_BYTES: usize = 16;

impl SiteOptions {
    /// Chooses the port of the dashboard: that of the setting `dashboard`; otherwise the stored port, for printing,
    /// while the server runs, or if it is free; otherwise a free port. With `dashboard=off` there is no dashboard. At a
    /// start, also stores the port, and creates a secret if there is none.
    ///
    /// If this fails, the sites are served without the dashboard, and the returned warnings contain the reason.
    pub fn with_dashboard(mut self, purpose: ConfigurationPurpose) -> (Self, Vec<String>) {
        let setting = self.settings.get("dashboard").to_owned();
        if setting == "off" {
            return (self, Vec::new());
        }
        let folder = folder(self.prefix.as_deref());
        let runs = is_running(&pid_file(self.prefix.as_deref()));
        let stored_port = text(&folder.join("port")).and_then(|text| text.trim().parse().ok());
        let port = match (
            setting.parse().ok(),
            stored_port.filter(|_| runs || purpose == ConfigurationPurpose::Print),
        ) {
            (Some(port), _) | (None, Some(port)) => port,
            (None, None) => {
                let Some(port) = free_port(stored_port, self.prefix.is_some()) else {
                    return (self, vec![ports_taken_warning()]);
                };
                port
            }
        };
        if purpose == ConfigurationPurpose::Start
            && let Err(warning) = write(&folder, port)
        {
            return (self, vec![warning]);
        }
        self.dashboard = Some(DashboardAccess { port, hash: hash(&folder) });
        (self, Vec::new())
    }

    /// Returns the `server` block of the dashboard: empty if it is off, a comment if no secret can be read.
    pub(super) fn dashboard_server(&self) -> String {
        let Some(DashboardAccess { port, hash }) = &self.dashboard else { return String::new() };
        let Some(hash) = hash else {
            return "# The secret of the dashboard is generated at the first start: print the configuration again afterwards.".to_owned();
        };
        format!(
            "server {{\n        listen 127.0.0.1:{port};\n        server_name localhost;\n        access_log off;\n        \
             location / {{ dashboard secret_sha256={hash}; }}\n        \
             location /api/ {{ api write=on secret_sha256={hash}; }}\n    }}"
        )
    }
}

/// Returns whether the process with the ID in this pid file runs, or the process in its `.oldbin` file, which is the
/// old server during an upgrade. Returns false if the current user may not send signals to them.
fn is_running(pid: &Path) -> bool {
    let old = pid.with_extension("pid.oldbin");
    let lives = |path| pidfile::read(path).is_ok_and(|pid| rustix::process::test_kill_process(pid).is_ok());
    lives(pid) || lives(&old)
}

/// Returns the warning that all ports are taken.
fn ports_taken_warning() -> String {
    let (first, last) = (PORTS.start, PORTS.end - 1);
    format!(
        "wordpress: dashboard disabled: the ports {first} to {last} are in use; set another port with --set dashboard=PORT"
    )
}

fn folder(said: Option<&Path>) -> PathBuf {
    prefix(said).join("dashboard")
}

/// Returns the stored port `kept` if it is free. Otherwise returns a free port: any that the system chooses if `any` is
/// set, else the first free one of [`PORTS`]. Returns `None` if none is free.
fn free_port(kept: Option<u16>, any: bool) -> Option<u16> {
    let bound = |port: u16| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).ok()?.local_addr().ok();
    let tried = if any { 0..1 } else { PORTS };
    kept.into_iter().chain(tried).find_map(bound).map(|address| address.port())
}

fn hash(folder: &Path) -> Option<String> {
    let secret = text(&folder.join("secret"))?;
    let secret = secret.trim();
    (!secret.is_empty()).then(|| hex(&Sha256::digest(secret.as_bytes())))
}

/// Returns the text of a file of the dashboard; `None` if it cannot be read, is longer than 1 KiB, or is not UTF-8.
fn text(path: &Path) -> Option<String> {
    String::from_utf8(read_named(path, 1 << 10).ok()?).ok()
}

/// Stores the port, and a new secret if none is stored. Returns a warning if that fails.
fn write(folder: &Path, port: u16) -> Result<(), String> {
    let describe_error = |error: io::Error| {
        format!(
            "wordpress: dashboard disabled, because its secret cannot be stored: {}: {}; set a writable folder with \
                 --prefix, or --set dashboard=off",
            folder.display(),
            reason(&error)
        )
    };
    let opened = WritableFolder::of_server(folder).map_err(describe_error)?;
    opened.replace("port", &format!("{port}\n"), 0o644).map_err(describe_error)?;
    if hash(folder).is_none() {
        let secret = random::<SECRET_BYTES>("the dashboard")?;
        opened.replace("secret", &format!("{secret}\n"), 0o600).map_err(describe_error)?;
    }
    Ok(())
}

/// Address of a dashboard that is served.
pub(super) struct DashboardGreeting {
    /// URL of the address on which the dashboard listens.
    pub(super) address: String,
    /// Text for the greeting: the address of the dashboard, and the path of its secret.
    pub(super) text: String,
}

/// Returns the link to the dashboard with its secret; `None` if this process cannot read the secret.
pub(super) fn link(prefix: &Path, address: &str) -> Option<String> {
    let secret = text(&prefix.join("dashboard/secret"))?;
    Some(format!("{address}#secret={}", secret.trim()))
}

/// Returns the address of the dashboard of this prefix; `None` if it is not among the addresses `listens` of the
/// server.
pub(super) fn greeting(prefix: &Path, listens: &[String]) -> Option<DashboardGreeting> {
    let folder = prefix.join("dashboard");
    let port = text(&folder.join("port"))?;
    let address = format!("http://127.0.0.1:{}", port.trim());
    let text = format!("{address}/, on this machine only; its secret: {}", folder.join("secret").display());
    listens.contains(&address).then_some(DashboardGreeting { address, text })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn options(prefix: &Path, settings: &[&str]) -> SiteOptions {
        let mut options = SiteOptions { prefix: Some(prefix.to_owned()), ..SiteOptions::default() };
        for text in settings {
            options.settings.add(text).expect("sound");
        }
        options
    }

    #[test]
    fn dashboard_is_on_loopback_with_a_secret_that_the_configuration_does_not_hold() {
        let prefix = std::env::temp_dir().join(format!("myriad-dashboard-{}", std::process::id()));
        let (made, warnings) =
            options(&prefix, &["dashboard=9321"]).with_dashboard(ConfigurationPurpose::Start);
        assert_eq!(warnings, Vec::<String>::new());
        let secret = fs::read_to_string(prefix.join("dashboard/secret")).expect("a secret");
        let text = made.dashboard_server();
        assert!(text.contains("listen 127.0.0.1:9321;"), "{text}");
        let hash = format!("secret_sha256={};", hex(&Sha256::digest(secret.trim().as_bytes())));
        assert_eq!(text.matches(&hash).count(), 2, "both the figures and purges need it: {text}");
        assert!(!text.contains(secret.trim()), "{text}");
        // The next start retains the secret. The printed configuration has the stored port even though another process
        // listens on it.
        let (again, _) = options(&prefix, &[]).with_dashboard(ConfigurationPurpose::Print);
        assert_eq!(again.dashboard, made.dashboard);
        let line = greeting(&prefix, &["http://127.0.0.1:9321".to_owned()]).expect("a line").text;
        assert!(line.starts_with("http://127.0.0.1:9321/, on this machine only"), "{line}");
        assert!(!line.contains(secret.trim()), "{line}");
        let link = link(&prefix, "http://127.0.0.1:9321/").expect("readable");
        assert_eq!(link, format!("http://127.0.0.1:9321/#secret={}", secret.trim()));
        fs::remove_dir_all(&prefix).expect("clean");
    }

    #[test]
    fn no_dashboard_is_served_without_a_secret() {
        let prefix = std::env::temp_dir().join(format!("myriad-dashboard-print-{}", std::process::id()));
        for purpose in [ConfigurationPurpose::Print, ConfigurationPurpose::Test] {
            let (made, warnings) = options(&prefix, &["dashboard=9322"]).with_dashboard(purpose);
            assert_eq!((warnings.len(), prefix.exists()), (0, false), "nothing is written");
            let text = made.dashboard_server();
            assert!(text.starts_with('#') && text.lines().count() == 1, "{text}");
        }
        fs::create_dir_all(&prefix).expect("folder");
        fs::write(prefix.join("dashboard"), "no folder").expect("written");
        let (made, warnings) =
            options(&prefix, &["dashboard=9322"]).with_dashboard(ConfigurationPurpose::Start);
        assert!(made.dashboard_server().is_empty(), "{}", made.dashboard_server());
        assert!(
            warnings[0].contains("dashboard disabled, because its secret cannot be stored"),
            "{warnings:?}"
        );
        fs::remove_dir_all(&prefix).expect("clean");
    }

    #[test]
    fn off_is_no_server_and_a_taken_port_leads_to_the_next() {
        let prefix = std::env::temp_dir().join(format!("myriad-dashboard-off-{}", std::process::id()));
        let (made, _) = options(&prefix, &["dashboard=off"]).with_dashboard(ConfigurationPurpose::Start);
        assert_eq!((made.dashboard_server(), prefix.exists()), (String::new(), false));
        let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let port = taken.local_addr().expect("its address").port();
        assert!(free_port(Some(port), true).is_some_and(|other| other != port && other != 0));
    }
}
