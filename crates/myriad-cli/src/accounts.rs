//! Users and groups from `/etc/passwd` and `/etc/group`, and the change of a process to one of these accounts.
//!
//! Accounts of directory services are not found; the configuration must name such users by number.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use myriad_base::digits::decimal;
use rustix::process::{Gid, Uid};

/// Lowest ID of ordinary users and groups; lower IDs belong to the system (`GID_MIN` of login.defs(5)).
const FIRST_ORDINARY: u32 = 1000;
/// Names of system users and groups that run web servers and PHP: workers may use them although their IDs are below
/// 1000.
const OF_WEB_SERVERS: [&str; 9] =
    ["www-data", "apache", "nginx", "http", "httpd", "www", "wwwrun", "nobody", "nogroup"];

/// User ID and group IDs of an account, to which a process or thread can change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// User ID of the account.
    pub uid: u32,
    /// ID of the primary group: the argument `GROUP` of `user`, otherwise the primary group of the user, or the user
    /// ID if the user is given by number.
    pub gid: u32,
    /// IDs of all groups, including the primary group.
    pub groups: Vec<u32>,
}

impl Account {
    /// Looks up the arguments of the directive `user NAME [GROUP]`. Returns an error text if a name is unknown.
    ///
    /// `NAME` and `GROUP` may be numbers. Without `GROUP` the primary group of the user applies; for a number that is
    /// not a name it is the group with the same number. The groups also include those that list the user as a member.
    pub fn find(user: &str, group: Option<&str>) -> Result<Self, String> {
        let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
        let groups = fs::read_to_string("/etc/group").unwrap_or_default();
        Self::find_in(&users, &groups, user, group)
    }

    fn find_in(users: &str, groups: &str, user: &str, group: Option<&str>) -> Result<Self, String> {
        let numbers = |line: &str| {
            let mut fields = line.split(':').skip(2);
            Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
        };
        let named = users.lines().find(|line| line.split(':').next() == Some(user)).and_then(numbers);
        let number = decimal(user).map(|uid: u32| (uid, uid));
        let (uid, primary) = named.or(number).ok_or_else(|| format!("no user \"{user}\" in /etc/passwd"))?;
        let gid = match group {
            None => primary,
            Some(group) => {
                group_in(groups, group).ok_or_else(|| format!("no group \"{group}\" in /etc/group"))?
            }
        };
        let mut all = vec![gid];
        for line in groups.lines() {
            let mut fields = line.split(':').skip(2);
            let Some(id) = fields.next().and_then(|id| id.parse().ok()) else { continue };
            let is_member = fields.next().is_some_and(|members| members.split(',').any(|name| name == user));
            if is_member && !all.contains(&id) {
                all.push(id);
            }
        }
        Ok(Self { uid, gid, groups: all })
    }

    /// Returns whether the mode of a file grants this account `right`: one of 4 (read), 2 (write) and 1 (search or
    /// execute).
    ///
    /// Access control lists are not read; the group bits of the mode then contain their mask. The privileges of root
    /// are not considered.
    pub fn has_right(&self, known: &Metadata, right: u32) -> bool {
        let shift = if self.uid == known.uid() {
            6
        } else if self.gid == known.gid() || self.groups.contains(&known.gid()) {
            3
        } else {
            0
        };
        known.mode() >> shift & right != 0
    }

    /// Changes the calling thread, and the threads that it starts later, to this account permanently.
    ///
    /// Other threads retain their IDs, because Linux stores them per thread. After an error, the groups may already be
    /// changed.
    pub fn switch_process(&self) -> std::io::Result<()> {
        let groups: Vec<_> = self.groups.iter().map(|&id| Gid::from_raw(id)).collect();
        rustix::thread::set_thread_groups(&groups)?;
        let gid = Gid::from_raw(self.gid);
        rustix::thread::set_thread_res_gid(gid, gid, gid)?;
        let uid = Uid::from_raw(self.uid);
        rustix::thread::set_thread_res_uid(uid, uid, uid)?;
        Ok(())
    }
}

/// Returns the name of a user ID; `None` if `/etc/passwd` cannot be read or does not contain the ID.
pub fn name_of(uid: u32) -> Option<String> {
    name_in("/etc/passwd", uid)
}

/// Returns the name of a group ID; `None` if `/etc/group` cannot be read or does not contain the ID.
pub fn group_name_of(gid: u32) -> Option<String> {
    name_in("/etc/group", gid)
}

