//! Present settings, parsed from the configuration files of a machine.

use std::collections::HashMap;

use crate::tune::file::FileFormat;

/// Configuration file of a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PresentFile {
    /// Path of the file, for messages.
    pub path: String,
    /// Format by which the file is parsed.
    pub format: FileFormat,
    /// Complete contents of the file.
    pub text: String,
}

/// Settings of several files. If a setting occurs several times, the last value applies, as in the programs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PresentSettings {
    values: HashMap<(String, String), (String, String)>,
}

impl PresentSettings {
    /// Parses the files of one program, in the order in which the program reads them.
    pub fn read(sources: &[PresentFile]) -> Self {
        let mut present = Self::default();
        for source in sources {
            present.add(source);
        }
        present
    }

    /// Returns the value of a setting and the file that sets it; `None` if no file does.
    pub fn value(&self, format: FileFormat, section: &str, name: &str) -> Option<(&str, &str)> {
        let (value, path) = self.values.get(&key(format, section, name))?;
        Some((value, path))
    }

    /// Sets a present value from a source other than a file, such as the running kernel; `path` names the source in
    /// messages.
    pub fn put(&mut self, format: FileFormat, section: &str, name: &str, value: String, path: String) {
        self.values.insert(key(format, section, name), (value, path));
    }

    fn add(&mut self, source: &PresentFile) {
        let mut section = String::new();
        for line in source.text.lines() {
            let line = line.trim();
            if line.is_empty() || line.starts_with(['#', ';']) {
                continue;
            }
            if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
                name.clone_into(&mut section);
            } else if let Some((name, value)) = split(source.format, line)
                && counts(source.format, &section)
            {
                let path = source.path.clone();
                self.values.insert(key(source.format, &section, name), (value.to_owned(), path));
            }
        }
    }
}

/// Returns whether the program reads this group of the file: in MariaDB's and MySQL's files, other programs have groups
/// too.
fn counts(format: FileFormat, group: &str) -> bool {
    format != FileFormat::MyCnf
        || matches!(group, "server" | "mysqld" | "mariadb" | "mariadbd" | "galera")
        || ["mysqld-", "mariadb-", "mariadbd-"].iter().any(|prefix| group.starts_with(prefix))
}

/// Splits a line into name and value; `None` if it is not a setting.
fn split(format: FileFormat, line: &str) -> Option<(&str, &str)> {
    let (name, value) = match format {
        FileFormat::Apache | FileFormat::Redis => line.split_once(char::is_whitespace)?,
        FileFormat::Limits => {
            let value = line.rsplit_once(char::is_whitespace)?;
            (value.0, value.1)
        }
        _ => line.split_once('=').unwrap_or((line, "")),
    };
    // Removes a comment after the value, unless it is within quotes.
    let value = value.trim();
    let comment: &[char] = match format {
        FileFormat::PhpIni | FileFormat::FpmPool => &[';'],
        FileFormat::MyCnf => &['#'],
        _ => &[],
    };
    let value =
        if value.starts_with(['"', '\'']) { value } else { value.split(comment).next().unwrap_or(value) };
    Some((name.trim(), value.trim().trim_matches(['"', '\''])))
}

/// Returns the key of a setting. Spellings that the program treats as equal have the same key.
fn key(format: FileFormat, section: &str, name: &str) -> (String, String) {
    match format {
        FileFormat::FpmPool | FileFormat::Unit => (section.to_owned(), name.to_owned()),
        FileFormat::PhpIni | FileFormat::Sysctl => (String::new(), name.to_owned()),
        FileFormat::MyCnf => {
            // `loose_` makes the program ignore an unknown name.
            let name = name.to_ascii_lowercase().replace('-', "_");
            (String::new(), name.strip_prefix("loose_").unwrap_or(&name).to_owned())
        }
        FileFormat::Limits => (String::new(), name.split_whitespace().collect::<Vec<_>>().join(" ")),
        FileFormat::Apache | FileFormat::Redis => (String::new(), name.to_ascii_lowercase()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(format: FileFormat, texts: &[&str]) -> PresentSettings {
        let sources: Vec<_> = texts
            .iter()
            .enumerate()
            .map(|(index, text)| PresentFile { path: index.to_string(), format, text: (*text).to_owned() })
            .collect();
        PresentSettings::read(&sources)
    }

    #[test]
    fn last_value_counts_in_each_language() {
        let ini = read(
            FileFormat::PhpIni,
            &["[PHP]\nmemory_limit = 128M ; usual\n; post_max_size = 1M\n", "memory_limit=\"256M\"\n"],
        );
        assert_eq!(ini.value(FileFormat::PhpIni, "", "memory_limit"), Some(("256M", "1")));
        assert_eq!(ini.value(FileFormat::PhpIni, "", "post_max_size"), None);
        let pool = read(FileFormat::FpmPool, &["[a]\npm.max_children = 5\n[b]\npm.max_children = 7\n"]);
        assert_eq!(pool.value(FileFormat::FpmPool, "a", "pm.max_children"), Some(("5", "0")));
        assert_eq!(pool.value(FileFormat::FpmPool, "c", "pm.max_children"), None);
        let database = read(
            FileFormat::MyCnf,
            &["[mysqldump]\nmax-connections=1\n[mysqld]\nmax-connections = 30 # few\nskip-name-resolve\n\
              loose-innodb_log_file_size = 1G\n"],
        );
        assert_eq!(
            database.value(FileFormat::MyCnf, "mariadb", "innodb_log_file_size"),
            Some(("1G", "0")),
            "a prefix that only permits unknown names"
        );
        assert_eq!(database.value(FileFormat::MyCnf, "mariadb", "max_connections"), Some(("30", "0")));
        assert_eq!(database.value(FileFormat::MyCnf, "mariadb", "skip_name_resolve"), Some(("", "0")));
        let apache = read(
            FileFormat::Apache,
            &["<IfModule mpm_event_module>\n maxrequestworkers   150\n</IfModule>\n"],
        );
        assert_eq!(
            apache.value(FileFormat::Apache, "mpm_event_module", "MaxRequestWorkers"),
            Some(("150", "0"))
        );
        let limits = read(FileFormat::Limits, &["*   soft\tnofile  4096\n"]);
        assert_eq!(limits.value(FileFormat::Limits, "", "* soft nofile"), Some(("4096", "0")));
    }

    #[test]
    fn lines_without_sense_are_passed_over() {
        for format in [
            FileFormat::PhpIni,
            FileFormat::FpmPool,
            FileFormat::MyCnf,
            FileFormat::Apache,
            FileFormat::Redis,
            FileFormat::Limits,
            FileFormat::Unit,
        ] {
            let _ = read(format, &["[", "]", "=", "= =", "[[x]", "\u{0}", "é=ü", "'", "a='", "  "]);
        }
    }
}
