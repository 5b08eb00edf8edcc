//! Directive `cluster`.

use myriad_conf::registry::{Contexts, Directive, Set, block};

use super::block::parse_cluster;
use super::settings::ClusterSettings;

/// Rows of the cluster's directives.
pub(super) static ROWS: &[Directive] = &[Directive::new(
    "cluster",
    Contexts::HTTP,
    block(1, 1),
    Set::Settings(|settings, args| {
        let conf = parse_cluster(args.node)?;
        settings.feature_mut::<ClusterSettings>().cluster = Some(conf);
        Ok(())
    }),
    "Cluster of nodes that exchange purges and pages through Valkey or Redis: `server`, `username`, `password_file`, \
     `sentinel_password_file`, `trusted_certificate`, `secret_file`, `node`, `partition`, `receipt_timeout`, `pages`.",
)];
