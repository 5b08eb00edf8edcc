//! Settings of the directives.

use myriad_conf::Text;

/// One `echo*` command of a location: it sends text, waits, resets the timer, or runs another location.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CommandConf {
    /// `echo`: texts separated by blanks, and a line feed.
    Line { words: Vec<Text>, newline: bool },
    /// `echo_duplicate`: a repeated text.
    Duplicate { count: Text, text: Text },
    /// `echo_sleep`, `echo_blocking_sleep`: a number of seconds.
    Sleep(Text),
    /// `echo_reset_timer`.
    ResetTimer,
    /// `echo_location`: a URI of this server and its arguments.
    Location { uri: Text, args: Text },
    /// `echo_exec`: a URI of this server and its arguments, or a named location.
    Exec { uri: Text, args: Text },
}

impl CommandConf {
    /// Returns whether the command produces output.
    pub(super) fn answers(&self) -> bool {
        matches!(self, Self::Line { .. } | Self::Duplicate { .. } | Self::Location { .. })
    }
}

/// `echo*` of a level. Nested levels inherit the status, but not the content.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct EchoSettings {
    pub commands: Vec<CommandConf>,
    /// `echo_status`; `None` for 200.
    pub status: Option<u16>,
}

myriad_conf::feature_settings!(EchoSettings, |around| Some(EchoSettings {
    commands: Vec::new(),
    status: around.status
}));
