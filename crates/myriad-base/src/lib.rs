//! General types for all crates: dates, numbers, maps of bounded size, memory pressure.
//!
//! | module | purpose |
//! |---|---|
//! | `calendar` | dates of HTTP, logs and certificates; `strftime`; time zones |
//! | `digits` | numbers that consist only of digits, without a sign |
//! | `bounded` | maps of bounded size: least recently used, and direct-mapped |
//! | `memory` | `memory_limit`: stages of memory pressure, limits of cache zones |

#![forbid(unsafe_code)]

pub mod bounded;
pub mod calendar;
pub mod digits;
pub mod memory;
