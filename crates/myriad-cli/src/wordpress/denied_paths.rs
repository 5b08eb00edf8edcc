//! Paths that the `.htaccess` files of a site deny. Shops store sold files in such folders, plugins their logs and
//! exports. The files are read at each start and reload.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io;
use std::path::Path;

use crate::apache::{AccessDenials, Cycle, PartialAccess, denials, denied_paths};
use myriad_script::Regex;

use super::layout::SiteLayout;
use super::site_kind::SiteKind;
use crate::site_folder::SiteFolder;

/// Search for `.htaccess` files.
struct HtaccessSearch {
    /// Folder that is searched, relative to the document root.
    start: String,
    /// Maximum number of folders that are read.
    folders: usize,
    /// Folders that are skipped, relative to `start`.
    except: Vec<String>,
}

impl HtaccessSearch {
    fn new(start: &str, folders: usize, except: &[&str]) -> Self {
        let except = except.iter().map(|folder| (*folder).trim_start_matches('/').to_owned()).collect();
        Self { start: start.to_owned(), folders, except }
    }

    /// Returns the searches for a site. Uploads are searched separately, so that the limits of other folders do not
    /// apply to them. The files of WordPress itself have no such rules.
    fn of(layout: &SiteLayout, kind: SiteKind) -> Vec<Self> {
        if kind == SiteKind::Php {
            return vec![Self::new("", 5_000, &[])];
        }
        let (core, content) = (&layout.core, layout.content.as_str());
        let own = [format!("{core}/wp-admin"), format!("{core}/wp-includes")];
        vec![
            Self::new(&format!("{content}/uploads"), 2_000, &[]),
            Self::new(content, 5_000, &["uploads"]),
            Self::new("", 1_000, &[content, &own[0], &own[1]]),
        ]
    }
}

/// Maximum number of `.htaccess` files that are applied, per site.
const MAX_FILES: usize = 500;
const MAX_FILE_BYTES: u64 = 64 << 10;
/// Regex for the folders in `uploads` that the preset denies by name.
const PROTECTED: &str = "woocommerce_uploads|dlm_uploads|wc-logs|wpcf7_uploads|wpo_wcpdf[^/]*|edd";
/// Maximum total length of the regexes of admitted folders, in bytes. PCRE2 limits compiled patterns to 64 Ki code
/// units, of which a letter takes two.
const MAX_ADMITTED_BYTES: usize = 8 << 10;
/// Maximum number of remarks about single lines, per site.
const MAX_REMARKS: usize = 100;
/// Maximum number of warnings about single lines, per site.
const MAX_WARNINGS: usize = 3;
/// Name of the files that are searched.
const NAME: &str = ".htaccess";

/// Paths that the `.htaccess` files of a site deny.
#[derive(Clone, Debug, Default)]
pub struct DeniedSitePaths {
    /// Folders with a `.htaccess`, by their URL paths, starting and ending with `/`, and the rules of that file.
    folders: Vec<(String, AccessDenials)>,
    /// Regexes of the denied URL paths.
    regexes: Vec<String>,
    /// Regexes of folders that are not denied although the preset denies them by name, because their `.htaccess` does
    /// not deny the whole folder.
    admitted: Vec<String>,
    /// Rules that are not applied as written, each with its file and the reason; at most [`MAX_REMARKS`].
    remarks: Vec<String>,
}

