//! Files that a plan writes: settings with their reasons, in the format of the program that reads them.

use std::fmt::Write as _;

/// Configuration file format of a tuned program, such as php-fpm, MariaDB or systemd.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileFormat {
    /// `php.ini` and similar files: `name = value`, sections have no meaning.
    PhpIni,
    /// Pools of php-fpm: `name = value` in the section of a pool.
    FpmPool,
    /// MariaDB and MySQL: `name = value` in the group of a program.
    MyCnf,
    /// `sysctl.d`: `name = value`.
    Sysctl,
    /// `limits.d`: `domain type item value`.
    Limits,
    /// Apache: `Name value`, within `<IfModule>` if a section is given.
    Apache,
    /// Redis and Valkey: `name value`.
    Redis,
    /// systemd: `Name=value` in a section. A name may be repeated; an empty value resets the earlier values.
    Unit,
}

impl FileFormat {
    fn comment(self) -> &'static str {
        match self {
            Self::PhpIni | Self::FpmPool => ";",
            _ => "#",
        }
    }
}

/// Setting of a planned file, with its reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Section of the file that contains the setting; empty outside of sections.
    pub section: String,
    /// Name of the setting, such as `memory_limit`.
    pub name: String,
    /// Value as written in the file.
    pub value: String,
    /// Reason for the value, as a sentence without a full stop; empty if the file has no comment above the setting.
    pub why: String,
}

/// File that a plan writes. It is separate from the files of the program's package, and read after them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigFile {
    /// Absolute path on the machine, without `--root`.
    pub path: String,
    /// Format in which the settings are written.
    pub format: FileFormat,
    /// Name of the program that reads the file, for messages.
    pub program: String,
    /// Settings in the order of the file, grouped by section.
    pub settings: Vec<Setting>,
    /// Command that makes the program read the file, or an instruction for the user.
    pub activate: String,
}

impl ConfigFile {
    pub(crate) fn new(
        path: impl Into<String>,
        format: FileFormat,
        program: &str,
        activate: impl Into<String>,
    ) -> Self {
        Self {
            path: path.into(),
            format,
            program: program.to_owned(),
            settings: Vec::new(),
            activate: activate.into(),
        }
    }

    /// Adds a setting with its reason to the file.
    #[expect(clippy::needless_pass_by_value, reason = "numbers and texts are given as they come")]
    pub(crate) fn set(&mut self, section: &str, name: &str, value: impl ToString, why: impl Into<String>) {
        self.settings.push(Setting {
            section: section.to_owned(),
            name: name.to_owned(),
            value: value.to_string(),
            why: why.into(),
        });
    }

    /// Returns the first value of a setting; `None` if the file does not contain it.
    pub fn value(&self, section: &str, name: &str) -> Option<&str> {
        let found = self.settings.iter().find(|setting| setting.section == section && setting.name == name);
        found.map(|setting| setting.value.as_str())
    }

    /// Returns the contents of the file.
    pub fn text(&self) -> String {
        let comment = self.format.comment();
        let mut text = format!(
            "{comment} Written by `myriad tune --apply`; `myriad tune --undo` removes it. Put your own changes into a file \
                 that is\n{comment} read after this one.\n"
        );
        let mut section = "";
        for setting in &self.settings {
            if setting.section != section {
                self.close(section, &mut text);
                section = &setting.section;
                self.open(section, &mut text);
            }
            self.line(setting, &mut text);
        }
        self.close(section, &mut text);
        text
    }

    fn open(&self, section: &str, text: &mut String) {
        let _ = match (section, self.format) {
            ("", _) => Ok(()),
            (_, FileFormat::Apache) => write!(text, "\n<IfModule {section}>\n"),
            _ => write!(text, "\n[{section}]\n"),
        };
    }

    fn close(&self, section: &str, text: &mut String) {
        if !section.is_empty() && self.format == FileFormat::Apache {
            text.push_str("</IfModule>\n");
        }
    }

    fn line(&self, setting: &Setting, text: &mut String) {
        let Setting { name, value, why, .. } = setting;
        if !why.is_empty() {
            let _ = writeln!(text, "{} {why}", self.format.comment());
        }
        let _ = match self.format {
            FileFormat::Apache | FileFormat::Redis | FileFormat::Limits => writeln!(text, "{name} {value}"),
            FileFormat::Unit => writeln!(text, "{name}={value}"),
            _ => writeln!(text, "{name} = {value}"),
        };
    }
}
