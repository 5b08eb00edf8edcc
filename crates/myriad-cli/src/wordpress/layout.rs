//! Layouts of WordPress sites: the locations of the document root, the core files, `wp-content` and `wp-config.php`.
//!
//! ```text
//! /srv/site               /srv/site                    /srv/site/web          document root
//! |- wp-content           |- content                   |- app                 content
//! |- wp-includes          `- wordpress/wp-includes     `- wp/wp-includes      core
//! usual                   core in a folder             Bedrock
//! ```
//!
//! The owner of a site controls its layout, so names are inserted into the configuration only if they consist of plain
//! characters.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::php_code::{PhpCode, PhpToken};
use crate::accounts;
use crate::pidfile::reason;
use crate::site_folder::SiteFolder;

/// Paths relative to the folder of `--root` that may be the document root, in the order in which they are tried.
const ROOTS: [&str; 10] = [
    "",
    "web",
    "public",
    "public_html",
    "htdocs",
    "html",
    "current/web",
    "current/public",
    "current/public_html",
    "current",
];
/// Script in the core folder that `index.php` loads.
const LOADER: &str = "/wp-blog-header.php";
/// Default name of the content folder.
const CONTENT: &str = "wp-content";
/// Usual names of the content folder: the default one, that of Bedrock, and that of sites with the WordPress core in a
/// subfolder.
const CONTENT_NAMES: [&str; 3] = [CONTENT, "app", "content"];

/// Layout of a WordPress site: document root, core folder, content folder and `wp-config.php`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiteLayout {
    /// Document root, an absolute path. If it is a link to the current release, the link is not resolved, except by
    /// `myriad php`.
    pub root: PathBuf,
    /// URL path of the core folder, such as `/wp`; empty if it is the document root.
    pub(super) core: String,
    /// Path of the content folder relative to the document root, such as `wp-content` or `app`; `wp-content` if the
    /// folder is outside of the document root.
    pub content: String,
    /// Content folder outside of the document root, which has no URL, and the owner that it must have; otherwise
    /// `None`.
    outside: Option<(PathBuf, u32)>,
    /// Reason why a `WP_CONTENT_DIR` outside of the document root is not used; otherwise `None`.
    refused_content: Option<String>,
    /// Path of `wp-config.php` relative to the document root; `None` if it was not found.
    configuration: Option<PathBuf>,
}

impl SiteLayout {
    /// Finds the layout of the site in a folder, or in a usual document root below it; `None` if there is no WordPress.
    ///
    /// # Errors
    /// Returns an error if the folder cannot be opened, or if its path contains a link that is not followed.
    pub fn find(folder: &Path) -> std::io::Result<Option<Self>> {
        let folder = absolute(folder)?;
        Ok(ROOTS.iter().find_map(|below| Self::at(&folder.join(below))))
    }

    /// Returns the default layout for a document root: the core in it, the content in `wp-content`, no `wp-config.php`.
    pub fn usual(root: PathBuf) -> Self {
        let (core, content) = (String::new(), CONTENT.to_owned());
        Self { root, core, content, outside: None, refused_content: None, configuration: None }
    }

    /// Returns the layout if this folder is the document root of a WordPress; otherwise `None`.
    fn at(root: &Path) -> Option<Self> {
        let root: PathBuf = root.components().collect();
        let site = SiteFolder::new(&root);
        site.folder("").ok()?;
        root.join("index.php").symlink_metadata().ok()?;
        let is_core = |folder: &str| {
            site.metadata(Path::new(folder).join("wp-includes")).is_ok_and(|known| known.is_dir())
        };
        // Errors are not passed on: the owner of one site could otherwise stop the server of others by a link that is
        // not followed.
        let core = if root.join("wp-includes").is_dir() {
            String::new()
        } else {
            let code = PhpCode::new(&site.text("index.php").ok()?);
            let folders = code.texts().filter_map(|text| text.strip_suffix(LOADER).map(str::to_owned));
            let mut folders = folders.filter_map(|folder| plain(folder.trim_start_matches(['.', '/'])));
            format!("/{}", folders.find(|folder| is_core(folder))?)
        };
        let mut layout = Self { core, ..Self::usual(root) };
        let relative = layout.core.trim_start_matches('/');
        let places = ["wp-config.php", "../wp-config.php"].map(|name| Path::new(relative).join(name));
        layout.configuration =
            places.into_iter().find(|path| site.metadata(path).is_ok_and(|known| known.is_file()));
        layout.find_content(&site);
        Some(layout)
    }

