//! Options of `myriad wordpress` and `myriad php` on the command line.

use std::path::{Path, PathBuf};

use super::dashboard_access::DashboardAccess;
use super::https::HttpsOptions;
use super::object_cache_change::ObjectCacheChange;
use super::plugin_placement::PluginPlacement;
use super::prefix::{IN_HOME, default_prefix};
use super::settings::SiteSettings;
use super::site_kind::SiteKind;
use super::user::UserChoice;
use super::{cluster, php_children, proxies, values};
use crate::accounts;

/// Options of `myriad wordpress` and `myriad php`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SiteOptions {
    /// Kind of the sites.
    pub kind: SiteKind,
    pub(super) root: PathBuf,
    pub(super) php: String,
    pub(super) children: Option<u32>,
    /// Values of `--listen`, each once; empty for the default addresses.
    pub(super) listens: Vec<String>,
    /// `--php-later`: start even if nothing listens at the address of `--php`.
    pub(super) php_later: bool,
    pub(super) names: Vec<String>,
    pub(super) prefix: Option<PathBuf>,
    pub(super) user: Option<String>,
    /// Networks of `--trusted-proxy`.
    pub(super) trusted_proxies: Vec<String>,
    /// URLs of Valkey servers or Sentinels (`--cluster`); empty without a cluster.
    pub(super) cluster: Vec<String>,
    pub(super) https: HttpsOptions,
    /// Values of `--site`, each in the form of a line in the file of `--sites`.
    pub(super) sites: Vec<String>,
    pub(super) sites_file: Option<PathBuf>,
    /// Values of `--set`, which apply to all sites.
    pub(super) settings: SiteSettings,
    /// User of the running workers, which a reload retains, because another user could not use the cache; `None` at a
    /// start, and if root did not start the server.
    pub(super) serving: Option<UserChoice>,
    /// Port of the dashboard and hash of its secret; `None` if the dashboard is off or cannot be served.
    pub(super) dashboard: Option<DashboardAccess>,
    /// `--install-plugin`: install the plugin in the sites instead of serving them.
    pub(super) install: Option<PluginPlacement>,
    /// `--install-object-cache`, `--remove-object-cache`: change the object cache of the sites instead of serving them.
    pub(super) object_cache: Option<ObjectCacheChange>,
    /// `--print`: print the configuration instead of running it.
    pub print: bool,
}

impl SiteOptions {
    /// Returns whether `--print` is the only option: the preset is then printed with its tokens.
    pub fn is_template(&self) -> bool {
        self.print && *self == Self { print: true, kind: self.kind, ..Self::default() }
    }

    /// Returns the prefix that the options mean on a command line of the user with the ID `user` in the current folder
    /// `folder`. Without `--prefix`, the default prefix of another user is assumed in that user's home directory,
    /// because the environment is unknown; `None` if the home directory is unknown too.
    pub fn prefix_in(&self, folder: &Path, user: u32) -> Option<PathBuf> {
        let is_known = user == 0 || user == rustix::process::geteuid().as_raw();
        let default = || {
            if is_known {
                Some(default_prefix(user == 0))
            } else {
                accounts::home_of(user).map(|home| home.join(IN_HOME))
            }
        };
        self.prefix.as_ref().map(|prefix| folder.join(prefix)).or_else(default)
    }

    /// Returns an error text unless the options completely specify one site, or several sites.
    pub(super) fn check_whole(&self) -> Result<(), String> {
        if self.is_several() {
            let of_one = [
                ("--root", !self.root.as_os_str().is_empty()),
                ("--php", !self.php.is_empty()),
                ("--name", !self.names.is_empty()),
                ("--domain", !self.https.domains.is_empty()),
            ];
            return match of_one.iter().find(|(_, given)| *given) {
                Some((option, _)) => Err(format!(
                    "wordpress: {option} is only valid for a single site: for several sites, set it in the lines of --site or --sites"
                )),
                None => Ok(()),
            };
        }
        if self.root.as_os_str().is_empty() {
            return Err("wordpress: --root is missing: set it to the document root of the site".into());
        }
        if self.php.is_empty() && self.install.is_none() && self.object_cache.is_none() {
            return Err(
                "wordpress: --php is missing: set it to the socket of php-fpm (see `listen =` in the configuration of its pool)"
                    .into(),
            );
        }
        Ok(())
    }

    /// Returns whether the sites are specified by lines (`--site`, `--sites`).
    pub(super) fn is_several(&self) -> bool {
        !self.sites.is_empty() || self.sites_file.is_some()
    }

    /// Checks the values of the options, and that they do not contradict each other; those of HTTPS only for a single
    /// site. Returns an error text for the first fault.
    pub(super) fn check(&self) -> Result<(), String> {
        if !self.is_several() {
            self.https.check()?;
        }
        self.kind.allows(&self.settings)?;
        let writes = [
            ("--install-plugin", self.install.is_some()),
            (self.object_cache.as_ref().map_or("", ObjectCacheChange::option), self.object_cache.is_some()),
        ];
        if let Some((option, _)) = writes.iter().find(|(_, given)| *given && self.kind == SiteKind::Php) {
            return Err(format!("wordpress: {option} is only available for WordPress"));
        }
        self.names.iter().try_for_each(|name| values::name("--name", name))?;
        self.listens.iter().try_for_each(|listen| values::listen("--listen", listen))
    }

    /// Performs the changes of `--install-plugin` and of the object cache options. Returns a description of the
    /// changes, one line each; `None` if no such option is given.
    pub fn installed(&self) -> Option<Result<Vec<String>, String>> {
        let plugin = self.install.map(|placement| self.install_plugin(placement));
        let object_cache = self.object_cache.as_ref().map(|change| self.change_object_cache(change));
        match (plugin, object_cache) {
            (Some(plugin), Some(object_cache)) => {
                Some(plugin.and_then(|done| object_cache.map(|more| [done, more].concat())))
            }
            (plugin, object_cache) => plugin.or(object_cache),
        }
    }

    /// Sets an option that takes a value. Returns an error text if the value is invalid.
    pub(super) fn set(&mut self, name: &str, value: String) -> Result<(), String> {
        if self.https.set(name, &value) {
            return Ok(());
        }
        match name {
            "--root" => self.root = value.into(),
            "--php" => self.php = value,
            "--php-children" => self.children = Some(php_children::parse(&value)?),
            "--listen" if self.listens.contains(&value) => {}
            "--listen" => self.listens.push(value),
            "--name" => values::add_names(&mut self.names, &value),
            "--prefix" | "-p" => self.prefix = Some(value.into()),
            "--site" => self.sites.push(value),
            "--set" => self.settings.add(&value).map_err(|why| format!("wordpress: --set: {why}"))?,
            "--trusted-proxy" => proxies::add(&mut self.trusted_proxies, &value)?,
            "--cluster" => cluster::add(&mut self.cluster, value)?,
            "--sites" => self.sites_file = Some(value.into()),
            "--install-object-cache" => self.object_cache = Some(ObjectCacheChange::install(value)?),
            _ => self.user = Some(value),
        }
        Ok(())
    }
}
