//! Events of the main loop of `myriad top`.

use myriad_admin::protocol::monitoring::{LiveTick, PurgeEvent, TopPage};

/// Key that has a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyPress {
    Quit,
    Tab,
    Letter(char),
}

/// Event of the main loop.
pub(super) enum TopEvent {
    Connected,
    Tick(Box<LiveTick>),
    Purge(PurgeEvent),
    Ranking(&'static str, Vec<TopPage>),
    Broken(String),
    Key(KeyPress),
}
