//! Sites whose options have been checked: the folder contains WordPress (or `index.php`, for `myriad php`), and the
//! address of PHP is valid.

use std::collections::HashMap;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use super::denied_paths::DeniedSitePaths;
use super::layout::SiteLayout;
use super::options::SiteOptions;
use super::php_name::PhpServerName;
use super::settings::SiteSettings;
use super::site_kind::SiteKind;
use super::{layout, php_listener, sites, values};
use crate::accounts;
use crate::site_folder::SiteFolder;

/// Maximum number of warnings about links per site.
const MAX_LINK_WARNINGS: usize = 5;

/// Site whose options have been checked.
#[derive(Clone, Debug)]
pub(super) struct CheckedSite {
    pub(super) kind: SiteKind,
    pub(super) names: Vec<String>,
    pub(super) domains: Vec<String>,
    pub(super) root: PathBuf,
    pub(super) layout: SiteLayout,
    pub(super) php: String,
    /// Host name of php-fpm, if it can be resolved again while the server runs; otherwise `None`.
    pub(super) php_name: Option<PhpServerName>,
    pub(super) zone: String,
    pub(super) settings: SiteSettings,
    /// Paths that the site's `.htaccess` files deny.
    pub(super) denied: DeniedSitePaths,
}

/// Sites of a configuration, after the check.
#[derive(Debug)]
pub(super) struct CheckedSites {
    /// Sites that are served; at least one.
    pub(super) served: Vec<CheckedSite>,
    /// Sites with a failed check; empty if a single site is configured.
    pub(super) failed: Vec<FailedSite>,
}

/// Site with a failed check. Requests for its names get status 503, while the other sites are served.
#[derive(Debug)]
pub(super) struct FailedSite {
    pub(super) names: Vec<String>,
    /// Names in the site's certificate; empty without a certificate.
    pub(super) domains: Vec<String>,
    /// Address of php-fpm as argument of `fastcgi_pass`; empty if it is invalid.
    pub(super) php: String,
}

impl SiteOptions {
    /// Checks the sites that the options specify. If there are several, those that fail are reported in `warnings`.
    ///
    /// # Errors
    /// Returns an error text if a single site fails, if all of several fail, or if a line of the sites is invalid.
    pub(super) fn checked(&self, warnings: &mut Vec<String>) -> Result<CheckedSites, String> {
        if !self.is_several() {
            return Ok(CheckedSites { served: vec![self.checked_single(warnings)?], failed: Vec::new() });
        }
        let lines = sites::read(&self.sites, self.sites_file.as_deref())?;
        let zones = sites::zones(&lines);
        let unresolved = php_listener::unresolved(lines.iter().map(|line| line.php.as_str()));
        let (mut served, mut failed, mut errors) = (Vec::new(), Vec::new(), Vec::new());
        for (line, zone) in lines.into_iter().zip(zones) {
            let at =
                |text: &str| format!("wordpress: {}: {}", line.place, text.trim_start_matches("wordpress: "));
            self.kind.allows(&line.settings).map_err(|error| at(&error))?;
            let mut site_warnings = Vec::new();
            match self.checked_line(&line, zone, &unresolved, &mut site_warnings) {
                Ok(site) => {
                    served.push(site);
                    warnings.extend(site_warnings.iter().map(|text| at(text)));
                }
                Err(error) => {
                    errors.push(at(&error));
                    let domains = if line.https { line.names.clone() } else { Vec::new() };
                    let php = php_form(&line.php, "php").unwrap_or_default();
                    failed.push(FailedSite { names: line.names, domains, php });
                }
            }
        }
        if served.is_empty() {
            return Err(errors.swap_remove(0));
        }
        warnings.extend(errors.into_iter().zip(&failed).map(|(error, site)| {
            format!(
                "{error}; requests for {} get 503 until this site passes the check at a start or reload",
                site.names.join(", ")
            )
        }));
        Ok(CheckedSites { served, failed })
    }

