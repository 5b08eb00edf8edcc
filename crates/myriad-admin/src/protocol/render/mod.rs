//! Reports as lines for a terminal, with aligned columns.

mod amount;
mod cluster;
mod leak;
mod list;
mod memory;
mod page;
mod peer;
mod purge;
mod zone;

pub use amount::{count, duration, size};
pub use cluster::{cluster, cluster_nodes, cluster_purges};
pub use leak::leak;
pub use list::{list_head, list_line};
pub use memory::memory;
pub use page::{image_copy, optimized, page};
pub use peer::{peer_head, peer_line};
pub use purge::{purge, purge_total};
pub use zone::zone;
