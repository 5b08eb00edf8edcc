//! What the block says.

use super::list::Line;

/// `bots`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BotSettings {
    /// Whether there is such a block.
    pub is_said: bool,
    /// Its lines, in source order.
    pub lines: Vec<Line>,
    /// Whether the built-in list is asked after them (`builtin`).
    pub builtin: bool,
}

impl Default for BotSettings {
    fn default() -> Self {
        Self { is_said: false, lines: Vec::new(), builtin: true }
    }
}

myriad_conf::feature_settings!(BotSettings);
