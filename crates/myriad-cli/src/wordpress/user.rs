//! Choice of the workers' user if root starts the server: a user other than that of PHP, who may connect to PHP and
//! read the sites.
//!
//! PHP runs the plugins of a site, and most attacks use flaws of plugins. With a separate user, PHP cannot write to the
//! page cache, by which an attacker would reach all visitors, and Myriad cannot write to the site.
//!
//! The files of a site belong to the user of PHP. That user could therefore choose the user or group of the workers if
//! these were derived from the files. Users and groups come only from sources that an administrator controls: options,
//! the configuration of php-fpm's pool, and the owners of its socket and of the site's folder if only root can replace
//! these ([`path_walk::trusted_stat`]). Except by `--user`, system users and groups (such as `mysql` or `shadow`) are
//! never used, except those that run web servers and PHP.

use std::fs::metadata;
use std::path::Path;

use rustix::fs::Stat;

use super::layout::SiteLayout;
use super::pool::{self, FpmPool};
use crate::accounts::{self, Account};
use crate::path_walk;
use crate::site_folder::SiteFolder;

/// Names of users that are tried for the workers, in this order; the first that exists is used. `nobody` may be shared
/// with other programs.
const OWN: [&str; 2] = ["myriad", "nobody"];
/// Right to read, as a permission bit of one class of users (owner, group or others).
const READ: u32 = 4;
/// Right to write a file or to connect to a socket, as a permission bit of one class of users.
const WRITE: u32 = 2;
/// Right to search a folder, as a permission bit of one class of users.
const ENTER: u32 = 1;

/// Rights that the workers need for a site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RequiredRights {
    /// Address of php-fpm as argument of `fastcgi_pass`; empty if that of a failed site is invalid.
    pub(super) php: String,
    /// Layout of the site; `None` if its check failed, so that only access to PHP is needed.
    pub(super) layout: Option<SiteLayout>,
}

/// Arguments of the directive `user`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct UserChoice {
    pub(super) user: String,
    /// Group; `None` for the primary group of the user.
    pub(super) group: Option<String>,
}

impl UserChoice {
    /// Creates a choice of a user with its primary group.
    pub(super) fn of(user: &str) -> Self {
        Self { user: user.to_owned(), group: None }
    }

    /// Returns the arguments of the directive.
    pub(super) fn words(&self) -> String {
        self.group.as_ref().map_or_else(|| self.user.clone(), |group| format!("{} {group}", self.user))
    }
}

/// Properties of a site that an administrator controls.
struct SiteRights<'a> {
    need: &'a RequiredRights,
    /// Configuration of its php-fpm pool; `None` if it was not found.
    pool: Option<FpmPool>,
    /// Metadata of the socket; `None` if there is none, or another user than root could replace it.
    socket: Option<Stat>,
    /// Metadata of the document root; `None` if the check of the site failed, or another user than root could replace
    /// it.
    root: Option<Stat>,
}

/// Chooses the user of the workers for these sites: the first existing user of [`OWN`], with the group with which the
/// fewest sites lack a right. Chooses the user of PHP instead if neither user exists, or if there is only one site and
/// it lacks a right. Adds warnings for each site that lacks a right, and if the user is `nobody`.
pub(super) fn choose(needs: &[RequiredRights], warnings: &mut Vec<String>) -> UserChoice {
    let sites: Vec<_> = needs.iter().map(SiteRights::of).collect();
    let own = OWN.into_iter().find(|name| Account::find(name, None).is_ok());
    let Some(own) = own else { return of_php(&sites) };
    let tried = groups(&sites).into_iter().filter_map(|group| {
        let account = Account::find(own, group.as_deref()).ok()?;
        let unmet = needs.iter().filter_map(|need| need.missing_right(&account)).collect::<Vec<_>>();
        Some((UserChoice { user: own.to_owned(), group }, unmet))
    });
    // The choice that lacks the fewest rights, the first of several.
    let Some((choice, unmet)) = tried.min_by_key(|(_, unmet)| unmet.len()) else { return of_php(&sites) };
    if let ([_], [why]) = (needs, &unmet[..]) {
        let php = of_php(&sites);
        warnings.push(format!(
            "wordpress: {why}: worker processes run as {}, the user of PHP, so PHP can write to the page cache",
            php.user
        ));
        return php;
    }
    for why in unmet {
        warnings.push(format!("wordpress: {why}: add it to a group with access (usermod -aG GROUP {own})"));
    }
    if own != OWN[0] {
        warnings.push(format!(
            "wordpress: worker processes run as {own}, a user that other programs may share: create a user for Myriad only: \
                 `useradd --system --no-create-home --shell /usr/sbin/nologin {}`",
            OWN[0]
        ));
    }
    choice
}

