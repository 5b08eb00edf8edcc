//! System files that commands write. They are below a root folder (`--root`) and are replaced atomically.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Attributes of a file that is written.
pub struct FileAttributes {
    /// Permission bits of the file.
    pub mode: u32,
    /// User ID and group ID; `None` for those of the process.
    pub owner: Option<(u32, u32)>,
    /// Time of the last change; `None` for the current time.
    pub modified: Option<SystemTime>,
}

/// Returns the path of a system file below the root folder; a leading `/` of `path` is ignored.
pub fn below(root: &Path, path: &str) -> PathBuf {
    root.join(path.trim_start_matches('/'))
}

/// Writes a system file; missing parent folders are created. The contents are synced to disk before the file is renamed
/// to its name; the folder is not synced.
pub fn write(root: &Path, path: &str, bytes: &[u8], mode: u32) -> io::Result<()> {
    let path = below(root, path);
    fs::create_dir_all(path.parent().unwrap_or(root))?;
    replace(&path, bytes, &FileAttributes { mode, owner: None, modified: None })
}

/// Writes a new file next to `path`, syncs it to disk and renames it to `path`, so that no program reads a partial
/// file. Returns an error if the temporary file exists.
pub fn replace(path: &Path, bytes: &[u8], attributes: &FileAttributes) -> io::Result<()> {
    let new = temporary_path(path);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(attributes.mode).open(&new)?;
    let written = file
        .write_all(bytes)
        .and_then(|()| attributes.owner.map_or(Ok(()), |(uid, gid)| fchown(&file, Some(uid), Some(gid))))
        .and_then(|()| file.set_permissions(fs::Permissions::from_mode(attributes.mode)))
        .and_then(|()| attributes.modified.map_or(Ok(()), |time| file.set_modified(time)))
        .and_then(|()| file.sync_all())
        .and_then(|()| fs::rename(&new, path));
    if written.is_err() {
        let _ = fs::remove_file(&new);
    }
    written
}

/// Removes a system file. A missing file is not an error.
pub fn remove(root: &Path, path: &str) -> io::Result<()> {
    match fs::remove_file(below(root, path)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Returns a temporary name next to a file. Programs that read all files of a folder ignore it because of its
/// extension.
fn temporary_path(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".new-{}", std::process::id()));
    path.with_file_name(name)
}
