//! Events that the loop waits for.

use myriad_admin::protocol::monitoring::{LiveTick, PurgeEvent, TopPage};

/// Key with a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyPress {
    Quit,
    Tab,
    Letter(char),
}

/// Event of the loop.
pub(super) enum TopEvent {
    Connected,
    Tick(Box<LiveTick>),
    Purge(PurgeEvent),
    Ranking(&'static str, Vec<TopPage>),
    Broken(String),
    Key(KeyPress),
}
