//! Cache decisions as pure functions: admit, freshness, reuse, vary, stale.

#![forbid(unsafe_code)]