    /// Finds the content folder: by the constant `WP_CONTENT_DIR`, otherwise by its usual names.
    fn find_content(&mut self, site: &SiteFolder) {
        let code = PhpCode::new(&self.configuration_text());
        let defined =
            code.defined("WP_CONTENT_DIR").and_then(|value| value.iter().rev().find_map(PhpToken::text));
        let configuration_folder =
            self.configuration.as_deref().and_then(Path::parent).unwrap_or(Path::new(""));
        let is_folder = |path: &Path| site.metadata(path).is_ok_and(|known| known.is_dir());
        if let Some(defined) = defined {
            let relative = Path::new(defined.trim_start_matches('/'));
            let places = [
                Path::new(&defined).strip_prefix(&self.root).ok().map(Path::to_owned),
                Some(configuration_folder.join(relative)),
                Some(relative.to_owned()),
            ];
            let below = places.into_iter().flatten().map(|path| collapsed(&path));
            let found = below.filter(|path| is_folder(path)).find_map(|path| plain(path.to_str()?));
            if let Some(found) = found {
                self.content = found;
                return;
            }
            if Path::new(&defined).is_absolute() && Path::new(&defined).is_dir() {
                match owner_of_outside(site, Path::new(&defined)) {
                    Ok(owner) => self.outside = Some((defined.into(), owner)),
                    Err(why) => {
                        let file = self.configuration_file().unwrap_or_default();
                        self.refused_content = Some(format!("WP_CONTENT_DIR in {}: {why}", file.display()));
                    }
                }
                return;
            }
        }
        let in_core = format!("{}/{CONTENT}", self.core);
        let mut names = CONTENT_NAMES.iter().copied().chain([in_core.trim_start_matches('/')]);
        let has_plugins = |name: &&str| {
            is_folder(&Path::new(name).join("plugins")) || is_folder(&Path::new(name).join("themes"))
        };
        if let Some(found) = names.find(has_plugins) {
            found.clone_into(&mut self.content);
        }
    }

    /// Returns the PHP code that configures WordPress: that of `wp-config.php`, and of Bedrock's
    /// `config/application.php` if it is loaded. Returns an empty text if there is none.
    pub(super) fn configuration_text(&self) -> String {
        let site = SiteFolder::new(&self.root);
        let Some(path) = &self.configuration else { return String::new() };
        let text = site.text(path).unwrap_or_default();
        if !text.contains("config/application.php") {
            return text;
        }
        // Each file starts with `<?php`, which does not affect the parser in the middle of code.
        let more = site.text("../config/application.php").unwrap_or_default();
        format!("{text}\n{more}")
    }

    /// Returns the path of `wp-config.php`; `None` if it was not found.
    pub fn configuration_file(&self) -> Option<PathBuf> {
        self.configuration.as_ref().map(|path| self.root.join(path))
    }

    /// Returns the path of the folder with the core files of WordPress.
    pub fn core_folder(&self) -> PathBuf {
        self.root.join(self.core.trim_start_matches('/'))
    }

    /// Returns the absolute path of the content folder, with links in the path of the document root resolved.
    pub fn content_folder(&self) -> PathBuf {
        let root = || SiteFolder::new(&self.root).resolved().unwrap_or_else(|_| self.root.clone());
        self.outside.as_ref().map_or_else(|| root().join(&self.content), |(folder, _)| folder.clone())
    }

    /// Returns the text of a file that plugins put into the content folder, such as `advanced-cache.php`.
    ///
    /// # Errors
    /// Returns the errors of [`SiteFolder::text`].
    pub(super) fn drop_in_text(&self, name: &str) -> std::io::Result<String> {
        SiteFolder::new(&self.root).text(self.content_path().join(name))
    }

    /// Returns whether the content folder contains a regular file with this name. A link that is not followed counts as
    /// missing.
    pub fn has_drop_in(&self, name: &str) -> bool {
        let known = SiteFolder::new(&self.root).metadata(self.content_path().join(name));
        known.is_ok_and(|known| known.is_file())
    }

    /// Returns whether the content folder contains a folder with this name. A link that is not followed counts as
    /// missing.
    pub(super) fn has_content_folder(&self, name: &str) -> bool {
        let known = SiteFolder::new(&self.root).metadata(self.content_path().join(name));
        known.is_ok_and(|known| known.is_dir())
    }

    /// Returns the path of the content folder: relative to the document root, or absolute if it is outside.
    fn content_path(&self) -> &Path {
        self.outside.as_ref().map_or(Path::new(&self.content), |(folder, _)| folder)
    }

    /// Returns the content folder, into which Myriad writes files, and the owner that it must have if it is outside of
    /// the document root.
    ///
    /// # Errors
    /// Returns an error text if `WP_CONTENT_DIR` names a folder outside of the document root that [`owner_of_outside`]
    /// rejects.
    pub(super) fn writable_content(&self) -> Result<(PathBuf, Option<u32>), String> {
        match &self.refused_content {
            Some(why) => Err(why.clone()),
            None => Ok((self.content_folder(), self.outside.as_ref().map(|(_, owner)| *owner))),
        }
    }

    /// Returns a regex for `wp-content` and the last component of the content folder's path.
    pub(super) fn content_regex(&self) -> String {
        let name = self.content.rsplit('/').next().unwrap_or(CONTENT);
        if name == CONTENT {
            CONTENT.to_owned()
        } else {
            format!("(?:{CONTENT}|{})", crate::apache::escaped(name))
        }
    }

