//! Sites with checked values: their folders contain WordPress, and PHP has an address.

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

/// Maximum number of warnings of links at a start, for each site.
const MAX_LINK_WARNINGS: usize = 5;

/// Site with checked values.
#[derive(Clone, Debug)]
pub(super) struct CheckedSite {
    pub(super) kind: SiteKind,
    pub(super) names: Vec<String>,
    pub(super) domains: Vec<String>,
    pub(super) root: PathBuf,
    pub(super) layout: SiteLayout,
    pub(super) php: String,
    /// Name of php-fpm that is resolved again while the server runs, if it has one.
    pub(super) php_name: Option<PhpServerName>,
    pub(super) zone: String,
    pub(super) settings: SiteSettings,
    /// Paths that `.htaccess` files deny.
    pub(super) denied: DeniedSitePaths,
}

/// Sites of a configuration.
#[derive(Debug)]
pub(super) struct CheckedSites {
    /// Sites that are served; at least one.
    pub(super) served: Vec<CheckedSite>,
    /// Sites whose check failed, of several.
    pub(super) failed: Vec<FailedSite>,
}

/// Site whose check failed: its names get 503 while the other sites are served.
#[derive(Debug)]
pub(super) struct FailedSite {
    pub(super) names: Vec<String>,
    /// Names of its certificate.
    pub(super) domains: Vec<String>,
    /// Address of php-fpm, in the form of `fastcgi_pass`; empty if it is invalid.
    pub(super) php: String,
}

impl SiteOptions {
    /// Checks the sites that the options name. Of several sites, those that fail are reported in the warnings.
    ///
    /// # Errors
    /// Returns an error if a single site fails, if all of several fail, or if a line of the sites is invalid.
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

    /// Checks the site of a line.
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
    /// Returns the addresses of php-fpm, as `fastcgi_pass` takes them, each with the option or the line that names it.
    pub(super) fn php_addresses(&self) -> Result<Vec<(String, String)>, String> {
        if !self.is_several() {
            // Warnings are printed when the configuration is generated.
            let unresolved = php_listener::unresolved(std::iter::once(self.php.as_str()));
            let (address, _) = php_address(&self.php, "--php", &unresolved, &mut Vec::new())?;
            return Ok(vec![("--php".to_owned(), address)]);
        }
        let lines = sites::read(&self.sites, self.sites_file.as_deref())?;
        let addresses = lines.into_iter().filter_map(|line| {
            let option = format!("{}: php", line.place);
            // An invalid address is reported when the sites are checked.
            php_form(&line.php, &option).ok().map(|address| (option, address))
        });
        Ok(addresses.collect())
    }
}

/// Returns the layout of a site; `option` is the option that named the folder.
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

/// Returns the content folder of a WordPress for files that `option` writes, as [`SiteLayout::writable_content`] does.
pub(super) fn content_of(option: &str, root: &Path) -> Result<(PathBuf, Option<u32>), String> {
    let layout = checked_layout(SiteKind::WordPress, root, "--root")?;
    layout.writable_content().map_err(|why| format!("wordpress: {option}: {why}"))
}

/// Warns of links that are not followed in the usual locations of links, such as uploads on another disk.
fn warn_of_links(layout: &SiteLayout, warnings: &mut Vec<String>) {
    let site = SiteFolder::new(&layout.root);
    let refused = ["", layout.content.as_str()].into_iter().flat_map(|folder| site.refused_links(folder));
    for link in refused.take(MAX_LINK_WARNINGS) {
        let target = accounts::name_of(link.target).unwrap_or_else(|| link.target.to_string());
        // For links of other users no command is suggested: they could make the administrator give them any link.
        let remedy = if link.owner == 0 {
            format!("; to allow it: chown -h {target} {}", link.path.display())
        } else {
            String::new()
        };
        warnings.push(format!("wordpress: {link}{remedy}"));
    }
}

/// Returns the address of php-fpm in the form of `fastcgi_pass`, with the name in it. A path becomes `unix:PATH`;
/// `option` is the option that named it.
///
/// `unresolved` are the errors of names that cannot be resolved.
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
            // A container that does not run yet has no name.
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

/// Returns an address of php-fpm in the form of `fastcgi_pass`, without a test of it.
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