impl DeniedSitePaths {
    /// Reads the `.htaccess` files of a site. Lines that are not applied as written, and limits that are reached, are
    /// added to `warnings`.
    pub fn find(layout: &SiteLayout, kind: SiteKind, warnings: &mut Vec<String>) -> Self {
        let root = &layout.root;
        let site = SiteFolder::new(root);
        let mut folders = Vec::new();
        let (mut remarks, mut cycles) = (Vec::new(), Vec::new());
        let mut is_cut = false;
        for search in HtaccessSearch::of(layout, kind) {
            let Ok(files) = site.files(&search.start, search.folders) else { continue };
            let mut files = files.named(NAME).except(&search.except).following_links();
            while let Some(file) = files.next() {
                if folders.len() >= MAX_FILES {
                    is_cut = true;
                    break;
                }
                let path = Path::new(&search.start).join(&file);
                let Some(folder) = path.parent().and_then(Path::to_str) else {
                    remarks
                        .push(format!("{}: not applied: the path is not UTF-8", root.join(&path).display()));
                    continue;
                };
                let denials = read(files.read(&file, MAX_FILE_BYTES), folder);
                remarks.extend(denials.remarks.iter().map(|remark| {
                    let (path, line) = (root.join(&path), remark.line);
                    format!("{}:{line}: {}: {}", path.display(), remark.text, remark.reason)
                }));
                folders.push((url_path(folder), denials));
            }
            is_cut |= files.is_cut();
            cycles.extend(files.cycles().iter().filter_map(|cycle| {
                let folder = Path::new(&search.start).join(&cycle.folder);
                Some(Cycle { folder: url_path(folder.to_str()?), way: format!("{}/", cycle.way.to_str()?) })
            }));
        }
        remarks.truncate(MAX_REMARKS);
        warnings.extend(remarks.iter().take(MAX_WARNINGS).map(|remark| format!("wordpress: {remark}")));
        if remarks.len() > MAX_WARNINGS {
            warnings.push(format!(
                "wordpress: {}: {} more rules of .htaccess files are not applied as written: myriad doctor lists them",
                root.display(),
                remarks.len() - MAX_WARNINGS
            ));
        }
        let paths = denied_paths(&folders, &cycles, |regex| Regex::without_captures(regex).is_ok());
        let (admitted, left_out) = admitted(&folders, &layout.content_regex());
        if left_out > 0 {
            warnings.push(format!(
                "wordpress: {}: too many or too long names of folders in which a .htaccess admits clients; the preset denies {left_out} of \
                     them by name: admit the clients in a .htaccess of an outer folder",
                root.display()
            ));
        }
        if is_cut || paths.skipped > 0 {
            warnings.push(format!(
                "wordpress: {} exceeds the limit of folders or of rules in .htaccess files; some rules are not applied as written: write a \
                     configuration with `location` blocks that contain `internal;` for the denied paths",
                root.display()
            ));
        }
        Self { folders, regexes: paths.regexes, admitted, remarks }
    }

    /// Returns the rules that are not applied as written, at most 100, each with its file and the reason.
    pub fn remarks(&self) -> &[String] {
        &self.remarks
    }

    /// Returns `location` blocks that deny the paths to clients. Files there can still be sent by `X-Accel-Redirect`.
    pub(super) fn locations(&self) -> String {
        let locations = self.regexes.iter().map(|regex| {
            format!("location ~ {} {{\n            internal;\n        }}", crate::apache::quoted(regex))
        });
        locations.collect::<Vec<_>>().join("\n        ")
    }

    /// Returns a regex for the folders that the preset must not deny by name, to be inserted into a quoted word. It
    /// never matches if there are none.
    pub(super) fn admitted(&self) -> String {
        if self.admitted.is_empty() {
            return "(?!)".to_owned();
        }
        let regex = crate::apache::quoted(&format!("(?-x:^(?:{}))", self.admitted.join("|")));
        regex.trim_matches('"').to_owned()
    }

    /// Returns the URL path of one denied file per folder, percent-encoded; at most `limit` paths in total. Hidden
    /// files are excluded, and PHP files, because a request would run them.
    pub fn examples(&self, root: &Path, limit: usize) -> Vec<String> {
        let regexes: Vec<_> =
            self.regexes.iter().filter_map(|regex| Regex::without_captures(regex).ok()).collect();
        let matches =
            |path: &str| regexes.iter().any(|regex| regex.is_match(path.as_bytes()).unwrap_or(false));
        let site = SiteFolder::new(root);
        let denying = self.folders.iter().filter(|(_, denials)| denials.is_denying());
        let examples = denying.filter_map(|(folder, _)| {
            let mut files = site.files(folder.trim_matches('/'), EXAMPLE_FOLDERS).ok()?;
            files.find_map(|file| {
                let name = file.file_name()?.to_str()?;
                let path = format!("{folder}{}", file.to_str()?);
                let is_denied = !name.starts_with('.')
                    && file.extension().is_none_or(|end| !end.eq_ignore_ascii_case("php"));
                (is_denied && matches(&path)).then(|| encoded(&path))
            })
        });
        // The first file found for an outer folder may be in an inner one, so a path may occur twice.
        examples.take(limit).collect::<BTreeSet<_>>().into_iter().collect()
    }
}

