//! Settings of the `bots` block.

use super::list::BotLine;

/// Settings of `bots`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BotSettings {
    /// Set if the configuration has a `bots` block.
    pub is_configured: bool,
    /// Lines of the block, in source order.
    pub lines: Vec<BotLine>,
    /// Set if the built-in list follows the lines (`builtin`).
    pub builtin: bool,
}

impl Default for BotSettings {
    fn default() -> Self {
        Self { is_configured: false, lines: Vec::new(), builtin: true }
    }
}

myriad_conf::feature_settings!(BotSettings);
