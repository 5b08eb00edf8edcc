//! Settings of `bots`.

use super::list::BotLine;

/// Settings of the `bots` blocks of a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BotSettings {
    /// Set if the configuration has a `bots` block; otherwise only the built-in list applies.
    pub is_configured: bool,
    /// Lines of the blocks, in source order.
    pub lines: Vec<BotLine>,
    /// `builtin`: set if the built-in list is searched after the lines.
    pub builtin: bool,
}

impl Default for BotSettings {
    fn default() -> Self {
        Self { is_configured: false, lines: Vec::new(), builtin: true }
    }
}

myriad_conf::feature_settings!(BotSettings);
