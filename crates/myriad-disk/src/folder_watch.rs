//! Detection of files removed by other programs, which is how plugins and administrators clear caches.
//!
//! Folders are watched by inotify, which costs nothing per hit. If the kernel permits no more watches, the maintenance
//! thread checks all files in turn instead.

use std::collections::HashMap;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::index::FileName;
use parking_lot::Mutex;
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::io::Errno;

/// Files that may have been removed, according to the events since the last read.
#[derive(Debug, Default)]
pub(crate) struct RemovedFiles {
    /// Names of the page files that may have been removed.
    pub(crate) names: Vec<FileName>,
    /// Set if any file may have been removed: events were lost, or a folder was moved away.
    pub(crate) any: bool,
}

#[derive(Debug)]
pub(crate) struct FolderWatch {
    descriptor: Option<OwnedFd>,
    folders: Mutex<HashMap<PathBuf, i32>>,
    /// Set if a folder could not be watched, so that the existence of all files must be checked periodically.
    pub(crate) has_unwatched: AtomicBool,
}

impl FolderWatch {
    pub(crate) fn new() -> Self {
        let descriptor = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).ok();
        let blind = AtomicBool::new(descriptor.is_none());
        Self { descriptor, folders: Mutex::default(), has_unwatched: blind }
    }

    /// Watches the folder of a file and its parents up to `root`, as far as they are not watched yet.
    pub(crate) fn watch_parents(&self, root: &Path, file: &Path) {
        let mut folder = file.parent();
        while let Some(next) = folder
            && next.starts_with(root)
            && self.folder(next)
        {
            folder = next.parent();
        }
    }

    /// Watches a folder. Returns false if it is already watched, does not exist or cannot be watched.
    pub(crate) fn folder(&self, path: &Path) -> bool {
        let Some(descriptor) = &self.descriptor else { return false };
        let mut folders = self.folders.lock();
        if folders.contains_key(path) {
            return false;
        }
        let wanted = WatchFlags::DELETE
            | WatchFlags::MOVED_FROM
            | WatchFlags::DELETE_SELF
            | WatchFlags::MOVE_SELF
            | WatchFlags::ONLYDIR;
        match inotify::add_watch(descriptor, path, wanted) {
            Ok(number) => {
                folders.insert(path.to_owned(), number);
                true
            }
            Err(Errno::NOENT) => false,
            Err(_) => {
                self.has_unwatched.store(true, Relaxed);
                false
            }
        }
    }

    /// Removes all watches. Called after the zone's folder was created again, because the same paths refer to other
    /// folders then.
    pub(crate) fn forget(&self) {
        let Some(descriptor) = &self.descriptor else { return };
        for (_, number) in self.folders.lock().drain() {
            // The watch of a removed folder has been removed with it.
            let _ = inotify::remove_watch(descriptor, number);
        }
    }

    /// Returns the page files that may have been removed since the last call. Never blocks.
    pub(crate) fn read(&self) -> RemovedFiles {
        let mut gone = RemovedFiles::default();
        let Some(descriptor) = &self.descriptor else { return gone };
        let mut buffer = [MaybeUninit::uninit(); 16 << 10];
        let mut events = inotify::Reader::new(descriptor, &mut buffer);
        while let Ok(event) = events.next() {
            let happened = event.events();
            if happened.contains(ReadFlags::QUEUE_OVERFLOW) {
                gone.any = true;
            } else if happened.intersects(ReadFlags::IGNORED) {
                self.folders.lock().retain(|_, number| *number != event.wd());
            } else if happened.intersects(ReadFlags::DELETE_SELF | ReadFlags::MOVE_SELF) {
                // Another folder may get the path later, and must be watched then.
                self.folders.lock().retain(|_, number| *number != event.wd());
                gone.any |= happened.contains(ReadFlags::MOVE_SELF);
            } else if let Some(text) = event.file_name() {
                match FileName::parse(text.to_bytes()) {
                    Some(name) => gone.names.push(name),
                    // No events arrive for the files in a folder that was moved away.
                    None => gone.any |= happened.contains(ReadFlags::MOVED_FROM),
                }
            }
        }
        gone
    }
}
