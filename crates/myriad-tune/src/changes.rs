//! Changes: what a plan would have be otherwise than files say now.

use std::collections::BTreeMap;

use crate::file::{ConfigFile, Format};
use crate::present::Present;

/// One setting of a plan beside what there is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Section, empty without one.
    pub section: String,
    /// Name.
    pub name: String,
    /// Value now, and where it stands. `None` if no file says it: then the program's own default holds.
    pub now: Option<(String, String)>,
    /// Planned value.
    pub planned: String,
    /// Reason.
    pub why: String,
}

impl Change {
    /// Whether the value is the planned one already.
    pub fn is_made(&self) -> bool {
        self.now.as_ref().is_some_and(|(value, _)| is_same(value, &self.planned))
    }
}

/// Settings of a file beside what there is, in order.
pub fn changes(file: &ConfigFile, present: &Present) -> Vec<Change> {
    let mut seen = BTreeMap::new();
    for setting in &file.settings {
        // A name of a unit that stands twice: the last counts.
        seen.insert((setting.section.clone(), setting.name.clone()), &setting.value);
    }
    let last = |setting: &&crate::Setting| {
        file.format != Format::Unit
            || seen.get(&(setting.section.clone(), setting.name.clone())) == Some(&&setting.value)
    };
    let change = |setting: &crate::Setting| Change {
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

/// Whether two spellings of a value are one: `64M` and `67108864`, `On` and `1`.
fn is_same(a: &str, b: &str) -> bool {
    let plain = |text: &str| match text.to_ascii_lowercase().as_str() {
        "on" | "yes" | "true" => "1".to_owned(),
        "off" | "no" | "false" => "0".to_owned(),
        other => crate::amount::parse(other).map_or_else(|| other.to_owned(), |bytes| bytes.to_string()),
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
