//! Events that the loop waits for.

use myriad_admin::protocol::sight::{PurgeEvent, Tick, TopPage};

/// Key with a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Quit,
    Tab,
    Letter(char),
}

/// Event of the loop.
pub(super) enum Event {
    Connected,
    Tick(Box<Tick>),
    Purge(PurgeEvent),
    Ranking(&'static str, Vec<TopPage>),
    Broken(String),
    Key(Key),
}
