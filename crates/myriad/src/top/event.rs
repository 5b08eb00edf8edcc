//! What the loop waits for.

use myriad_admin::sight::{PurgeEvent, Tick, TopPage};

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
    Purge(PurgeEvent),
    Ranking(&'static str, Vec<TopPage>),
    Broken(String),
    Key(Key),
}
