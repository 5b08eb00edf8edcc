//! Files of a plan: settings with their reasons, in the language of the program that reads them.

use std::fmt::Write as _;

/// Language of a configuration file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `php.ini` and its like: `name = value`, sections mean nothing.
    PhpIni,
    /// Pools of php-fpm: `name = value` in the section of a pool.
    FpmPool,
    /// MariaDB's and MySQL's: `name = value` in the group of a program.
    MyCnf,
    /// `sysctl.d`: `name = value`.
    Sysctl,
    /// `limits.d`: `domain type item value`.
    Limits,
    /// Apache's: `Name value`, within `<IfModule>` if a section is named.
    Apache,
    /// Redis' and Valkey's: `name value`.
    Redis,
    /// systemd's: `Name=value` in a section. A name may stand twice: an empty value takes back what stood before.
    Unit,
}

impl Format {
    fn comment(self) -> &'static str {
        match self {
            Self::PhpIni | Self::FpmPool => ";",
            _ => "#",
        }
    }
}

/// One line of a file, and why it is so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Section, if the language has one; empty else.
    pub section: String,
    /// Name.
    pub name: String,
    /// Value as it is written.
    pub value: String,
    /// Reason, a sentence without a full stop.
    pub why: String,
}

/// File that a plan writes: one of Myriad's own, which the program reads after those of its package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigFile {
    /// Absolute path on the machine.
    pub path: String,
    /// Language.
    pub format: Format,
    /// Program that reads it, for people.
    pub program: String,
    /// Settings in order, those of a section together.
    pub settings: Vec<Setting>,
    /// Command that has the program read it.
    pub activate: String,
}

impl ConfigFile {
    pub(crate) fn new(
        path: impl Into<String>,
        format: Format,
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

    /// Adds a line.
    #[expect(clippy::needless_pass_by_value, reason = "numbers and texts are given as they come")]
    pub(crate) fn set(&mut self, section: &str, name: &str, value: impl ToString, why: impl Into<String>) {
        self.settings.push(Setting {
            section: section.to_owned(),
            name: name.to_owned(),
            value: value.to_string(),
            why: why.into(),
        });
    }

    /// Value of a setting.
    pub fn value(&self, section: &str, name: &str) -> Option<&str> {
        let found = self.settings.iter().find(|setting| setting.section == section && setting.name == name);
        found.map(|setting| setting.value.as_str())
    }

    /// Text of the file.
    pub fn text(&self) -> String {
        let comment = self.format.comment();
        let mut text = format!(
            "{comment} Written by `myriad tune --apply`; `myriad tune --undo` takes it away. Your own changes belong into a file that is\n\
             {comment} read after this one.\n"
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
            (_, Format::Apache) => write!(text, "\n<IfModule {section}>\n"),
            _ => write!(text, "\n[{section}]\n"),
        };
    }

    fn close(&self, section: &str, text: &mut String) {
        if !section.is_empty() && self.format == Format::Apache {
            text.push_str("</IfModule>\n");
        }
    }

    fn line(&self, setting: &Setting, text: &mut String) {
        let Setting { name, value, why, .. } = setting;
        if !why.is_empty() {
            let _ = writeln!(text, "{} {why}", self.format.comment());
        }
        let _ = match self.format {
            Format::Apache | Format::Redis | Format::Limits => writeln!(text, "{name} {value}"),
            Format::Unit => writeln!(text, "{name}={value}"),
            _ => writeln!(text, "{name} = {value}"),
        };
    }
}
