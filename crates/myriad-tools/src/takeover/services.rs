//! systemd services, queried and controlled by `systemctl`.

use std::process::{Command, Output};

/// systemd unit of the Myriad package.
pub(super) const MYRIAD: &str = "myriad.service";
/// Properties of a systemd unit that are queried.
const PROPERTIES: [&str; 4] = ["LoadState", "ActiveState", "UnitFileState", "MainPID"];

/// State of a systemd service.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ServiceState {
    pub(super) is_installed: bool,
    pub(super) is_active: bool,
    pub(super) is_enabled: bool,
    /// Process ID of the service's main process; `None` if it does not run.
    pub(super) pid: Option<u32>,
}

/// Queries a service. Returns an error text if systemd cannot be queried.
pub(super) fn query_service(unit: &str) -> Result<ServiceState, String> {
    let mut arguments = vec!["show"];
    for property in PROPERTIES {
        arguments.extend(["-p", property]);
    }
    arguments.push(unit);
    let output = run(&arguments)?;
    Ok(read(&String::from_utf8_lossy(&output.stdout)))
}

fn read(text: &str) -> ServiceState {
    let value = |name: &str| {
        let of = |line: &str| {
            line.split_once('=').filter(|(key, _)| *key == name).map(|(_, v)| v.trim().to_owned())
        };
        text.lines().find_map(of).unwrap_or_default()
    };
    ServiceState {
        is_installed: value("LoadState") == "loaded",
        is_active: matches!(value("ActiveState").as_str(), "active" | "reloading" | "activating"),
        is_enabled: value("UnitFileState").starts_with("enabled"),
        pid: value("MainPID").parse().ok().filter(|pid| *pid > 0),
    }
}

/// Prints and executes a `systemctl` command. Returns an error text if it cannot be executed or fails.
pub(super) fn systemctl(arguments: &[&str]) -> Result<(), String> {
    println!("  systemctl {}", arguments.join(" "));
    run(arguments).map(drop)
}

fn run(arguments: &[&str]) -> Result<Output, String> {
    let output = Command::new("systemctl")
        .args(arguments)
        .output()
        .map_err(|error| format!("systemctl: {}", myriad_cli::pidfile::reason(&error)))?;
    if output.status.success() {
        return Ok(output);
    }
    let error_text = String::from_utf8_lossy(&output.stderr);
    Err(format!("systemctl {}: {}", arguments.join(" "), error_text.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_systemctl_shows_is_read() {
        let running = read("LoadState=loaded\nActiveState=active\nUnitFileState=enabled\nMainPID=17\n");
        assert_eq!(
            running,
            ServiceState { is_installed: true, is_active: true, is_enabled: true, pid: Some(17) }
        );
        let missing = read("LoadState=not-found\nActiveState=inactive\nUnitFileState=\nMainPID=0\n");
        assert_eq!((missing, read("")), (ServiceState::default(), ServiceState::default()));
    }
}
