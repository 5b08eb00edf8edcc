//! Caches of a worker that persist between requests. They have a fixed size and are emptied by a reload.

mod budget;
mod shortcuts;
mod uri_cache;

pub use budget::RefreshBudget;
pub use shortcuts::Shortcuts;
pub use uri_cache::{TryFilesResult, UriCache};
