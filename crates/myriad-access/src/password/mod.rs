//! Password files and their hashes, in the formats of nginx's `auth_basic_user_file`.
//!
//! The functions are pure, and some are slow by design: [`StoredPassword::is_slow`] returns whether a hash must be
//! computed on a separate thread.

mod crypt;
mod file;
mod stored_password;
mod verification_cache;

pub use file::find;
pub use stored_password::{PasswordMatch, StoredPassword};
pub use verification_cache::VerificationCache;
