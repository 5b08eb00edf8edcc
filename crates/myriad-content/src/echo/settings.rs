//! Settings of `echo*`.

use myriad_conf::Text;

/// One `echo*` command of a location, as configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CommandConf {
    /// `echo`: words, which are separated by blanks; `newline` is false with `-n`.
    Line { words: Vec<Text>, newline: bool },
    /// `echo_duplicate`: text that is sent `count` times.
    Duplicate { count: Text, text: Text },
    /// `echo_sleep`, `echo_blocking_sleep`: delay in seconds.
    Sleep(Text),
    /// `echo_reset_timer`: restarts `$echo_timer_elapsed`.
    ResetTimer,
    /// `echo_location`, `echo_location_async`: URI of a subrequest and its query arguments.
    Location { uri: Text, args: Text },
    /// `echo_exec`: URI of an internal redirect and its query arguments, or a named location.
    Exec { uri: Text, args: Text },
}

impl CommandConf {
    /// Returns whether the command produces output.
    pub(super) fn answers(&self) -> bool {
        matches!(self, Self::Line { .. } | Self::Duplicate { .. } | Self::Location { .. })
    }
}

/// Settings `echo*` of a configuration level. Nested levels inherit the status, but not the commands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct EchoSettings {
    pub commands: Vec<CommandConf>,
    /// `echo_status`: status of the response; `None` for 200.
    pub status: Option<u16>,
}

myriad_conf::feature_settings!(EchoSettings, |around| Some(EchoSettings {
    commands: Vec::new(),
    status: around.status
}));
