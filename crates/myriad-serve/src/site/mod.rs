//! The running site: start, worker threads, reload, shutdown.

#[cfg(feature = "cluster")]
mod cluster;
#[cfg(not(feature = "cluster"))]
#[path = "cluster/absent.rs"]
mod cluster;
mod history_file;
mod inherited_resources;
mod memory;
mod observer;
mod refresh_ahead;
mod reload;
mod replaced_configs;
mod running;
mod shutdown;
mod sockets;
mod start_error;
#[cfg(test)]
mod tests;
mod worker_command;
mod worker_main;
mod worker_thread;

pub use history_file::{HistoryStorage, history_path};
pub use inherited_resources::InheritedResources;
pub use running::RunningSite;
pub use start_error::StartError;
