//! `allow` and `deny`: from which addresses visitors may come.

mod check;

pub(super) use check::check;

#[cfg(test)]
mod tests;
