//! Bugs that tests put into a node, to prove that the simulation finds them.

/// Bug that a test puts into a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(test), expect(dead_code, reason = "only tests put bugs into a node"))]
pub(super) enum SeededBug {
    /// A record is applied although it does not continue the chain.
    PredecessorIgnored,
    /// A receipt is sent when a record is read, before its purges are applied.
    ReceiptBeforeApply,
    /// The position moves when a record is read, before its purges are applied.
    PositionBeforeApply,
    /// Own purges are not appended again when the log loses them.
    LostPurgesForgotten,
    /// If the log has lost its newest records and has no later record, the position stays at a lost record.
    NoRewind,
    /// A gap does not make pages stale.
    GapIgnored,
    /// Purges are recognized by their sequence without the lifetime of their node.
    SequenceWithoutLifetime,
    /// During a partition, the limit of the age of pages remains at its first value.
    AgeLimitFixed,
    /// A silent member does not limit the age of pages.
    SilentMembersTrusted,
    /// A member's position confirms a purge although its record is on another branch of the log.
    BranchesConfused,
    /// The tag of a record is not checked.
    TagIgnored,
    /// A purge of another node whose save failed counts as durable.
    FailedSaveConfirmed,
    /// An own purge whose save failed counts as durable.
    OwnFailedSaveIgnored,
    /// The position of a page counts as complete although purges of this node are not in the log.
    UnloggedPurgesIgnored,
    /// The position of a page counts as complete although the log has lost purges of this node.
    LossesIgnoredForPages,
}