/// Returns the ID of a group that is given by name or number; `None` if it is neither a name in `/etc/group` nor a
/// number.
pub fn group_of(group: &str) -> Option<u32> {
    group_in(&fs::read_to_string("/etc/group").unwrap_or_default(), group)
}

fn group_in(groups: &str, group: &str) -> Option<u32> {
    let line = groups.lines().find(|line| line.split(':').next() == Some(group));
    line.and_then(|line| line.split(':').nth(2)?.parse().ok()).or_else(|| decimal(group))
}

/// Returns whether workers may use a group that is configured by a site or its PHP pool. True for a group of ordinary
/// users (ID 1000 or higher), a group of a web server (such as `www-data`), and a number without a name, as containers
/// use such numbers; false for root's group and other system groups (such as `shadow` or `disk`).
pub fn is_group_of_sites(gid: u32) -> bool {
    is_adoptable(gid, group_name_of)
}

/// Returns whether workers may use a user that is configured by a site or its PHP pool. True for an ordinary user (ID
/// 1000 or higher), a user of a web server (such as `www-data`), and a number without a name; false for root and other
/// system users.
pub fn is_user_of_sites(uid: u32) -> bool {
    is_adoptable(uid, name_of)
}

fn is_adoptable(id: u32, name_of: impl Fn(u32) -> Option<String>) -> bool {
    id != 0
        && (id >= FIRST_ORDINARY || name_of(id).is_none_or(|name| OF_WEB_SERVERS.contains(&name.as_str())))
}

/// Returns the home directory of a user ID; `None` if `/etc/passwd` cannot be read or does not contain the ID.
pub fn home_of(uid: u32) -> Option<PathBuf> {
    field("/etc/passwd", uid, 5).map(PathBuf::from)
}

fn name_in(file: &str, id: u32) -> Option<String> {
    field(file, id, 0)
}

/// Returns a field of the line with this ID in a file such as `/etc/passwd`; `number` is the index of the field, from
/// 0. Returns `None` if the file cannot be read or has no such line.
fn field(file: &str, id: u32, number: usize) -> Option<String> {
    let lines = fs::read_to_string(file).ok()?;
    let line = lines.lines().find(|line| line.split(':').nth(2) == Some(&id.to_string()))?;
    line.split(':').nth(number).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    const USERS: &str = "root:x:0:0:root:/root:/bin/sh\nwww-data:x:33:33::/var/www:/bin/false\n";
    const GROUPS: &str = "root:x:0:\nwww-data:x:33:\nredis:x:110:other,www-data\nadm:x:4:www-data2\n";

    #[test]
    fn a_user_brings_its_group_and_memberships() {
        let account = Account::find_in(USERS, GROUPS, "www-data", None).expect("account");
        assert_eq!(account, Account { uid: 33, gid: 33, groups: vec![33, 110] });
    }

    #[test]
    fn a_named_group_replaces_the_primary_one() {
        let account = Account::find_in(USERS, GROUPS, "www-data", Some("adm")).expect("account");
        assert_eq!((account.gid, account.groups), (4, vec![4, 110]));
    }

    #[test]
    fn sites_belong_to_ordinary_users_and_to_web_servers() {
        let name = |id: u32| match id {
            33 => Some("www-data".to_owned()),
            42 => Some("shadow".to_owned()),
            1000 => Some("anna".to_owned()),
            _ => None,
        };
        for (id, expected) in [(0, false), (33, true), (42, false), (82, true), (1000, true), (5000, true)] {
            assert_eq!(is_adoptable(id, name), expected, "{id}");
        }
    }

    #[test]
    fn unknown_names_are_errors_and_numbers_are_not() {
        assert!(Account::find_in(USERS, GROUPS, "nemo", None).is_err());
        assert!(Account::find_in(USERS, GROUPS, "root", Some("nemo")).is_err());
        assert_eq!(Account::find_in(USERS, GROUPS, "1000", None).expect("number").uid, 1000);
        assert_eq!(Account::find_in(USERS, GROUPS, "1000", Some("33")).expect("number").gid, 33);
    }

    #[test]
    fn a_number_with_a_sign_is_an_unknown_name() {
        assert!(Account::find_in(USERS, GROUPS, "+1000", None).is_err());
        assert!(Account::find_in(USERS, GROUPS, "www-data", Some("+33")).is_err());
        assert_eq!(group_in(GROUPS, "+33"), None);
    }
}
