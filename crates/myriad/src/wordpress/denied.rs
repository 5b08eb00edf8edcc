//! Folders of a site whose `.htaccess` denies access: shops keep there what is sold, plugins what only PHP should read. They are looked
//! for at each start and reload.

use std::path::Path;

use myriad_import::{Denials, Partly, denials, regex_of};
use myriad_script::Regex;

use super::kind::Kind;
use crate::site_folder::SiteFolder;

/// Maximum number of folders read for each site, and of those of uploads, which are read first.
const FOLDERS: usize = 5_000;
const FOLDERS_OF_UPLOADS: usize = 2_000;
/// Maximum number of files obeyed, and maximum size of one.
const FILES: usize = 500;
const FILE_BYTES: u64 = 64 << 10;
/// Maximum number of warnings for each site.
const WARNINGS: usize = 3;
/// Name of the files.
const NAME: &str = ".htaccess";

/// Folders of a site that have a `.htaccess`, by their URL paths, which begin and end with `/`; warnings of lines that are not obeyed.
pub(crate) fn find(root: &Path, kind: Kind, warnings: &mut Vec<String>) -> Vec<(String, Denials)> {
    let site = SiteFolder::new(root);
    let (uploads, except): (&[&str], &[&'static str]) = match kind {
        Kind::WordPress => (&["wp-content/uploads"], &["wp-content/uploads", "wp-admin", "wp-includes"]),
        Kind::Php => (&[], &[]),
    };
    let starts = uploads.iter().map(|start| (*start, FOLDERS_OF_UPLOADS, &[][..]));
    let mut found = Vec::new();
    let mut told = Vec::new();
    for (start, folders, except) in starts.chain([("", FOLDERS, except)]) {
        let Ok(files) = site.files(start, folders) else { continue };
        let mut files = files.named(NAME).except(except);
        while let Some(file) = files.next().filter(|_| found.len() < FILES) {
            let path = Path::new(start).join(&file);
            let (Some(folder), Ok(text)) =
                (path.parent().and_then(Path::to_str), files.read(&file, FILE_BYTES))
            else {
                continue;
            };
            let denials = read(&String::from_utf8_lossy(&text), folder);
            told.extend(denials.remarks.iter().map(|remark| {
                let path = root.join(&path);
                format!("wordpress: {}:{}: {}: {}", path.display(), remark.line, remark.text, remark.reason)
            }));
            let folder = if folder.is_empty() { "/".to_owned() } else { format!("/{folder}/") };
            found.push((folder, denials));
        }
    }
    warnings.extend(told.into_iter().take(WARNINGS));
    found
}

/// Denials of the `.htaccess` of a folder.
fn read(text: &str, folder: &str) -> Denials {
    if folder.is_empty() {
        // What the site's own folder denies as a whole would leave no site.
        return denials(text, Partly::Admitted).without_folder();
    }
    denials(text, Partly::Denied)
}

/// Location of the preset for what is denied: only `X-Accel-Redirect` delivers it.
pub(super) fn location(folders: &[(String, Denials)]) -> String {
    let compiles = |regex: &str| Regex::without_captures(regex).is_ok();
    let Some(regex) = regex_of(folders, compiles) else { return String::new() };
    format!("location ~ {} {{\n            internal;\n        }}", myriad_import::quoted(&regex))
}

/// Regex of the folders whose `.htaccess` denies nothing as a whole: the preset denies none of them by its name.
pub(super) fn admitted(folders: &[(String, Denials)]) -> String {
    let admitted = folders.iter().filter(|(path, denials)| path != "/" && !denials.denies_folder());
    let paths: Vec<_> = admitted.map(|(path, _)| myriad_import::escaped(path)).collect();
    if paths.is_empty() {
        // Nothing matches it.
        return "(?!)".to_owned();
    }
    let regex = myriad_import::quoted(&format!("(?-x:^(?:{}))", paths.join("|")));
    regex.trim_matches('"').to_owned()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn files_are_found_in_uploads_and_elsewhere_and_those_of_wordpress_itself_are_not() {
        let root = std::env::temp_dir().join(format!("myriad-denied-{}", std::process::id()));
        let deny = "deny from all\n";
        for (folder, text) in [
            ("wp-content/uploads/edd", "Options -Indexes\n"),
            ("wp-content/uploads/2026/11", "<Files *.pdf>\nRequire all denied\n</Files>\n"),
            ("wp-content/plugins/a/logs", deny),
            ("wp-content/plugins/b", "Require ip 10.0.0.1\n"),
            ("wp-admin", deny),
            ("", "deny from all\n<Files x.txt>\nRequire all denied\n</Files>\n"),
        ] {
            fs::create_dir_all(root.join(folder)).expect("folders");
            fs::write(root.join(folder).join(NAME), text).expect("a file");
        }
        std::os::unix::fs::symlink("a", root.join("wp-content/plugins/link")).expect("a link");
        let mut warnings = Vec::new();
        let mut found = find(&root, Kind::WordPress, &mut warnings);
        fs::remove_dir_all(&root).expect("clean");
        found.sort_by(|a, b| a.0.cmp(&b.0));
        let paths: Vec<_> = found.iter().map(|(path, _)| path.as_str()).collect();
        let uploads = ["/wp-content/uploads/2026/11/", "/wp-content/uploads/edd/"];
        assert_eq!(paths[..3], ["/", "/wp-content/plugins/a/logs/", "/wp-content/plugins/b/"]);
        assert_eq!(paths[3..], uploads);
        assert!(
            warnings.len() == 1 && warnings[0].contains("plugins/b/.htaccess:1: Require ip"),
            "{warnings:?}"
        );
        let location = location(&found);
        assert!(location.contains("x\\.txt") && !location.contains("(?:^/)"), "{location}");
        assert!(!location.contains("link") && !location.contains("edd"), "{location}");
        let admitted = admitted(&found);
        assert_eq!(admitted, "(?-x:^(?:/wp-content/uploads/edd/|/wp-content/uploads/2026/11/))");
        assert_eq!(super::admitted(&[]), "(?!)");
    }
}
