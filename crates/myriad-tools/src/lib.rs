//! Commands for administrators: each with a pure part (facts in, findings, files and tables out) and `command`, which reads the facts.
//!
//! | module | purpose |
//! |---|---|
//! | `doctor` | finds what is wrong with a site, from facts that were gathered |
//! | `tune` | computes settings of PHP, database, object cache and kernel for a machine |
//! | `log_stats` | summarises access and error logs |
//! | `import` | `myriad import`: Apache's rules in files as nginx configuration |
//! | `takeover` | `myriad takeover`: replaces a running nginx, and restores it |
//! | `top_counter` | `myriad top`: the traffic in a terminal |
//! | `warm` | chooses the URLs that warm a cache, and their pace |

#![forbid(unsafe_code)]

pub mod doctor;
pub mod import;
pub mod log_stats;
pub mod takeover;
pub mod top;
pub mod tune;
pub mod warm;
