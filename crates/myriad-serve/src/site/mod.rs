//! Running site: start, worker threads, reload, shutdown.

mod end;
mod history_file;
mod inherited;
mod memory;
mod observing;
mod orders;
mod reload;
mod replaced;
mod running;
mod sockets;
mod start_error;
#[cfg(test)]
mod tests;
mod worker_life;
mod worker_thread;

pub use history_file::{HistoryStorage, history_path};
pub use inherited::InheritedResources;
pub use running::RunningSite;
pub use start_error::StartError;
