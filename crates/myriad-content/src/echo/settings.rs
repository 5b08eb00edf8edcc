//! What the directives say.

use myriad_conf::Text;

/// A directive that makes content, in the order in which they are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CommandConf {
    /// `echo`: texts with blanks between them, and the end of the line behind them.
    Line { words: Vec<Text>, newline: bool },
    /// `echo_duplicate`: a text so many times.
    Duplicate { count: Text, text: Text },
    /// `echo_sleep`, `echo_blocking_sleep`: seconds.
    Sleep(Text),
    /// `echo_reset_timer`.
    ResetTimer,
    /// `echo_location`: a URI of this server, and its arguments.
    Location { uri: Text, args: Text },
    /// `echo_exec`: a URI of this server and its arguments, or a named location.
    Exec { uri: Text, args: Text },
}

impl CommandConf {
    /// Whether the answer begins with it.
    pub(super) fn answers(&self) -> bool {
        matches!(self, Self::Line { .. } | Self::Duplicate { .. } | Self::Location { .. })
    }
}

/// `echo*` of a level. Its content is that of the level alone; its status holds within.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct EchoSettings {
    pub commands: Vec<CommandConf>,
    /// `echo_status`; none for 200.
    pub status: Option<u16>,
}

myriad_conf::feature_settings!(EchoSettings, |around| Some(EchoSettings {
    commands: Vec::new(),
    status: around.status
}));
