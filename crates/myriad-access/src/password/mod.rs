//! Password files and their hashes, in the formats of nginx's `auth_basic_user_file`.
//!
//! The functions are pure, and some are slow by design: [`StoredPassword::is_slow`] returns which hashes must be computed on a
//! separate thread.

mod crypt;
mod file;
mod remembered;
mod stored;

pub use file::find;
pub use remembered::VerificationCache;
pub use stored::{PasswordMatch, StoredPassword};
