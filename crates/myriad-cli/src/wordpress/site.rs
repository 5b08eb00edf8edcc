//! Complete configuration of `myriad wordpress`: directives of the process with the user of the workers, and the preset
//! filled with values.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use super::checked_site::{CheckedSite, CheckedSites, FailedSite};
use super::https::{self, HttpsOptions, SelfSigned};
use super::options::SiteOptions;
use super::plugin;
use super::prefix::{default_prefix, pid_file};
use super::quoting::quoted;
use super::user::{self, RequiredRights, UserChoice};
use crate::accounts;

/// Configuration generated from the options.
#[derive(Clone, Debug)]
pub struct PresetSite {
    /// Text of the configuration, as printed by `--print`: the directives of the process, then the preset with its
    /// values.
    pub text: Vec<u8>,
    /// Folder of the cache, the logs and the pid file.
    pub prefix: PathBuf,
    /// Warnings, each one sentence.
    pub warnings: Vec<String>,
    /// Self-signed certificate to be created before the start; `None` if none is requested.
    pub self_signed: Option<SelfSigned>,
    /// User of the workers; `None` unless root starts the server.
    pub(super) choice: Option<UserChoice>,
}

impl SiteOptions {
    /// Checks the sites and generates the configuration. Returns an error text with a remedy.
    pub fn site(&self) -> Result<PresetSite, String> {
        let mut warnings = Vec::new();
        let sites = self.checked(&mut warnings)?;
        let CheckedSites { served, failed } = &sites;
        let of_failed = failed.iter().flat_map(|site| site.domains.clone());
        let domains = served.iter().flat_map(|site| site.domains.clone()).chain(of_failed).collect();
        let https = HttpsOptions { domains, ..self.https.clone() };
        https.check()?;
        let as_root = rustix::process::geteuid().is_root();
        let prefix = std::path::absolute(self.prefix.clone().unwrap_or_else(|| default_prefix(as_root)))
            .map_err(|error| format!("wordpress: --prefix: {error}"))?;
        self.check_user(as_root, &mut warnings)?;
        let choice = as_root.then(|| self.worker_user(&sites, &mut warnings));
        let listens = self.listens.iter().map(|listen| ("--listen", listen.as_str()));
        let words = listens.chain(self.user.as_deref().map(|user| ("--user", user)));
        for (option, value) in words.chain(https.words()) {
            if value.contains([';', '{', '}', '"', '\'', '#', '\\', '$', '\n']) {
                return Err(format!("wordpress: {option} \"{value}\" contains an invalid character"));
            }
        }
        let listens = (self.plain_listens(&https, as_root, &mut warnings), https.listens(as_root));
        // With certificates from an ACME authority, messages of the level `notice` are needed, which report new
        // certificates.
        let level = if https.domains.is_empty() { "warn" } else { "notice" };
        let process = process_directives(&prefix, choice.as_ref(), level)?;
        let preset = self.filled(&sites, &https, &prefix, &listens)?;
        let notices = served
            .iter()
            .filter_map(|site| site.cache_plugin_notice(plugin::hash_of(&prefix, &site.zone).is_some()));
        warnings.extend(notices);
        let of_failed = failed.iter().flat_map(|site| site.names.clone());
        let names: Vec<String> = served.iter().flat_map(|site| site.names.clone()).chain(of_failed).collect();
        let self_signed = https.self_signed(&prefix, &names);
        Ok(PresetSite { text: (process + &preset).into_bytes(), prefix, warnings, self_signed, choice })
    }

    /// Returns the arguments of `listen` for HTTP. Adds a warning if certificates are requested from an authority and
    /// no address has port 80. `as_root` is true if root starts the server.
    fn plain_listens(&self, https: &HttpsOptions, as_root: bool, warnings: &mut Vec<String>) -> Vec<String> {
        let usual = if as_root { "80" } else { "8080" };
        let mut listens = self.listens.clone();
        if listens.is_empty() {
            listens.push(usual.to_owned());
            listens.extend(https::has_ipv6().then(|| format!("[::]:{usual}")));
        }
        if !https.domains.is_empty() && !listens.iter().any(|listen| https::port(listen) == Some("80")) {
            warnings.push(format!(
                "wordpress: the certificate authority connects to port 80 to validate {}, but --listen is {}: forward port 80 to it",
                https.domains.join(", "),
                listens.join(", ")
            ));
        }
        listens
    }

    /// Checks `--user`: the user must exist. Unless root starts the server, the option is ignored, with a warning.
    fn check_user(&self, as_root: bool, warnings: &mut Vec<String>) -> Result<(), String> {
        let Some(user) = &self.user else { return Ok(()) };
        if !as_root {
            warnings.push(format!(
                "wordpress: --user {user} makes sense only if the server is started by root, ignored"
            ));
            return Ok(());
        }
        accounts::Account::find(user, None).map(drop).map_err(|error| {
            format!("wordpress: --user {user}: {error}; set it to the user of the php-fpm pool (`user =`)")
        })
    }

    /// Returns the user of the workers: that of `--user`, otherwise that of the running workers, otherwise the one that
    /// [`user::choose`] selects by the rights to connect to PHP and to read the sites; missing rights are added to
    /// `warnings`.
    fn worker_user(&self, sites: &CheckedSites, warnings: &mut Vec<String>) -> UserChoice {
        if let Some(choice) = self.user.as_deref().map(UserChoice::of).or_else(|| self.serving.clone()) {
            return choice;
        }
        let served =
            |site: &CheckedSite| RequiredRights { php: site.php.clone(), layout: Some(site.layout.clone()) };
        // Sites whose check failed are included, because a reload that serves them retains the user.
        let failed = |site: &FailedSite| RequiredRights { php: site.php.clone(), layout: None };
        let needs = sites.served.iter().map(served).chain(sites.failed.iter().map(failed));
        user::choose(&needs.collect::<Vec<_>>(), warnings)
    }
}

/// Returns the directives of the process: it runs in the foreground, logs errors to standard error, writes a pid file,
/// and has workers of this user if root starts it.
fn process_directives(prefix: &Path, user: Option<&UserChoice>, level: &str) -> Result<String, String> {
    let pid = quoted(&pid_file(Some(prefix)))?;
    let mut text = format!("daemon off;\nerror_log stderr {level};\npid {pid};\n");
    if let Some(user) = user {
        let _ = writeln!(text, "user {};", user.words());
    }
    text.push('\n');
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_process_needs_is_one_directive_a_line() {
        let choice = UserChoice { user: "myriad".into(), group: Some("www-data".into()) };
        let text = process_directives(Path::new("/srv/my site"), Some(&choice), "warn").expect("text");
        assert_eq!(
            text,
            "daemon off;\nerror_log stderr warn;\npid \"/srv/my site/myriad.pid\";\nuser myriad www-data;\n\n"
        );
        assert!(!process_directives(Path::new("/srv"), None, "warn").expect("text").contains("user"));
    }
}
