//! Settings of Redis and Valkey as object cache.

use crate::tune::facts::ObjectCacheServer;
use crate::tune::file::{ConfigFile, FileFormat};
use crate::tune::shares::MemoryBudget;

/// Returns the planned files for Redis or Valkey: the settings, and a systemd drop-in that makes the server read them
/// after its main file.
pub(crate) fn files(server: &ObjectCacheServer, budget: &MemoryBudget) -> Vec<ConfigFile> {
    let service = &server.service;
    let folder = server.configuration.rsplit_once('/').map_or("/etc/redis", |(folder, _)| folder);
    let own = format!("{folder}/99-myriad.conf");
    let restart = format!("systemctl daemon-reload && systemctl restart {service}");
    let mut settings = ConfigFile::new(own.as_str(), FileFormat::Redis, service, restart.as_str());
    settings.set(
        "",
        "maxmemory",
        budget.sizes.object_cache,
        "bytes; without a limit it grows until the OOM killer kills a process",
    );
    settings.set(
        "",
        "maxmemory-policy",
        "allkeys-lru",
        "evicts the least recently used keys; do not store sessions or queues in this server",
    );
    settings.set("", "tcp-backlog", 1024, "all PHP children can connect at the same time");
    let path = format!("/etc/systemd/system/{service}.service.d/99-myriad.conf");
    let mut unit = ConfigFile::new(path, FileFormat::Unit, service, restart.as_str());
    unit.set("Service", "ExecStart", "", "the command of the package; the file above is read last");
    unit.set("Service", "ExecStart", format!("{} --include {own}", server.command), "");
    vec![settings, unit]
}
