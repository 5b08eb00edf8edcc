//! Password files and the hashes in them: what nginx's `auth_basic_user_file` may hold.
//!
//! Pure and slow by nature: [`Stored::is_slow`] says which hashes belong on a thread of their own.

#![forbid(unsafe_code)]

mod crypt;
mod file;
mod remembered;
mod stored;

pub use file::find;
pub use remembered::Remembered;
pub use stored::{Judgement, Stored};