    /// Returns the URL path of `wp-config.php`, which the preset denies; `/wp-config.php` if the file was not found or
    /// its path contains special characters.
    pub(super) fn configuration_path(&self) -> String {
        let known = self.configuration.as_deref().map(collapsed);
        let known = known.and_then(|path| plain(path.to_str()?));
        format!("/{}", known.as_deref().unwrap_or("wp-config.php"))
    }

    /// Returns the nginx variable for the document root in the paths of PHP scripts.
    ///
    /// If the path of the document root contains a link (to a release), this is the resolved path: PHP caches scripts
    /// by path, and would otherwise run those of the previous release.
    pub(super) fn script_root(&self) -> &'static str {
        let is_plain = SiteFolder::new(&self.root).resolved().is_ok_and(|resolved| resolved == self.root);
        if is_plain { "$document_root" } else { "$realpath_root" }
    }

    /// Returns a notice about a layout that is unusual, was found below the folder of the option, or has a
    /// `WP_CONTENT_DIR` that is not used; otherwise `None`.
    pub(super) fn notice(&self, folder: &Path) -> Option<String> {
        if let Some(why) = &self.refused_content {
            return Some(format!("wordpress: {}: {why}", folder.display()));
        }
        let is_usual = self.core.is_empty() && self.content == CONTENT && self.outside.is_none();
        let is_named = absolute(folder).is_ok_and(|folder| folder == self.root);
        if is_usual && is_named {
            return None;
        }
        let core = if self.core.is_empty() { "/" } else { &self.core };
        let content = match &self.outside {
            None => format!("wp-content in /{}", self.content),
            Some((folder, _)) => format!(
                "wp-content in {}, outside of that folder: its files have no URL; create a symbolic link to it there, named as \
                     in WP_CONTENT_URL",
                folder.display()
            ),
        };
        let root = self.root.display();
        Some(format!("wordpress: {}: serving {root}, WordPress in {core}, {content}", folder.display()))
    }
}

/// Returns the absolute path of a folder. Each `..` removes the component before it, even if that is a link.
///
/// Links are not resolved, so that a link to the current release is followed for each request.
///
/// # Errors
/// Returns an error if the folder cannot be opened, or if its path contains a link that is not followed.
pub(super) fn absolute(folder: &Path) -> std::io::Result<PathBuf> {
    let path = collapsed(&std::path::absolute(folder)?);
    SiteFolder::new(&path).resolved()?;
    Ok(path)
}

/// Returns the owner of a site, who must also own its content folder outside of the document root. Returns an error
/// text if another user or root owns that folder, or if its path contains a link that others than root can change.
///
/// The owner of the site chooses the path, and root writes to it: without the check, it could be a folder of another
/// site or of the system.
fn owner_of_outside(site: &SiteFolder, content: &Path) -> Result<u32, String> {
    let shown = content.display();
    let failed = |error: std::io::Error| format!("{shown}: {}", reason(&error));
    let owner = site.metadata("").map_err(failed)?.uid();
    let folder = SiteFolder::new(content);
    if let Some(link) = folder.links_above().first() {
        return Err(format!(
            "{shown} is outside of the site and is reached by {}, a symbolic link owned by {}, and is not used; name the folder \
                 itself",
            link.path.display(),
            user(link.owner)
        ));
    }
    let opened = folder.folder_without_links("").map_err(failed)?;
    let known = rustix::fs::fstat(&opened).map_err(|error| failed(error.into()))?.st_uid;
    if known == owner && owner != 0 {
        return Ok(owner);
    }
    Err(format!(
        "{shown} is outside of the site and owned by {}, while the site is owned by {}, and is not used; move it into the \
             site, or use a folder and a site with the same owner other than root",
        user(known),
        user(owner)
    ))
}

/// Returns the name of a user ID, or the ID itself if it has none.
fn user(uid: u32) -> String {
    accounts::name_of(uid).unwrap_or_else(|| uid.to_string())
}

/// Removes each `..` and the component before it. At the top of an absolute path, `..` is ignored; at the start of a
/// relative one, it remains.
fn collapsed(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::ParentDir if out.file_name().is_some() => {
                out.pop();
            }
            std::path::Component::ParentDir if out.has_root() => {}
            part => out.push(part),
        }
    }
    out
}

/// Returns a relative path if all its components consist of ASCII letters, digits, `.`, `_` and `-`, and do not start
/// with a dot; otherwise `None`.
fn plain(path: &str) -> Option<String> {
    let path = path.trim_matches('/');
    let is_name = |name: &str| {
        !name.is_empty()
            && !name.starts_with('.')
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
    };
    path.split('/').all(is_name).then(|| path.to_owned())
}

#[cfg(test)]
#[path = "layout/tests.rs"]
mod tests;
