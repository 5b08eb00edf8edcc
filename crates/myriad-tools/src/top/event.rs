//! Events of the main loop of `myriad top`.

use myriad_admin::protocol::monitoring::{LiveTick, PurgeEvent, TopPage};

/// Key of the keyboard that has a function in `myriad top`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyPress {
    Quit,
    Tab,
    Letter(char),
}

/// Event of the main loop of `myriad top`: data of the server, or a key.
pub(super) enum TopEvent {
    Connected,
    Tick(Box<LiveTick>),
    Purge(PurgeEvent),
    Ranking(&'static str, Vec<TopPage>),
    Broken(String),
    Key(KeyPress),
}
