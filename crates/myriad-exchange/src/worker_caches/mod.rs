//! Caches of a worker that speed up repeated requests. Their number of entries is fixed, and a reload empties them.

mod budget;
mod shortcuts;
mod uri_cache;

pub use budget::RefreshBudget;
pub use shortcuts::Shortcuts;
pub use uri_cache::{TryFilesResult, UriCache};
