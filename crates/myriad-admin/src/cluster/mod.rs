//! Cluster: nodes that exchange their purges through Valkey or Redis (`cluster`).
//!
//! | file | content |
//! |---|---|
//! | `directives`, `block`, `settings` | directive, its block, settings |
//! | `running` | start, reload and stop of the node |
//! | `node_thread` | thread of the node |
//! | `publisher` | handle by which zones publish purges |
//! | `driver`, `input` | loop that executes the actions of the node; repeated messages: `log_limiter` |
//! | `start_state` | signal that the node's start is complete, for the waiting thread |
//! | `status` | status of the node, for administrators |
//! | `valkey`, `link_error` | connections to Valkey, commands; their error |
//! | `zone_tasks`, `zones` | purges of other nodes, executed in the zones of this node |
//! | `exchanged_state` | state that the nodes exchange in addition to purges: |
//! | `pages`, `page_commands`, `page_link` | pages that the nodes fetch for each other; their commands and connections |
//! | `ticket_keys`, `secret_commands` | keys of TLS session tickets that the nodes share; commands for encrypted values |
//! | `certificates`, `certificate_task`, `certificate_changes`, `certificate_commands` | automatic certificates that the nodes share; exchange; marks of changes; commands |
//! | `certificate_lease`, `held_lease` | orders of automatic certificates; renewal of their leases |
//! | `limits`, `limit_link` | use of limits, exchanged with the other nodes; its connections |
//! | `position_file` | file with the position of this node in the purge log |
//! | `options` | settings with the contents of the files that they name |
//! | `server_memory` | memory limit of Valkey, and what it evicts |
//! | `server_url` | addresses of Valkey: `redis://`, `rediss://`, `sentinel://` |

mod block;
mod certificate_changes;
mod certificate_commands;
mod certificate_lease;
mod certificate_task;
mod certificates;
mod directives;
mod driver;
mod exchanged_state;
mod held_lease;
mod input;
mod limit_link;
mod limits;
mod link_error;
mod log_limiter;
mod node_thread;
mod options;
mod page_commands;
mod page_link;
mod pages;
mod position_file;
mod publisher;
mod running;
mod secret_commands;
mod server_memory;
mod server_url;
mod settings;
mod start_state;
mod status;
mod ticket_keys;
mod valkey;
mod zone_tasks;
mod zones;

use myriad_exchange::feature::Feature;

pub use options::ClusterOptions;
pub use running::{PreparedCluster, RunningCluster};
pub use server_url::{ServerUrl, ServerUrlError};
pub use settings::{ClusterConf, ClusterSettings, PartitionPolicy};

/// Registration of the directive `cluster`.
pub const FEATURE: Feature = Feature::new("cluster", directives::ROWS).compiled_by(options::compile);
