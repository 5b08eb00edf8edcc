//! Memory of each program, and the sizes derived from it.

/// Maximum number of PHP children per core: more would only compete for the core, and Myriad queues bursts.
pub(crate) const CHILDREN_PER_CORE: u32 = 8;

/// Maximum number of php-fpm children; more would cost php-fpm more than they yield.
pub(crate) const MOST_CHILDREN: u32 = 1024;

/// Part of the memory for one program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryShare {
    /// Name of the program, for messages.
    pub name: String,
    /// Size of the share, in bytes.
    pub bytes: u64,
    /// Explanation of the size.
    pub how: String,
}

/// Memory budget: the share of each program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryBudget {
    /// Limit for the sum of all shares: three quarters of the machine's memory, in bytes.
    pub limit: u64,
    /// Shares of the programs.
    pub shares: Vec<MemoryShare>,
    /// Total number of php-fpm children in all pools; 0 without php-fpm.
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

    /// Returns whether the sum is within the limit. It is not, for example, if a single php-fpm child is too large for
    /// the machine.
    pub fn fits(&self) -> bool {
        self.sum() <= self.limit
    }
}

/// Memory sizes of programs that depend on the machine and the site; in bytes, except numbers of files and connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct MemorySizes {
    pub(crate) opcache: u64,
    pub(crate) strings: u64,
    pub(crate) files: u32,
    pub(crate) jit: u64,
    pub(crate) apcu: u64,
    pub(crate) object_cache: u64,
    /// Size of the database's buffer pool, in bytes; 0 without a database on the machine.
    pub(crate) pool: u64,
    pub(crate) temporary_table: u64,
    pub(crate) connections: u32,
}
