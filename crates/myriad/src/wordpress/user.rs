//! User of the workers if root starts the server: another than PHP's, who may connect to PHP and read the sites.
//!
//! PHP runs the plugins of a site, and a flaw in one of them is the usual way of an attack. As another user PHP cannot write
//! the page cache, by which an attacker would reach every visitor, and Myriad cannot write the site.

use std::fs::metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::accounts::{self, Account};

/// Users to choose from, the first that exists. The second is shared by all programs without a user of their own.
const OWN: [&str; 2] = ["myriad", "nobody"];
/// Bits of a file's mode, for one of its three classes of users.
const READ: u32 = 4;
const WRITE: u32 = 2;
const ENTER: u32 = 1;

/// Rights that a site needs the user to have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Need {
    /// Socket of php-fpm, if it is a file.
    pub(super) socket: Option<PathBuf>,
    /// Folder of the site.
    pub(super) root: PathBuf,
}

/// Values of the directive `user`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Choice {
    pub(super) user: String,
    /// Group, if it is not the user's own.
    pub(super) group: Option<String>,
}

impl Choice {
    /// A user with its own group.
    pub(super) fn of(user: &str) -> Self {
        Self { user: user.to_owned(), group: None }
    }

    /// Words of the directive.
    pub(super) fn words(&self) -> String {
        self.group.as_ref().map_or_else(|| self.user.clone(), |group| format!("{} {group}", self.user))
    }
}

/// Chooses the user for these sites, and adds to the warnings.
pub(super) fn choose(needs: &[Need], warnings: &mut Vec<String>) -> Choice {
    let own = OWN.into_iter().find(|name| Account::find(name, None).is_ok());
    let Some(own) = own else { return of_php(needs) };
    let tried = groups(needs).into_iter().filter_map(|group| {
        let account = Account::find(own, group.as_deref()).ok()?;
        let unmet = needs.iter().filter_map(|need| need.unmet(&account)).collect::<Vec<_>>();
        Some((Choice { user: own.to_owned(), group }, unmet))
    });
    // The choice with the fewest unmet needs; the first of several.
    let Some((choice, unmet)) = tried.min_by_key(|(_, unmet)| unmet.len()) else { return of_php(needs) };
    if let ([_], [why]) = (needs, &unmet[..]) {
        let php = of_php(needs);
        warnings.push(format!(
            "wordpress: {why}: serving as {}, as PHP does, which can then write the page cache",
            php.user
        ));
        return php;
    }
    for why in unmet {
        warnings.push(format!("wordpress: {why}: add it to a group that may (usermod -aG GROUP {own})"));
    }
    if own != OWN[0] {
        warnings.push(format!(
            "wordpress: serving as {own}, who may be others, too: make a user of Myriad's own by \
             `useradd --system --no-create-home --shell /usr/sbin/nologin {}`",
            OWN[0]
        ));
    }
    choice
}

/// Groups to try: first the user's own, then those of the sockets and of the sites. If a socket does not exist yet the user's
/// own comes last, as the group of the site is the likely one of the socket.
fn groups(needs: &[Need]) -> Vec<Option<String>> {
    let of = |path: &Path| metadata(path).ok().map(|known| known.gid()).filter(|&gid| gid != 0);
    let sockets = needs.iter().filter_map(|need| need.socket.as_deref());
    let is_unknown = sockets.clone().any(|socket| !socket.exists());
    let of_sites = needs.iter().filter_map(|need| of(&need.root.join("index.php")));
    let mut groups: Vec<Option<String>> = Vec::new();
    for gid in sockets.filter_map(of).chain(of_sites) {
        let name = Some(accounts::group_name_of(gid).unwrap_or_else(|| gid.to_string()));
        if !groups.contains(&name) {
            groups.push(name);
        }
    }
    let own = if is_unknown { groups.len() } else { 0 };
    groups.insert(own, None);
    groups
}

/// User of PHP: the owner of the socket or of the site, unless that is root.
fn of_php(needs: &[Need]) -> Choice {
    let owner = |path: &Path| metadata(path).ok().map(|known| known.uid()).filter(|&uid| uid != 0);
    let owners = needs.iter().flat_map(|need| {
        [need.socket.as_deref().and_then(owner), owner(&need.root.join("index.php"))].into_iter().flatten()
    });
    let named = owners.into_iter().find_map(accounts::name_of);
    Choice::of(&named.unwrap_or_else(|| {
        let www_data = Account::find("www-data", None).is_ok();
        if www_data { "www-data" } else { "nobody" }.to_owned()
    }))
}

impl Need {
    /// First right that the account lacks, as the beginning of a sentence.
    fn unmet(&self, account: &Account) -> Option<String> {
        // Links on the way to the socket are followed: /var/run is one.
        let socket = self.socket.as_ref().and_then(|socket| socket.canonicalize().ok());
        if let Some(socket) = socket.filter(|socket| !may(account, socket, WRITE)) {
            return Some(format!("--php {} is not open to {}", socket.display(), name(account)));
        }
        let parts = [("", ENTER), ("index.php", READ), ("wp-includes", ENTER), ("wp-content", ENTER)];
        let closed = parts.into_iter().map(|(part, wanted)| (self.root.join(part), wanted));
        let mut closed = closed.filter(|(path, wanted)| path.exists() && !may(account, path, *wanted));
        closed.next().map(|(path, _)| format!("{} is not readable for {}", path.display(), name(account)))
    }
}

fn name(account: &Account) -> String {
    accounts::name_of(account.uid).unwrap_or_else(|| account.uid.to_string())
}

/// Whether an account has a right to a file, and may enter all folders above it.
fn may(account: &Account, path: &Path, wanted: u32) -> bool {
    let allows = |path: &Path, right| metadata(path).is_ok_and(|known| account.may(&known, right));
    allows(path, wanted) && path.ancestors().skip(1).all(|folder| allows(folder, ENTER))
}
