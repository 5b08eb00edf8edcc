//! Differences between a plan and the present configuration files.

use std::collections::BTreeMap;

use crate::tune::file::{ConfigFile, FileFormat};
use crate::tune::present_settings::PresentSettings;

/// Planned setting of a program and its present value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingChange {
    /// Section of the configuration file; empty outside of sections.
    pub section: String,
    /// Name of the setting, such as `memory_limit`.
    pub name: String,
    /// Present value, and the file that sets it (`now` for a value of the running kernel). `None` if no file does, so
    /// that the default of the program applies.
    pub now: Option<(String, String)>,
    /// Planned value of the setting, as written to the file.
    pub planned: String,
    /// Reason for the planned value.
    pub why: String,
}

impl SettingChange {
    /// Returns whether the present value is equivalent to the planned one.
    pub fn is_made(&self) -> bool {
        self.now.as_ref().is_some_and(|(value, _)| is_same(value, &self.planned))
    }
}

/// Returns the settings of a planned file, with their present values. If a systemd unit sets a name several times, only
/// the settings with its last value are returned.
pub fn changes(file: &ConfigFile, present: &PresentSettings) -> Vec<SettingChange> {
    let mut seen = BTreeMap::new();
    for setting in &file.settings {
        // In a systemd unit, the last of several settings with the same name applies.
        seen.insert((setting.section.clone(), setting.name.clone()), &setting.value);
    }
    let last = |setting: &&crate::tune::Setting| {
        file.format != FileFormat::Unit
            || seen.get(&(setting.section.clone(), setting.name.clone())) == Some(&&setting.value)
    };
    let change = |setting: &crate::tune::Setting| SettingChange {
        section: setting.section.clone(),
        name: setting.name.clone(),
        now: present
            .value(file.format, &setting.section, &setting.name)
            .map(|(value, path)| (value.to_owned(), path.to_owned())),
        planned: setting.value.clone(),
        why: setting.why.clone(),
    };
    file.settings.iter().filter(last).map(change).collect()
}

/// Returns whether two values of a setting are equivalent: `64M` and `67108864`, `On` and `1`.
fn is_same(a: &str, b: &str) -> bool {
    let plain = |text: &str| match text.to_ascii_lowercase().as_str() {
        "on" | "yes" | "true" => "1".to_owned(),
        "off" | "no" | "false" => "0".to_owned(),
        other => {
            crate::tune::amount::parse(other).map_or_else(|| other.to_owned(), |bytes| bytes.to_string())
        }
    };
    plain(a) == plain(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_a_value_are_one() {
        assert!(is_same("64M", "67108864") && is_same("On", "1") && is_same("dynamic", "Dynamic"));
        assert!(!is_same("64M", "65M") && !is_same("10", "1") && !is_same("", "0"));
    }
}
