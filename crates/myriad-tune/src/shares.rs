//! Shares of the memory: what each program may take, and the sizes that follow from it.

/// Children for each core: more only take turns, and a rush waits better in Myriad's queue.
pub(crate) const CHILDREN_PER_CORE: u32 = 8;

/// Part of the memory that one program may take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Share {
    /// Program, for people.
    pub name: String,
    /// Bytes.
    pub bytes: u64,
    /// How it comes to that.
    pub how: String,
}

/// Shares of all programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Three quarters of the memory, bytes.
    pub limit: u64,
    /// The shares.
    pub shares: Vec<Share>,
    /// Children of php-fpm, all pools together; 0 without php-fpm.
    pub children: u32,
    /// Requests that Apache answers at once; 0 without Apache.
    pub apache_workers: u32,
    pub(crate) sizes: Sizes,
}

impl Budget {
    /// Sum of the shares, bytes.
    pub fn sum(&self) -> u64 {
        self.shares.iter().map(|share| share.bytes).sum()
    }

    /// Whether the shares fit. They do not where even one child of php-fpm is too much.
    pub fn fits(&self) -> bool {
        self.sum() <= self.limit
    }
}

/// Sizes that hang on the memory and the site, bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sizes {
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
