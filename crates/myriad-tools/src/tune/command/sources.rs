//! Present settings of the files that a program reads in addition to a planned one.

use std::path::Path;

use crate::tune::{ConfigFile, FileFormat, PresentFile, PresentSettings};

use super::machine::kernel_value;
use super::programs::{ends, names, text};
use myriad_cli::machine_files::below;

/// Returns the files and folders that the program of a planned file reads, in the order in which it reads them. A
/// folder has the extension of the files that are read from it; for a file, the extension is empty.
fn places(file: &ConfigFile) -> Vec<(String, &'static str)> {
    let folder = file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let above = folder.rsplit_once('/').map_or("", |(above, _)| above);
    let place = |path: &str, ending| (path.to_owned(), ending);
    match file.format {
        FileFormat::PhpIni => vec![(format!("{above}/php.ini"), ""), (folder.to_owned(), "ini")],
        FileFormat::FpmPool => vec![(format!("{above}/php-fpm.conf"), ""), (folder.to_owned(), "conf")],
        FileFormat::MyCnf => {
            vec![
                place("/etc/mysql/my.cnf", ""),
                place("/etc/mysql/conf.d", "cnf"),
                (folder.to_owned(), "cnf"),
            ]
        }
        FileFormat::Redis => vec![(format!("{folder}/{}", own_of(folder)), ""), (file.path.clone(), "")],
        FileFormat::Unit => {
            let unit = folder.rsplit_once('/').map_or(folder, |(_, name)| name).trim_end_matches(".d");
            vec![
                (format!("/usr/lib/systemd/system/{unit}"), ""),
                (format!("/etc/systemd/system/{unit}"), ""),
                (folder.to_owned(), "conf"),
            ]
        }
        FileFormat::Apache => vec![
            place("/etc/apache2/apache2.conf", ""),
            place("/etc/apache2/mods-enabled", "conf"),
            place("/etc/apache2/ports.conf", ""),
            (folder.to_owned(), "conf"),
        ],
        FileFormat::Sysctl => vec![(folder.to_owned(), "conf"), place("/etc/sysctl.conf", "")],
        FileFormat::Limits => vec![place("/etc/security/limits.conf", ""), (folder.to_owned(), "conf")],
    }
}

/// Returns the name of the main configuration file of Redis or Valkey, in the folder of the planned file.
fn own_of(folder: &str) -> &'static str {
    if folder.ends_with("valkey") { "valkey.conf" } else { "redis.conf" }
}

/// Returns the present values of a planned file's settings, from files; for the root `/`, kernel settings have the
/// value of the running kernel instead.
pub(super) fn present(root: &Path, file: &ConfigFile) -> PresentSettings {
    let mut sources = Vec::new();
    for (path, ending) in places(file) {
        let place = below(root, &path);
        let paths = if ending.is_empty() {
            vec![path]
        } else {
            let names = names(&place).into_iter().filter(|name| ends(name, ending));
            names.map(|name| format!("{path}/{name}")).collect()
        };
        for path in paths {
            if let Some(text) = text(&below(root, &path)) {
                sources.push(PresentFile { path, format: file.format, text });
            }
        }
    }
    let mut present = PresentSettings::read(&sources);
    if file.format == FileFormat::Sysctl && root == Path::new("/") {
        for setting in &file.settings {
            if let Some(value) = kernel_value(&setting.name) {
                present.put(file.format, "", &setting.name, value, "now".to_owned());
            }
        }
    }
    present
}

/// Returns a sentence for each setting of `php.ini` that the file of a pool overrides.
pub(super) fn overridden(root: &Path, ini: &ConfigFile) -> Vec<String> {
    let pools = ini.path.replace("/conf.d/99-myriad.ini", "/pool.d");
    let mut remarks = Vec::new();
    for name in names(&below(root, &pools)).iter().filter(|name| ends(name, "conf")) {
        for line in text(&below(root, &format!("{pools}/{name}"))).unwrap_or_default().lines() {
            let Some((key, value)) = line.trim().split_once('=') else { continue };
            let key = key.trim();
            let setting = ["php_value[", "php_admin_value[", "php_flag[", "php_admin_flag["]
                .iter()
                .find_map(|prefix| key.strip_prefix(prefix)?.strip_suffix(']'));
            if let Some(setting) = setting.filter(|setting| ini.value("", setting).is_some()) {
                remarks.push(format!(
                    "{pools}/{name} sets {key} = {}, which overrides php.ini: remove this line to use {setting} as planned",
                    value.trim()
                ));
            }
        }
    }
    remarks
}
