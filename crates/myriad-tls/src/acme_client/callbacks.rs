//! Functions of the process that the threads for certificates call.

use std::sync::Arc;

use myriad_conf::settings::LogLevel;

/// Function that writes a line to the error log.
pub type LogCallback = Arc<dyn Fn(LogLevel, &str) + Send + Sync>;
/// Function that stores a file of the issuer (account key or certificate) permanently, given its name and contents.
pub type StoreCallback = Arc<dyn Fn(&str, &[u8]) + Send + Sync>;
