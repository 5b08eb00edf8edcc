//! `auth_basic`: who knows a password.

mod check;
mod compile;
mod file;
mod passwords;

pub(super) use compile::check;
pub(super) use passwords::Passwords;

#[cfg(test)]
mod tests;
