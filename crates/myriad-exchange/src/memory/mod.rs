//! What a worker remembers between requests. It is fixed in size, and made anew by a reload.

mod budget;
mod shortcuts;
mod uris;

pub use budget::Budget;
pub use shortcuts::Shortcuts;
pub use uris::{Memo, Tried};