    /// Checks the site of `--root` and `--php`.
    fn checked_single(&self, warnings: &mut Vec<String>) -> Result<CheckedSite, String> {
        warnings.extend(self.https.uncovered(&self.names));
        let domains = self.https.domains.clone();
        let mut names = self.names.clone();
        for domain in &domains {
            values::add_names(&mut names, domain);
        }
        let unresolved = php_listener::unresolved(std::iter::once(self.php.as_str()));
        let layout = checked_layout(self.kind, &self.root, "--root")?;
        warn_of_links(&layout, warnings);
        warnings.extend(layout.notice(&self.root).filter(|_| self.kind == SiteKind::WordPress));
        let denied = DeniedSitePaths::find(&layout, self.kind, warnings);
        let (php, php_name) = php_address(&self.php, "--php", &unresolved, warnings)?;
        Ok(CheckedSite {
            kind: self.kind,
            names,
            domains,
            root: layout.root.clone(),
            layout,
            php,
            php_name,
            zone: self.kind.zone().to_owned(),
            settings: self.settings.clone(),
            denied,
        })
    }

    /// Checks the site that a line specifies.
    fn checked_line(
        &self,
        line: &sites::SiteLine,
        zone: String,
        unresolved: &HashMap<String, String>,
        warnings: &mut Vec<String>,
    ) -> Result<CheckedSite, String> {
        let layout = checked_layout(self.kind, &line.root, "folder")?;
        warn_of_links(&layout, warnings);
        warnings.extend(layout.notice(&line.root).filter(|_| self.kind == SiteKind::WordPress));
        let denied = DeniedSitePaths::find(&layout, self.kind, warnings);
        let (php, php_name) = php_address(&line.php, "php", unresolved, warnings)?;
        Ok(CheckedSite {
            kind: self.kind,
            names: line.names.clone(),
            domains: if line.https { line.names.clone() } else { Vec::new() },
            root: layout.root.clone(),
            layout,
            php,
            php_name,
            zone,
            settings: line.settings.merged_over(&self.settings),
            denied,
        })
    }
}

impl SiteOptions {
    /// Returns the addresses of php-fpm as arguments of `fastcgi_pass`, each with the option or line that specifies it.
    /// Invalid addresses of several sites are left out. Returns an error text if the address of a single site or a line
    /// is invalid.
    pub(super) fn php_addresses(&self) -> Result<Vec<(String, String)>, String> {
        if !self.is_several() {
            // Warnings are not needed here: they are printed when the configuration is generated.
            let unresolved = php_listener::unresolved(std::iter::once(self.php.as_str()));
            let (address, _) = php_address(&self.php, "--php", &unresolved, &mut Vec::new())?;
            return Ok(vec![("--php".to_owned(), address)]);
        }
        let lines = sites::read(&self.sites, self.sites_file.as_deref())?;
        let addresses = lines.into_iter().filter_map(|line| {
            let option = format!("{}: php", line.place);
            // An invalid address is reported by the check of its site.
            php_form(&line.php, &option).ok().map(|address| (option, address))
        });
        Ok(addresses.collect())
    }
}

/// Returns the layout of the site in a folder that `option` specifies. Returns an error text with a remedy if it cannot
/// be opened or contains no WordPress (no `index.php`, for `myriad php`).
pub(super) fn checked_layout(kind: SiteKind, folder: &Path, option: &str) -> Result<SiteLayout, String> {
    let failed = |error: std::io::Error| {
        format!(
            "wordpress: {option} {}: {error}; set it to the document root, which contains index.php",
            folder.display()
        )
    };
    if kind == SiteKind::WordPress {
        return SiteLayout::find(folder).map_err(failed)?.ok_or_else(|| {
            format!(
                "wordpress: {} contains no WordPress; set {option} to the folder with index.php, which contains wp-includes or \
                     loads wp-blog-header.php from a subfolder, or to a project such as Bedrock with that folder in web, public or \
                     current",
                folder.display()
            )
        });
    }
    let root = layout::absolute(folder).and_then(|path| SiteFolder::new(&path).resolved()).map_err(failed)?;
    if root.join("index.php").symlink_metadata().is_err() {
        return Err(format!(
            "wordpress: {} contains no index.php; set {option} to the document root",
            root.display()
        ));
    }
    Ok(SiteLayout::usual(root))
}

/// Returns the content folder of a WordPress, into which `option` writes files, and the owner that it must have
/// ([`SiteLayout::writable_content`]). `source` is the option that specifies `root`, for messages.
pub(super) fn content_of(option: &str, source: &str, root: &Path) -> Result<(PathBuf, Option<u32>), String> {
    let layout = checked_layout(SiteKind::WordPress, root, source)?;
    layout.writable_content().map_err(|why| format!("wordpress: {option}: {why}"))
}

