//! Present values in files of a machine.

use std::collections::HashMap;

use crate::tune::file::Format;

/// File of a machine; files are listed in the order in which the program reads them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Path, for people.
    pub path: String,
    /// Format of the file.
    pub format: Format,
    /// Text.
    pub text: String,
}

/// Values set by files; the last value applies, as in the programs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Present {
    values: HashMap<(String, String), (String, String)>,
}

impl Present {
    /// Reads the files of one program, in order.
    pub fn read(sources: &[Source]) -> Self {
        let mut present = Self::default();
        for source in sources {
            present.add(source);
        }
        present
    }

    /// Returns the value of a setting and the file that sets it.
    pub fn value(&self, format: Format, section: &str, name: &str) -> Option<(&str, &str)> {
        let (value, path) = self.values.get(&key(format, section, name))?;
        Some((value, path))
    }

    /// Adds a value from another source.
    pub fn put(&mut self, format: Format, section: &str, name: &str, value: String, path: String) {
        self.values.insert(key(format, section, name), (value, path));
    }

    fn add(&mut self, source: &Source) {
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

/// Returns whether the server reads a group of its file: command line programs have groups in the same files.
fn counts(format: Format, group: &str) -> bool {
    format != Format::MyCnf
        || matches!(group, "server" | "mysqld" | "mariadb" | "mariadbd" | "galera")
        || ["mysqld-", "mariadb-", "mariadbd-"].iter().any(|prefix| group.starts_with(prefix))
}

/// Splits a line into name and value.
fn split(format: Format, line: &str) -> Option<(&str, &str)> {
    let (name, value) = match format {
        Format::Apache | Format::Redis => line.split_once(char::is_whitespace)?,
        Format::Limits => {
            let value = line.rsplit_once(char::is_whitespace)?;
            (value.0, value.1)
        }
        _ => line.split_once('=').unwrap_or((line, "")),
    };
    // A comment after a value; quoted text is not a comment.
    let value = value.trim();
    let comment: &[char] = match format {
        Format::PhpIni | Format::FpmPool => &[';'],
        Format::MyCnf => &['#'],
        _ => &[],
    };
    let value =
        if value.starts_with(['"', '\'']) { value } else { value.split(comment).next().unwrap_or(value) };
    Some((name.trim(), value.trim().trim_matches(['"', '\''])))
}

/// Returns the key of a setting; spellings that a program treats as equal have the same key.
fn key(format: Format, section: &str, name: &str) -> (String, String) {
    match format {
        Format::FpmPool | Format::Unit => (section.to_owned(), name.to_owned()),
        Format::PhpIni | Format::Sysctl => (String::new(), name.to_owned()),
        Format::MyCnf => {
            (String::new(), name.trim_start_matches("loose").to_ascii_lowercase().replace('-', "_"))
        }
        Format::Limits => (String::new(), name.split_whitespace().collect::<Vec<_>>().join(" ")),
        Format::Apache | Format::Redis => (String::new(), name.to_ascii_lowercase()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(format: Format, texts: &[&str]) -> Present {
        let sources: Vec<_> = texts
            .iter()
            .enumerate()
            .map(|(index, text)| Source { path: index.to_string(), format, text: (*text).to_owned() })
            .collect();
        Present::read(&sources)
    }

    #[test]
    fn last_value_counts_in_each_language() {
        let ini = read(
            Format::PhpIni,
            &["[PHP]\nmemory_limit = 128M ; usual\n; post_max_size = 1M\n", "memory_limit=\"256M\"\n"],
        );
        assert_eq!(ini.value(Format::PhpIni, "", "memory_limit"), Some(("256M", "1")));
        assert_eq!(ini.value(Format::PhpIni, "", "post_max_size"), None);
        let pool = read(Format::FpmPool, &["[a]\npm.max_children = 5\n[b]\npm.max_children = 7\n"]);
        assert_eq!(pool.value(Format::FpmPool, "a", "pm.max_children"), Some(("5", "0")));
        assert_eq!(pool.value(Format::FpmPool, "c", "pm.max_children"), None);
        let database = read(
            Format::MyCnf,
            &["[mysqldump]\nmax-connections=1\n[mysqld]\nmax-connections = 30 # few\nskip-name-resolve\n"],
        );
        assert_eq!(database.value(Format::MyCnf, "mariadb", "max_connections"), Some(("30", "0")));
        assert_eq!(database.value(Format::MyCnf, "mariadb", "skip_name_resolve"), Some(("", "0")));
        let apache =
            read(Format::Apache, &["<IfModule mpm_event_module>\n maxrequestworkers   150\n</IfModule>\n"]);
        assert_eq!(apache.value(Format::Apache, "mpm_event_module", "MaxRequestWorkers"), Some(("150", "0")));
        let limits = read(Format::Limits, &["*   soft\tnofile  4096\n"]);
        assert_eq!(limits.value(Format::Limits, "", "* soft nofile"), Some(("4096", "0")));
    }

    #[test]
    fn lines_without_sense_are_passed_over() {
        for format in [
            Format::PhpIni,
            Format::FpmPool,
            Format::MyCnf,
            Format::Apache,
            Format::Redis,
            Format::Limits,
            Format::Unit,
        ] {
            let _ = read(format, &["[", "]", "=", "= =", "[[x]", "\u{0}", "é=ü", "'", "a='", "  "]);
        }
    }
}
