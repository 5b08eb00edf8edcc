//! General types for all crates: dates, maps of bounded size, memory pressure.
//!
//! | module | purpose |
//! |---|---|
//! | `calendar` | dates of HTTP, logs and certificates; `strftime`; time zones |
//! | `bounded` | maps of bounded size: least recently used, and direct-mapped |
//! | `memory` | `memory_limit`: stages of memory pressure, limits of cache zones |

#![forbid(unsafe_code)]

pub mod bounded;
pub mod calendar;
pub mod memory;
