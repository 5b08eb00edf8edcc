//! Reading of a directory on the blocking thread pool.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use myriad_exchange::exchange::{Exchange, PhaseStep, paths};
use myriad_files::{PathResolution, SystemError, as_path};
use myriad_log::LogLevel;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, openat, statat};
use rustix::io::Errno;

use super::item::{DirectoryItem, ItemKind};

/// Selection of the entries of a directory that are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ItemSelection {
    /// Set if names with a leading dot are included.
    pub(crate) hidden: bool,
    /// Set if symbolic links are included; a link is listed as its target if it may be followed.
    pub(crate) links: bool,
}

/// Reads the entries of a directory, unsorted. On failure, logs the reason and returns the error response.
pub(crate) async fn read(
    exchange: &mut Exchange,
    folder: PathBuf,
    selection: ItemSelection,
) -> Result<Vec<DirectoryItem>, PhaseStep> {
    let Exchange { request, frame } = exchange;
    let walk = paths::walk(request, frame, folder.as_os_str().as_bytes());
    let shown = folder.clone();
    let read = tokio::task::spawn_blocking(move || items(&folder, walk, selection)).await;
    read.unwrap_or_else(|_| Err(io::Error::other("the read was cancelled"))).map_err(|error| {
        let error = SystemError::of(&error);
        let level = if error.status() == 500 { LogLevel::Crit } else { LogLevel::Error };
        let folder = shown.display();
        exchange.request.log(level, format_args!("opendir() \"{folder}\" failed ({error})"));
        PhaseStep::Error(error.status())
    })
}

fn items(folder: &Path, walk: PathResolution, selection: ItemSelection) -> io::Result<Vec<DirectoryItem>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = openat(walk.folder(folder.as_os_str().as_bytes())?, ".", flags, Mode::empty())?;
    let mut items = Vec::new();
    for entry in Dir::read_from(&opened)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if matches!(name, b"." | b"..") || name.starts_with(b".") && !selection.hidden {
            continue;
        }
        items.extend(item(&opened, name, walk, selection)?);
    }
    Ok(items)
}

/// Returns the entry `name` of a directory. A symbolic link is returned as its target if that exists and may be
/// followed, otherwise as a link. Returns `None` for a link if links are not selected, for an entry without permission,
/// and for an entry that was removed since the directory was read.
fn item(
    folder: &OwnedFd,
    name: &[u8],
    walk: PathResolution,
    selection: ItemSelection,
) -> io::Result<Option<DirectoryItem>> {
    let stat = |flags| match statat(folder, as_path(name), flags) {
        Ok(found) => Ok(Some(found)),
        Err(Errno::NOENT | Errno::ACCESS | Errno::PERM | Errno::LOOP | Errno::NOTDIR) => Ok(None),
        Err(error) => Err(io::Error::from(error)),
    };
    let Some(mut found) = stat(AtFlags::SYMLINK_NOFOLLOW)? else { return Ok(None) };
    if FileType::from_raw_mode(found.st_mode).is_symlink() {
        if !selection.links {
            return Ok(None);
        }
        match statat(folder, as_path(name), AtFlags::empty()) {
            Ok(target) if walk.follows(&found, &target) => found = target,
            Err(Errno::ACCESS | Errno::PERM) => return Ok(None),
            _ => {}
        }
    }
    Ok(Some(DirectoryItem {
        kind: match FileType::from_raw_mode(found.st_mode) {
            FileType::Directory => ItemKind::Directory,
            FileType::RegularFile => ItemKind::File,
            _ => ItemKind::Other,
        },
        name: name.to_vec(),
        modified_s: u64::try_from(found.st_mtime).unwrap_or(0),
        size: u64::try_from(found.st_size).unwrap_or(0),
    }))
}

#[cfg(test)]
mod tests {
    use myriad_files::LinkRule;

    use super::*;

    #[test]
    fn hidden_names_and_links_are_read_where_they_are_wanted() {
        let folder = std::env::temp_dir().join(format!("myriad-folder-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("zoo")).unwrap();
        for name in ["b", "a", ".hidden"] {
            std::fs::write(folder.join(name), name).unwrap();
        }
        std::os::unix::fs::symlink("nowhere", folder.join("link")).unwrap();
        let names = |hidden, links| {
            let mut items = items(&folder, PathResolution::Free, ItemSelection { hidden, links }).unwrap();
            items.sort_by(|one, two| one.name.cmp(&two.name));
            items
                .into_iter()
                .map(|item| format!("{} {}", item.kind.as_str(), String::from_utf8(item.name).unwrap()))
                .collect::<Vec<_>>()
        };
        let (usual, all, no_links) = (names(false, true), names(true, true), names(false, false));
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(usual, ["file a", "file b", "other link", "directory zoo"]);
        assert_eq!(all, ["file .hidden", "file a", "file b", "other link", "directory zoo"]);
        assert_eq!(no_links, ["file a", "file b", "directory zoo"]);
    }

    #[test]
    fn link_that_is_not_followed_shows_nothing_of_its_target() {
        use std::os::unix::fs::{lchown, symlink};

        let folder = std::env::temp_dir().join(format!("myriad-folder-rule-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("sub")).unwrap();
        for name in ["own", "foreign"] {
            symlink("sub", folder.join(name)).unwrap();
        }
        // Only root can change the owner of files.
        let is_root = lchown(folder.join("foreign"), Some(54_321), None).is_ok();
        let kind = |rule: Option<LinkRule>, name: &str| {
            let walk = rule.map_or(PathResolution::Free, |rule| PathResolution::Checked(rule, 0));
            let items = items(&folder, walk, ItemSelection { hidden: false, links: true }).unwrap();
            items.into_iter().find(|item| item.name == name.as_bytes()).expect(name).kind
        };
        let foreign = |rule| if is_root { kind(rule, "foreign") } else { ItemKind::Other };
        let (free, own) = (kind(None, "own"), kind(Some(LinkRule::ForeignOwner), "own"));
        let (refused, any) = (foreign(Some(LinkRule::ForeignOwner)), kind(Some(LinkRule::Any), "own"));
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!((free, own), (ItemKind::Directory, ItemKind::Directory));
        assert_eq!((refused, any), (ItemKind::Other, ItemKind::Other));
    }
}
