//! Shares of the memory of each program, and the sizes derived from them.

/// Number of children for each core: more would only compete for it, and bursts are queued in Myriad.
pub(crate) const CHILDREN_PER_CORE: u32 = 8;

/// Share of the memory for one program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryShare {
    /// Name of the program, for people.
    pub name: String,
    /// Size in bytes.
    pub bytes: u64,
    /// Explanation of the size.
    pub how: String,
}

/// Shares of all programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryBudget {
    /// Three quarters of the memory, in bytes.
    pub limit: u64,
    /// Shares of the programs.
    pub shares: Vec<MemoryShare>,
    /// Number of children of php-fpm in all pools; 0 without php-fpm.
    pub children: u32,
    /// Number of concurrent requests in Apache; 0 without Apache.
    pub apache_workers: u32,
    pub(crate) sizes: MemorySizes,
}

impl MemoryBudget {
    /// Returns the sum of the shares, in bytes.
    pub fn sum(&self) -> u64 {
        self.shares.iter().map(|share| share.bytes).sum()
    }

    /// Returns whether the shares fit. They do not if a single child of php-fpm already exceeds the memory.
    pub fn fits(&self) -> bool {
        self.sum() <= self.limit
    }
}

/// Sizes that depend on the memory and the site, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct MemorySizes {
    pub(crate) opcache: u64,
    pub(crate) strings: u64,
    pub(crate) files: u32,
    pub(crate) jit: u64,
    pub(crate) apcu: u64,
    pub(crate) object_cache: u64,
    /// Buffer pool of the database.
    pub(crate) pool: u64,
    pub(crate) temporary_table: u64,
    pub(crate) connections: u32,
}
