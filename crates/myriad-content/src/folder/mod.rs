//! Reading of directories for the features that list them: `autoindex`, `fancyindex`, `random_index`.

mod item;
mod read;

pub(crate) use item::{DirectoryItem, ItemKind};
pub(crate) use read::{ItemSelection, read};
