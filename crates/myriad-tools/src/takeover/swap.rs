//! Replacement of nginx by Myriad: switches the services, checks the addresses, and restores nginx on failure.

use std::path::Path;

use super::answers::{self, AddressCheck};
use super::record::{self, TakeoverRecord};
use super::services::{self, MYRIAD, systemctl};
use super::unit;

/// Inputs for replacing nginx with Myriad, which have been validated.
pub(super) struct NginxSwap<'a> {
    pub(super) root: &'a Path,
    pub(super) record: TakeoverRecord,
    /// Text of the systemd drop-in for Myriad's unit.
    pub(super) unit: String,
    pub(super) questions: Vec<AddressCheck>,
}

impl NginxSwap<'_> {
    /// Replaces nginx with Myriad. If a step fails or an address responds worse than before, restores nginx; the error
    /// text reports this.
    pub(super) fn apply(&self) -> Result<(), String> {
        let before = answers::check_all(&self.questions, self.record.nginx_ran);
        self.record.write(self.root)?;
        if let Err(error) = record::write(self.root, unit::PLACE, &self.unit) {
            TakeoverRecord::forget(self.root)?;
            return Err(error);
        }
        println!("\nSwitching the services:");
        let done = self.switch_to_myriad().and_then(|()| {
            println!("Checking each address:");
            answers::compare(&self.questions, &before)
        });
        let Err(error) = done else { return Ok(()) };
        println!("Restoring nginx:");
        match restore_nginx(self.root, &self.record) {
            Ok(()) if self.record.nginx_ran => {
                let is_back = answers::compare(&self.questions, &before).is_ok();
                let state = if is_back {
                    "nginx is restored and responds as before"
                } else {
                    "nginx is restored, but does not respond as before: see systemctl status nginx"
                };
                Err(format!(
                    "{error}\n{state}. For messages of Myriad, see journalctl -u myriad or its error log"
                ))
            }
            Ok(()) => Err(format!("{error}\nThe previous state of the services was restored")),
            Err(second) => Err(format!("{error}\nRestoring the services failed too: {second}")),
        }
    }

    fn switch_to_myriad(&self) -> Result<(), String> {
        systemctl(&["daemon-reload"])?;
        systemctl(&["stop", &self.record.unit])?;
        if self.record.nginx_was_enabled {
            systemctl(&["disable", &self.record.unit])?;
        }
        systemctl(&["start", MYRIAD])?;
        systemctl(&["enable", MYRIAD])
    }
}

/// Stops Myriad and restores the services of nginx. Each step is executed even if an earlier one failed; the record is
/// removed only if all succeeded. The error contains all failures.
pub(super) fn restore_nginx(root: &Path, record: &TakeoverRecord) -> Result<(), String> {
    let mut errors: Vec<String> = Vec::new();
    let mut tried = |done: Result<(), String>| errors.extend(done.err());
    tried(systemctl(&["stop", MYRIAD]));
    if !record.myriad_was_enabled {
        tried(systemctl(&["disable", MYRIAD]));
    }
    tried(record::remove(root, unit::PLACE));
    tried(systemctl(&["daemon-reload"]));
    if record.nginx_was_enabled {
        tried(systemctl(&["enable", &record.unit]));
    }
    if record.nginx_ran {
        tried(systemctl(&["start", &record.unit]));
    }
    if errors.is_empty() {
        return TakeoverRecord::forget(root);
    }
    Err(errors.join("\n"))
}

/// Returns the present state of both services, with empty paths of nginx. Returns an error text with a remedy if
/// systemd is not available, one of the services is not installed, or Myriad is already running.
pub(super) fn obstacles(nginx_unit: &str) -> Result<TakeoverRecord, String> {
    let no_systemd = |why: String| format!("systemd is not available ({why})");
    let nginx = services::query_service(nginx_unit).map_err(no_systemd)?;
    let myriad = services::query_service(MYRIAD).map_err(no_systemd)?;
    if !nginx.is_installed {
        return Err(format!("systemd has no service {nginx_unit}: specify the nginx service with --service"));
    }
    if !myriad.is_installed {
        return Err(format!(
            "systemd has no service {MYRIAD}: install the package (make deb, then apt install ./target/packages/myriad_*.deb)"
        ));
    }
    if myriad.is_active {
        return Err(format!(
            "{MYRIAD} is running with a different configuration: run systemctl disable --now myriad, then run this command again"
        ));
    }
    Ok(TakeoverRecord {
        unit: nginx_unit.to_owned(),
        nginx_ran: nginx.is_active,
        nginx_was_enabled: nginx.is_enabled,
        myriad_was_enabled: myriad.is_enabled,
        ..TakeoverRecord::default()
    })
}
