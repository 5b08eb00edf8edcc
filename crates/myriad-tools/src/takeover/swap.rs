//! The swap: replaces one service by the other, checks the addresses, and reverts on failure.

use std::path::Path;

use super::answers::{self, Question};
use super::record::{self, Record};
use super::services::{self, MYRIAD, tell};
use super::unit;

/// Inputs of the swap, all checked earlier.
pub(super) struct Swap<'a> {
    pub(super) root: &'a Path,
    pub(super) record: Record,
    /// Text of the drop-in.
    pub(super) unit: String,
    pub(super) questions: Vec<Question>,
}

impl Swap<'_> {
    /// Replaces nginx with Myriad; the error reports whether nginx was restored.
    pub(super) fn apply(&self) -> Result<(), String> {
        let before = answers::before(&self.questions, self.record.nginx_ran);
        self.record.write(self.root)?;
        if let Err(error) = record::write(self.root, unit::PLACE, &self.unit) {
            Record::forget(self.root)?;
            return Err(error);
        }
        println!("\nThe services change places:");
        let done = self.forth().and_then(|()| {
            println!("Each address is asked:");
            answers::compare(&self.questions, &before)
        });
        let Err(error) = done else { return Ok(()) };
        println!("It goes back:");
        match back(self.root, &self.record) {
            Ok(()) if self.record.nginx_ran => {
                let is_back = answers::compare(&self.questions, &before).is_ok();
                let state = if is_back {
                    "nginx is back, and answers as before"
                } else {
                    "nginx is back, and does not answer as before: see systemctl status nginx"
                };
                Err(format!("{error}\n{state}. What Myriad said: journalctl -u myriad, or its error log"))
            }
            Ok(()) => Err(format!("{error}\nThe services are as they were")),
            Err(second) => Err(format!("{error}\nand going back failed, too: {second}")),
        }
    }

    fn forth(&self) -> Result<(), String> {
        tell(&["daemon-reload"])?;
        tell(&["stop", &self.record.unit])?;
        if self.record.nginx_was_enabled {
            tell(&["disable", &self.record.unit])?;
        }
        tell(&["start", MYRIAD])?;
        tell(&["enable", MYRIAD])
    }
}

/// Restores nginx. Each step is executed even if an earlier one failed.
pub(super) fn back(root: &Path, record: &Record) -> Result<(), String> {
    let mut errors: Vec<String> = Vec::new();
    let mut tried = |done: Result<(), String>| errors.extend(done.err());
    tried(tell(&["stop", MYRIAD]));
    if !record.myriad_was_enabled {
        tried(tell(&["disable", MYRIAD]));
    }
    tried(record::remove(root, unit::PLACE));
    tried(tell(&["daemon-reload"]));
    if record.nginx_was_enabled {
        tried(tell(&["enable", &record.unit]));
    }
    if record.nginx_ran {
        tried(tell(&["start", &record.unit]));
    }
    if errors.is_empty() {
        return Record::forget(root);
    }
    Err(errors.join("\n"))
}

/// Returns the record for a swap, or the reasons that prevent it, as sentences with remedies.
pub(super) fn obstacles(nginx_unit: &str) -> Result<Record, String> {
    let no_systemd = |why: String| format!("systemd cannot be asked here ({why})");
    let nginx = services::look(nginx_unit).map_err(no_systemd)?;
    let myriad = services::look(MYRIAD).map_err(no_systemd)?;
    if !nginx.is_installed {
        return Err(format!("systemd knows no {nginx_unit}: name nginx's service with --service"));
    }
    if !myriad.is_installed {
        return Err(format!(
            "systemd knows no {MYRIAD}: install the package (make deb, then apt install ./target/packages/myriad_*.deb)"
        ));
    }
    if myriad.is_active {
        return Err(format!(
            "{MYRIAD} runs, with a configuration of its own: systemctl disable --now myriad, then again"
        ));
    }
    Ok(Record {
        unit: nginx_unit.to_owned(),
        nginx_ran: nginx.is_active,
        nginx_was_enabled: nginx.is_enabled,
        myriad_was_enabled: myriad.is_enabled,
        ..Record::default()
    })
}