/// Returns the groups to be tried: the primary group of the user (`None`), then the groups of the sockets, of the pools
/// and of the sites' folders, without system groups that [`accounts::is_group_of_sites`] rejects.
///
/// If a socket does not exist yet, the primary group is tried last, because the socket will probably have the group of
/// its pool or of the site.
fn groups(sites: &[SiteRights<'_>]) -> Vec<Option<String>> {
    let is_unknown = sites.iter().any(|site| site.need.socket().is_some_and(|socket| !socket.exists()));
    let named = |gid: u32| accounts::group_name_of(gid).unwrap_or_else(|| gid.to_string());
    let of = |stat: &Option<Stat>| {
        let gid = stat.as_ref().map(|stat| stat.st_gid).filter(|&gid| accounts::is_group_of_sites(gid));
        gid.map(named)
    };
    let sockets = sites.iter().filter_map(|site| of(&site.socket));
    let pools = sites.iter().filter_map(|site| site.pool.as_ref()).flat_map(|pool| pool.groups.clone());
    let pools = pools.filter(|group| accounts::group_of(group).is_some_and(accounts::is_group_of_sites));
    let roots = sites.iter().filter_map(|site| of(&site.root));
    let mut groups: Vec<Option<String>> = Vec::new();
    for name in sockets.chain(pools).chain(roots).map(Some) {
        if !groups.contains(&name) {
            groups.push(name);
        }
    }
    let own = if is_unknown { groups.len() } else { 0 };
    groups.insert(own, None);
    groups
}

/// Returns the user of PHP, from the first site for which it is known: that of the pool, otherwise the owner of the
/// socket or of the site's folder, without system users that [`accounts::is_user_of_sites`] rejects. If it is known for
/// no site, returns `www-data` if it exists, otherwise `nobody`.
fn of_php(sites: &[SiteRights<'_>]) -> UserChoice {
    let of_pool = |site: &SiteRights<'_>| {
        let user = site.pool.as_ref()?.user.clone()?;
        Account::find(&user, None)
            .is_ok_and(|account| accounts::is_user_of_sites(account.uid))
            .then_some(user)
    };
    let of_file = |stat: &Option<Stat>| {
        let uid = stat.as_ref().map(|stat| stat.st_uid).filter(|&uid| accounts::is_user_of_sites(uid));
        uid.and_then(accounts::name_of)
    };
    let named = sites
        .iter()
        .find_map(|site| of_pool(site).or_else(|| of_file(&site.socket)).or_else(|| of_file(&site.root)));
    UserChoice::of(&named.unwrap_or_else(|| {
        let www_data = Account::find("www-data", None).is_ok();
        if www_data { "www-data" } else { "nobody" }.to_owned()
    }))
}

impl<'a> SiteRights<'a> {
    fn of(need: &'a RequiredRights) -> Self {
        let stat = |path: &Path| path_walk::trusted_stat(path).ok().flatten();
        Self {
            need,
            pool: pool::of_administrator(&need.php),
            socket: need.socket().and_then(stat),
            root: need.layout.as_ref().and_then(|layout| stat(&layout.root)),
        }
    }
}

impl RequiredRights {
    /// Returns the path of php-fpm's socket; `None` if it listens on a TCP port, or its address is invalid.
    fn socket(&self) -> Option<&Path> {
        self.php.strip_prefix("unix:").map(Path::new)
    }

    /// Returns a description of the first right that the account lacks; `None` if it has all.
    fn missing_right(&self, account: &Account) -> Option<String> {
        // Links in the path are resolved; `/var/run`, for example, is a link.
        let socket = self.socket().and_then(|socket| socket.canonicalize().ok());
        if let Some(socket) = socket.filter(|socket| !may(account, socket, WRITE)) {
            return Some(format!(
                "the PHP socket {} is not accessible to user {}",
                socket.display(),
                name(account)
            ));
        }
        let layout = self.layout.as_ref()?;
        let root = &layout.root;
        if !may(account, root, ENTER) {
            return Some(format!("{} is not readable for user {}", root.display(), name(account)));
        }
        let site = SiteFolder::new(root);
        let core = layout.core_folder();
        let parts = [
            (root.join("index.php"), READ),
            (core.join("wp-includes"), ENTER),
            (root.join(&layout.content), ENTER),
        ];
        // Parts that are missing, or behind a link that is not followed, need no right.
        let is_closed =
            |part: &Path, wanted| site.metadata(part).is_ok_and(|known| !account.has_right(&known, wanted));
        let (path, _) = parts.into_iter().find(|(part, wanted)| is_closed(part, *wanted))?;
        Some(format!("{} is not readable for user {}", path.display(), name(account)))
    }
}

fn name(account: &Account) -> String {
    accounts::name_of(account.uid).unwrap_or_else(|| account.uid.to_string())
}

/// Returns whether an account has the right `wanted` to a file, and may search all folders above it.
fn may(account: &Account, path: &Path, wanted: u32) -> bool {
    let allows = |path: &Path, right| metadata(path).is_ok_and(|known| account.has_right(&known, right));
    allows(path, wanted) && path.ancestors().skip(1).all(|folder| allows(folder, ENTER))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn system_users_and_groups_of_a_pool_are_not_used() {
        let layout = Some(SiteLayout::usual(std::env::temp_dir()));
        let need = RequiredRights { php: "127.0.0.1:9000".to_owned(), layout };
        let site = |user: &str, group: &str| {
            let pool =
                FpmPool { user: Some(user.to_owned()), groups: vec![group.to_owned()], ..FpmPool::default() };
            SiteRights { need: &need, pool: Some(pool), socket: None, root: None }
        };
        // The user and group `daemon` have the ID 1 or 2 in every distribution.
        for (user, group) in [("daemon", "daemon"), ("root", "root"), ("0", "0"), ("1", "1")] {
            let sites = [site(user, group)];
            assert_ne!(of_php(&sites).user, user);
            assert_eq!(groups(&sites), [None], "{group}");
        }
        let sites = [site("54321", "54322")];
        assert_eq!(of_php(&sites).user, "54321");
        assert_eq!(groups(&sites), [None, Some("54322".to_owned())]);
    }

    #[test]
    fn rights_are_required_to_the_folders_of_the_layout() {
        use std::os::unix::fs::PermissionsExt;
        let root = std::env::temp_dir().join(format!("myriad-rights-{}", std::process::id()));
        for (file, text) in [
            ("index.php", "<?php require __DIR__ . '/wp/wp-blog-header.php';"),
            ("wp/wp-includes/a.php", ""),
            ("app/plugins/a.php", ""),
        ] {
            std::fs::create_dir_all(root.join(file).parent().expect("a folder")).expect("folders");
            std::fs::write(root.join(file), text).expect("a file");
        }
        let layout = SiteLayout::find(&root).expect("a folder");
        let need = RequiredRights { php: "127.0.0.1:9000".to_owned(), layout };
        let account = Account { uid: 54_321, gid: 54_321, groups: vec![54_321] };
        let chmod = |folder: &str, mode| {
            let mode = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(root.join(folder), mode).expect("chmod");
        };
        for folder in ["wp/wp-includes", "app"] {
            chmod(folder, 0o700);
            let unmet = need.missing_right(&account).expect("no access");
            assert!(unmet.contains(&format!("/{folder} is not readable")), "{unmet}");
            chmod(folder, 0o755);
        }
        assert_eq!(need.missing_right(&account), None);
        std::fs::remove_dir_all(&root).expect("clean");
    }
}