/// Returns regexes of the folders whose `.htaccess` does not deny the whole folder, and the number of folders that are
/// left out because the regexes would be too long. Only folders that the preset denies by name, and folders below them,
/// are considered: a `.htaccess` in an enclosing folder, such as `uploads`, does not admit clients to them. A folder
/// below another one of the result needs no regex. `content` is a regex for the name of `wp-content`.
fn admitted(folders: &[(String, AccessDenials)], content: &str) -> (Vec<String>, usize) {
    let protected = format!("^/(?:.*/)?{content}/uploads/(?:sites/[0-9]+/)?(?:{PROTECTED})/");
    let Ok(protected) = Regex::without_captures(&protected) else { return (Vec::new(), 0) };
    let is_admitted = |(path, denials): &&(String, AccessDenials)| {
        let is_protected = protected.is_match(path.as_bytes()).unwrap_or(false);
        is_protected && !denials.denies_folder() && !path.contains(char::is_control)
    };
    let mut paths: Vec<_> = folders.iter().filter(is_admitted).map(|(path, _)| path.as_str()).collect();
    paths.sort_unstable();
    paths.dedup_by(|inner, outer| inner.starts_with(*outer));
    // Shorter paths first, so that more of them fit.
    paths.sort_by_key(|path| path.len());
    let mut regexes: Vec<_> = paths.into_iter().map(crate::apache::escaped).collect();
    let mut length = 0;
    let fitting = regexes.iter().take_while(|regex| {
        length += regex.len() + 1;
        length <= MAX_ADMITTED_BYTES
    });
    let fitting = fitting.count();
    let left_out = regexes.len() - fitting;
    regexes.truncate(fitting);
    (regexes, left_out)
}

/// Maximum number of folders that are searched for an example of a denied file, per folder with denials.
const EXAMPLE_FOLDERS: usize = 20;

/// Percent-encodes a path for a request line, because the owner of the site chooses its characters.
fn encoded(path: &str) -> String {
    path.bytes().fold(String::new(), |mut out, byte| {
        if byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
        out
    })
}

/// Returns the URL path of a folder that is given relative to the document root, starting and ending with `/`.
fn url_path(folder: &str) -> String {
    let folder = folder.trim_matches('/');
    if folder.is_empty() { "/".to_owned() } else { format!("/{folder}/") }
}

/// Parses the `.htaccess` of a folder. If it cannot be read, the folder is denied, as in Apache, except the document
/// root.
fn read(text: io::Result<Vec<u8>>, folder: &str) -> AccessDenials {
    match text {
        Ok(text) => parse(&String::from_utf8_lossy(&text), folder),
        Err(error) => parse("Require all denied", folder).with_remark(format!(
            "the file cannot be read: {error}; the folder is denied, unless it is that of the site"
        )),
    }
}

