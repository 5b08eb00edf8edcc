//! Objects under keys: memory tier, eviction and in-flight objects, knowing no HTTP.
