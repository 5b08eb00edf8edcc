//! Changes: differences between a plan and the present files.

use std::collections::BTreeMap;

use crate::tune::file::{ConfigFile, FileFormat};
use crate::tune::present_settings::PresentSettings;

/// Setting of a plan with its present value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingChange {
    /// Section, empty without one.
    pub section: String,
    /// Name of the setting.
    pub name: String,
    /// Present value and its file. `None` if no file sets it, so that the default of the program applies.
    pub now: Option<(String, String)>,
    /// Planned value.
    pub planned: String,
    /// Reason.
    pub why: String,
}

impl SettingChange {
    /// Returns whether the present value is already the planned one.
    pub fn is_made(&self) -> bool {
        self.now.as_ref().is_some_and(|(value, _)| is_same(value, &self.planned))
    }
}

/// Returns the settings of a file with their present values, in order.
pub fn changes(file: &ConfigFile, present: &PresentSettings) -> Vec<SettingChange> {
    let mut seen = BTreeMap::new();
    for setting in &file.settings {
        // The last of two equal names in a unit applies.
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

/// Returns whether two spellings of a value are equivalent: `64M` and `67108864`, `On` and `1`.
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