/// Parses the `.htaccess` of a folder. In the document root (an empty path), rules for the whole folder are dropped,
/// and rules that admit only some clients count as admitting all.
fn parse(text: &str, folder: &str) -> AccessDenials {
    if folder.is_empty() {
        // A denial of the document root would deny every page.
        return denials(text, PartialAccess::Admitted).without_folder();
    }
    denials(text, PartialAccess::Denied)
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
        fs::write(root.join("wp-content/plugins/a/logs/a\nb.log"), "").expect("a file");
        std::os::unix::fs::symlink("a", root.join("wp-content/plugins/link")).expect("a link");
        let mut warnings = Vec::new();
        let denied =
            DeniedSitePaths::find(&SiteLayout::usual(root.clone()), SiteKind::WordPress, &mut warnings);
        let examples = denied.examples(&root, 9);
        fs::remove_dir_all(&root).expect("clean");
        let mut paths: Vec<_> = denied.folders.iter().map(|(path, _)| path.as_str()).collect();
        paths.sort_unstable();
        let others =
            ["/wp-content/plugins/link/logs/", "/wp-content/uploads/2026/11/", "/wp-content/uploads/edd/"];
        assert_eq!(paths[..3], ["/", "/wp-content/plugins/a/logs/", "/wp-content/plugins/b/"]);
        assert_eq!(paths[3..], others);
        assert!(
            warnings.len() == 1 && warnings[0].contains("plugins/b/.htaccess:1: Require ip"),
            "{warnings:?}"
        );
        let locations = denied.locations();
        assert!(locations.contains("x\\.txt") && !locations.contains("(?:^/)"), "{locations}");
        assert!(locations.contains("/link/logs/") && !locations.contains("edd"), "{locations}");
        assert_eq!(
            examples,
            ["/wp-content/plugins/a/logs/a%0Ab.log", "/wp-content/plugins/link/logs/a%0Ab.log"]
        );
        let admitted = denied.admitted();
        assert_eq!(admitted, "(?-x:^(?:/wp-content/uploads/edd/))");
        assert_eq!(DeniedSitePaths::default().admitted(), "(?!)");
    }

    #[test]
    fn rules_that_are_not_applied_as_written_are_reported_and_unreadable_files_deny_their_folder() {
        let root = std::env::temp_dir().join(format!("myriad-denied-remarks-{}", std::process::id()));
        let large = "#".repeat(70_000);
        let section = "<If x>\nRequire all denied\n</If>\n";
        for (folder, text) in
            [("a", &large[..]), ("b", section), ("c", section), ("d", section), ("", &large)]
        {
            fs::create_dir_all(root.join(folder)).expect("folders");
            fs::write(root.join(folder).join(NAME), text).expect("a file");
        }
        let mut warnings = Vec::new();
        let denied = DeniedSitePaths::find(&SiteLayout::usual(root.clone()), SiteKind::Php, &mut warnings);
        fs::remove_dir_all(&root).expect("clean");
        assert_eq!(denied.remarks().len(), 5, "{:?}", denied.remarks());
        let is_told = |part: &str| denied.remarks().iter().any(|remark| remark.contains(part));
        assert!(is_told("a/.htaccess:0: ") && is_told("larger than") && is_told("b/.htaccess:1: <If x>"));
        assert!(warnings.len() == 4 && warnings[3].contains("2 more rules"), "{warnings:?}");
        let regex = Regex::without_captures(&denied.regexes[0]).expect("a valid regex");
        let denied =
            ["/a/x", "/b/x", "/c/x", "/d/x", "/x"].map(|path| regex.is_match(path.as_bytes()).expect("it"));
        assert_eq!(denied, [true, true, true, true, false]);
    }

    #[test]
    fn files_behind_links_of_one_owner_are_found_and_denied_by_each_path() {
        use std::os::unix::fs::{lchown, symlink};
        let top = std::env::temp_dir().join(format!("myriad-denied-links-{}", std::process::id()));
        let (root, shared) = (top.join("site"), top.join("shared"));
        let uploads = root.join("wp-content/uploads");
        for folder in [uploads.join("orders"), shared.join("sold"), shared.join("foreign"), top.join("rules")]
        {
            fs::create_dir_all(&folder).expect("folders");
            fs::write(folder.join(NAME), "deny from all\n").expect("a file");
        }
        fs::create_dir_all(uploads.join("by-link")).expect("a folder");
        symlink(top.join("rules").join(NAME), uploads.join("by-link").join(NAME)).expect("a link");
        symlink(&shared, uploads.join("shared")).expect("a link");
        symlink("orders", uploads.join("alias")).expect("a link");
        symlink("..", uploads.join("up")).expect("a link");
        symlink(".", root.join("blog")).expect("a link");
        symlink(shared.join("foreign"), uploads.join("foreign")).expect("a link");
        let is_root = lchown(uploads.join("foreign"), Some(1), None).is_ok();
        let mut warnings = Vec::new();
        let denied =
            DeniedSitePaths::find(&SiteLayout::usual(root.clone()), SiteKind::WordPress, &mut warnings);
        fs::remove_dir_all(&top).expect("clean");
        assert_eq!(warnings, Vec::<String>::new());
        let regexes: Vec<_> = denied
            .regexes
            .iter()
            .map(|regex| Regex::without_captures(regex).expect("a valid regex"))
            .collect();
        let is_denied = |path: &str| {
            let path = format!("{path}/a.pdf");
            regexes.iter().any(|regex| regex.is_match(path.as_bytes()).expect("a result"))
        };
        for way in
            ["/wp-content", "/blog/wp-content", "/blog/blog/wp-content", "/wp-content/uploads/up/uploads/up"]
        {
            for folder in ["orders", "alias", "shared/sold", "by-link"] {
                assert!(is_denied(&format!("{way}/uploads/{folder}")), "{way} {folder}");
            }
            assert!(!is_denied(&format!("{way}/uploads/shared")), "{way}");
        }
        assert!(
            !is_root || !is_denied("/wp-content/uploads/foreign"),
            "files of another user are not served anyway"
        );
    }

    /// Compiles the location by which the preset denies folders by name, for folders with these `.htaccess` files. Also
    /// returns the number of folders that are left out.
    fn by_name(folders: &[(&str, &str)]) -> (Regex, usize) {
        let folders = folders.iter().map(|(path, text)| ((*path).to_owned(), parse(text, path)));
        let (admitted, left_out) = admitted(&folders.collect::<Vec<_>>(), "wp-content");
        let denied = DeniedSitePaths { admitted, ..DeniedSitePaths::default() };
        let (_, rest) =
            SiteKind::WordPress.preset().split_once("# Files that plugins deliver themselves").expect("it");
        let regex = rest.split('"').nth(1).expect("a regex");
        let regex = regex.replace("{{admitted}}", &denied.admitted()).replace("{{content}}", "wp-content");
        (Regex::without_captures(&regex).expect("a valid regex"), left_out)
    }

    #[test]
    fn htaccess_of_an_outer_folder_does_not_admit_clients_to_the_protected_folders_below_it() {
        let uploads = "/wp-content/uploads/";
        let is_denied = |folders: &[(&str, &str)], path: &str| {
            by_name(folders).0.is_match(format!("{uploads}{path}").as_bytes()).expect("a result")
        };
        let php = "<Files *.php>\nDeny from all\n</Files>\n";
        for outer in ["/wp-content/", uploads, "/wp-content/uploads/sites/", "/wp-content/uploads/sites/3/"] {
            let folders = [(outer, php)];
            for path in
                ["wc-logs/a.log", "sites/3/woocommerce_uploads/a.pdf", "edd/x/a.pdf", "wpo_wcpdf_ab/a.pdf"]
            {
                assert!(is_denied(&folders, path), "{outer} {path}");
            }
        }
        let inner =
            [("/wp-content/uploads/edd/", php), ("/wp-content/uploads/sites/3/dlm_uploads/2026/", php)];
        assert!(!is_denied(&inner, "edd/2026/a.pdf") && !is_denied(&inner, "sites/3/dlm_uploads/2026/a.pdf"));
        assert!(
            is_denied(&inner, "sites/3/dlm_uploads/a.pdf") && is_denied(&inner, "dlm_uploads/2026/a.pdf")
        );
        assert!(
            is_denied(&inner, "edd/copy/wp-content/uploads/wc-logs/a.log"),
            "a protected folder below it"
        );
    }

    #[test]
    fn names_of_protected_folders_are_those_of_the_preset() {
        let (_, rest) =
            SiteKind::WordPress.preset().split_once("# Files that plugins deliver themselves").expect("it");
        let regex: String = rest.split('"').nth(1).expect("a regex").split_whitespace().collect();
        let names = PROTECTED.strip_suffix("|edd").expect("a name with exceptions");
        assert!(regex.contains(&format!("(?:(?:{names})/|edd/(?!")), "{regex}");
    }

    #[test]
    fn many_admitted_folders_with_long_names_leave_a_configuration_that_compiles() {
        let long: Vec<_> = (0..500)
            .map(|number| format!("/wp-content/uploads/edd/{number:03}{}/", "n".repeat(200)))
            .collect();
        let folders: Vec<_> = long.iter().map(|path| (path.as_str(), "Options -Indexes")).collect();
        let (regex, left_out) = by_name(&folders);
        assert!((400..500).contains(&left_out), "{left_out}");
        let is_denied = |path: &str| regex.is_match(format!("{path}book.pdf").as_bytes()).expect("a result");
        assert!(!is_denied(&long[0]) && is_denied(&long[499]) && is_denied("/wp-content/uploads/wc-logs/"));
        let outer = [("/wp-content/uploads/edd/", "Options -Indexes")];
        let (regex, left_out) = by_name(&[&folders[..], &outer].concat());
        assert_eq!(left_out, 0, "the outer folder is sufficient");
        assert!(!regex.is_match(format!("{}book.pdf", long[499]).as_bytes()).expect("a result"));
    }
}
