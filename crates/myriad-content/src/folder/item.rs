//! Entries of a directory listing.

/// Entry of a directory; size in bytes, modification time in seconds since the Unix epoch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DirectoryItem {
    pub kind: ItemKind,
    pub name: Vec<u8>,
    pub modified_s: u64,
    pub size: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ItemKind {
    Directory,
    File,
    /// Socket, device, symbolic link that is not followed, or similar.
    Other,
}

impl ItemKind {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Directory => "directory",
            Self::File => "file",
            Self::Other => "other",
        }
    }
}
