//! What stands before origins, whatever protocol they speak. It is asked for what really goes to an origin: never for a page that
//! is stored, nor for those who wait for the fetch of another.
//!
//! | folder | what | directives |
//! |---|---|---|
//! | `origin_queue` | a bounded queue with classes, and how many requests an origin has at once | `origin_queue`, `origin_priority` |

#![forbid(unsafe_code)]

pub mod origin_queue;
