//! A folder that is read on the pool of blocking work.

use std::fs::DirEntry;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use myriad_exchange::exchange::{Request, Step};
use myriad_files::SystemError;
use myriad_log::Level;

use super::item::{Item, ItemKind};

/// What of a folder is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Selection {
    /// Names that begin with a dot, too.
    pub(crate) hidden: bool,
    /// Symbolic links, too; they are shown as what they lead to.
    pub(crate) links: bool,
}

/// What is in a folder, in no order. What cannot be read is told to the error log, and answered.
pub(crate) async fn read(
    request: &Request,
    folder: PathBuf,
    selection: Selection,
) -> Result<Vec<Item>, Step> {
    let shown = folder.clone();
    let read = tokio::task::spawn_blocking(move || items(&folder, selection)).await;
    read.unwrap_or_else(|_| Err(io::Error::other("reading was abandoned"))).map_err(|error| {
        let error = SystemError::of(&error);
        let level = if error.status() == 500 { Level::Crit } else { Level::Error };
        let folder = shown.display();
        request.log(level, format_args!("opendir() \"{folder}\" failed ({error})"));
        Step::Error(error.status())
    })
}

fn items(folder: &std::path::Path, selection: Selection) -> io::Result<Vec<Item>> {
    let mut items = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let hidden = entry.file_name().as_bytes().starts_with(b".") && !selection.hidden;
        if hidden || !selection.links && entry.file_type()?.is_symlink() {
            continue;
        }
        items.extend(item(&entry)?);
    }
    Ok(items)
}

/// None for what this server may not look at. A link that leads nowhere is shown as itself.
fn item(entry: &DirEntry) -> io::Result<Option<Item>> {
    let path = entry.path();
    let metadata = match std::fs::metadata(&path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(None),
        Err(_) => match std::fs::symlink_metadata(&path) {
            Ok(metadata) => metadata,
            // Gone since the folder was read.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        },
    };
    Ok(Some(Item {
        kind: match metadata {
            _ if metadata.is_dir() => ItemKind::Directory,
            _ if metadata.is_file() => ItemKind::File,
            _ => ItemKind::Other,
        },
        name: entry.file_name().into_vec(),
        modified_s: u64::try_from(metadata.mtime()).unwrap_or(0),
        size: metadata.len(),
    }))
}

#[cfg(test)]
mod tests {
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
            let mut items = items(&folder, Selection { hidden, links }).unwrap();
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
}
