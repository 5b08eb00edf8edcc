//! What is in a folder, for the features that list it: `autoindex`, `fancyindex`.

mod item;
mod read;

pub(crate) use item::{Item, ItemKind};
pub(crate) use read::{Selection, read};
