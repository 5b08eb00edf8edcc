//! Commands for administrators. Most have a pure part, which derives results from facts, and a module `command`, which
//! collects the facts and prints the results.
//!
//! | module | purpose |
//! |---|---|
//! | `doctor` | `myriad doctor`: finds problems of a WordPress site and its stack |
//! | `tune` | `myriad tune`: computes settings of PHP, database, object cache and kernel for a machine |
//! | `log_stats` | `myriad log`: summarises access and error logs |
//! | `import` | `myriad import`: translates Apache's rules into nginx configuration |
//! | `takeover` | `myriad takeover`: replaces a running nginx, and restores it |
//! | `top` | `myriad top`: shows the traffic in a terminal |
//! | `optimize` | `myriad optimize`: grades pages |
//! | `warm` | `myriad warm`: requests pages so that they are cached |

#![forbid(unsafe_code)]

pub mod doctor;
pub mod import;
pub mod log_stats;
#[cfg(feature = "optimizer")]
pub mod optimize;
pub mod takeover;
pub mod top;
pub mod tune;
pub mod warm;
