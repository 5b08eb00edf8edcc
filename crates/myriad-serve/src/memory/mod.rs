//! What a worker remembers between requests. It is fixed in size, and made anew by a reload.

mod budget;
mod seats;
mod shortcuts;
mod uris;

pub(crate) use budget::Budget;
pub(crate) use shortcuts::Shortcuts;
pub(crate) use uris::{Memo, Tried};