/// Adds warnings about links that are not followed, in folders where sites usually have links, such as uploads on
/// another disk; at most [`MAX_LINK_WARNINGS`].
fn warn_of_links(layout: &SiteLayout, warnings: &mut Vec<String>) {
    let site = SiteFolder::new(&layout.root);
    let refused = ["", layout.content.as_str()].into_iter().flat_map(|folder| site.refused_links(folder));
    for link in refused.take(MAX_LINK_WARNINGS) {
        let target = accounts::name_of(link.target).unwrap_or_else(|| link.target.to_string());
        // No command is suggested for links of other users: they could make the administrator permit any link.
        let remedy = if link.owner == 0 {
            format!("; to allow it: chown -h {target} {}", link.path.display())
        } else {
            String::new()
        };
        warnings.push(format!("wordpress: {link}{remedy}"));
    }
}

/// Returns the address of php-fpm as argument of `fastcgi_pass`, and its host name if that is resolved at run time. A
/// path becomes `unix:PATH`. A socket that cannot be accessed yet, and a name that is resolved at run time but not yet,
/// are reported in `warnings`. `option` is the option of the address, for messages. Returns an error text if the
/// address is invalid, the path is that of another file, or another name does not resolve.
///
/// `unresolved` contains the errors of names that could not be resolved, by address.
fn php_address(
    given: &str,
    option: &str,
    unresolved: &HashMap<String, String>,
    warnings: &mut Vec<String>,
) -> Result<(String, Option<PhpServerName>), String> {
    let address = php_form(given, option)?;
    let Some(path) = address.strip_prefix("unix:") else {
        let name = PhpServerName::from_address(given);
        return match unresolved.get(given) {
            None => Ok((given.to_owned(), name)),
            // The name of a container does not resolve before it runs.
            Some(error) if name.is_some() => {
                warnings.push(format!(
                    "wordpress: {option} {given}: {error}; PHP requests return 502 until the name resolves"
                ));
                Ok((given.to_owned(), name))
            }
            Some(error) => Err(format!(
                "wordpress: {option} {given}: {error}; use the path of a socket such as /run/php/php-fpm.sock, or HOST:PORT"
            )),
        };
    };
    match std::fs::metadata(path) {
        Ok(metadata) if metadata.file_type().is_socket() => {}
        Ok(_) => return Err(format!("wordpress: {option} {given} is not a socket")),
        Err(error) => warnings.push(format!(
            "wordpress: {option} {given}: {error}; PHP requests return 502 until php-fpm listens there"
        )),
    }
    Ok((address, None))
}

/// Converts an address of php-fpm to an argument of `fastcgi_pass`, without testing it. Returns an error text for a
/// URL.
fn php_form(given: &str, option: &str) -> Result<String, String> {
    php_listener::check_form(option, given)?;
    let path = given.strip_prefix("unix:").unwrap_or(given);
    if !path.contains('/') {
        return Ok(given.to_owned());
    }
    let path = std::path::absolute(path).map_err(|error| format!("wordpress: {option} {given}: {error}"))?;
    Ok(format!("unix:{}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_without_wordpress_is_refused_with_a_remedy() {
        let folder = std::env::temp_dir().join(format!("myriad-no-wordpress-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("folder");
        let error = checked_layout(SiteKind::WordPress, &folder, "--root").expect_err("refused");
        assert!(error.contains("contains no WordPress") && error.contains("set --root to"), "{error}");
        std::fs::remove_dir_all(&folder).expect("clean");
    }

    #[test]
    fn an_absent_socket_warns_and_a_plain_file_is_refused() {
        let mut warnings = Vec::new();
        let found = |address: &str| Ok((address.to_owned(), None));
        let mut php_address = |given: &str| {
            let unresolved = php_listener::unresolved(std::iter::once(given));
            php_address(given, "--php", &unresolved, &mut warnings)
        };
        assert_eq!(php_address("/nowhere/php.sock"), found("unix:/nowhere/php.sock"));
        assert!(php_address("/etc/passwd").is_err());
        assert_eq!(php_address("127.0.0.1:9000"), found("127.0.0.1:9000"));
        assert!(php_address("nonsense").is_err());
        assert!(warnings[0].contains("502 until php-fpm listens"));
    }
}
