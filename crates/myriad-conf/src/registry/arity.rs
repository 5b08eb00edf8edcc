//! How many arguments a directive takes.

/// How many arguments, and whether a block follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arity {
    /// At least so many.
    pub min: usize,
    /// At most so many; `usize::MAX` for any number.
    pub max: usize,
    /// Its one argument is `on` or `off`.
    pub flag: bool,
    /// Whether it ends with a block rather than `;`.
    pub block: bool,
}

/// `on` or `off`.
pub const FLAG: Arity = Arity { min: 1, max: 1, flag: true, block: false };
/// One argument.
pub const ONE: Arity = exactly(1);
/// Two arguments.
pub const TWO: Arity = exactly(2);

/// So many arguments.
pub const fn exactly(count: usize) -> Arity {
    between(count, count)
}

/// From so many arguments to so many.
pub const fn between(min: usize, max: usize) -> Arity {
    Arity { min, max, flag: false, block: false }
}

/// So many arguments or more.
pub const fn at_least(min: usize) -> Arity {
    between(min, usize::MAX)
}

/// From so many arguments to so many, and a block.
pub const fn block(min: usize, max: usize) -> Arity {
    Arity { min, max, flag: false, block: true }
}
