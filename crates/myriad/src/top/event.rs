//! What the loop waits for.

use super::tick::{Page, Purge, Tick};

/// A key that means something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Quit,
    Tab,
    Letter(char),
}

/// What happens.
pub(super) enum Event {
    Connected,
    Tick(Box<Tick>),
    Purge(Purge),
    Ranking(&'static str, Vec<Page>),
    Broken(String),
    Key(Key),
}
