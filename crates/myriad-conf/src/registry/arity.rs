//! Number of arguments of a directive.

/// Number of arguments that a directive takes, and whether a block follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arity {
    /// Minimum number of arguments.
    pub min: usize,
    /// Maximum number of arguments; `usize::MAX` for no limit.
    pub max: usize,
    /// True if the argument must be `on` or `off`.
    pub flag: bool,
    /// True if the directive is followed by a block instead of `;`.
    pub block: bool,
}

/// One argument, `on` or `off`.
pub const FLAG: Arity = Arity { min: 1, max: 1, flag: true, block: false };
/// One argument.
pub const ONE: Arity = exactly(1);
/// Two arguments.
pub const TWO: Arity = exactly(2);

/// Returns an arity of exactly `count` arguments.
pub const fn exactly(count: usize) -> Arity {
    between(count, count)
}

/// Returns an arity of `min` to `max` arguments.
pub const fn between(min: usize, max: usize) -> Arity {
    Arity { min, max, flag: false, block: false }
}

/// Returns an arity of `min` or more arguments.
pub const fn at_least(min: usize) -> Arity {
    between(min, usize::MAX)
}

/// Returns an arity of `min` to `max` arguments, and a block.
pub const fn block(min: usize, max: usize) -> Arity {
    Arity { min, max, flag: false, block: true }
}
