//! The libraries, with their defaults, the given capacity, and one shard if that can be configured.

use foyer_memory::{
    Cache, CacheBuilder, CacheProperties, EvictionConfig, LfuConfig, LruConfig, S3FifoConfig, SieveConfig,
};

use super::Policy;

pub struct Moka(moka::sync::Cache<u32, u32>);

impl Moka {
    pub fn new(room: u64) -> Self {
        Self(moka::sync::Cache::builder().max_capacity(room).weigher(|_, bytes: &u32| *bytes).build())
    }
}

impl Policy for Moka {
    fn request(&mut self, page: u32, bytes: u32) -> bool {
        let hit = self.0.get(&page).is_some();
        if !hit {
            self.0.insert(page, bytes);
        }
        // Run deferred work at once, so that the hit rate is that of the policy.
        self.0.run_pending_tasks();
        hit
    }
}

#[derive(Clone)]
pub struct ByBytes;

impl quick_cache::Weighter<u32, u32> for ByBytes {
    fn weight(&self, _: &u32, bytes: &u32) -> u64 {
        u64::from(*bytes)
    }
}

pub struct QuickCache(quick_cache::unsync::Cache<u32, u32, ByBytes>);

impl QuickCache {
    pub fn new(room: u64, pages: usize) -> Self {
        Self(quick_cache::unsync::Cache::with_weighter(pages, room, ByBytes))
    }
}

impl Policy for QuickCache {
    fn request(&mut self, page: u32, bytes: u32) -> bool {
        let hit = self.0.get(&page).is_some();
        if !hit {
            self.0.insert(page, bytes);
        }
        hit
    }
}

pub struct Foyer(Cache<u32, u32>);

impl Foyer {
    fn new(room: u64, config: impl Into<EvictionConfig>) -> Self {
        let builder = CacheBuilder::new(room as usize).with_shards(1).with_eviction_config(config);
        Self(builder.with_weighter(|_: &u32, bytes: &u32| *bytes as usize).build::<CacheProperties>())
    }

    pub fn lfu(room: u64) -> Self {
        Self::new(room, LfuConfig::default())
    }

    pub fn lru(room: u64) -> Self {
        Self::new(room, LruConfig::default())
    }

    pub fn s3_fifo(room: u64) -> Self {
        Self::new(room, S3FifoConfig::default())
    }

    pub fn sieve(room: u64) -> Self {
        Self::new(room, SieveConfig {})
    }
}

impl Policy for Foyer {
    fn request(&mut self, page: u32, bytes: u32) -> bool {
        let hit = self.0.get(&page).is_some();
        if !hit {
            self.0.insert(page, bytes);
        }
        hit
    }
}
