use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use myriad_conf::{MemoryLoader, Model, survey};
use myriad_exchange::state_storage::StateStorage;
use myriad_policy::{PurgeCommand, PurgeTarget};
use myriad_store::page::FolderCreator;
use myriad_tls::TicketKeyStore;

use super::sockets::assign_numbers;
use super::{InheritedResources, RunningSite, StartError};
use crate::testing::block_on;
use myriad_admin::purge::PurgeFailure;
use myriad_exchange::counters::Snapshot;

/// `StateStorage` that discards everything.
#[derive(Debug)]
struct DiscardingKeeper;

impl FolderCreator for DiscardingKeeper {
    fn request_folder(&self, _: &Path) {}
}

impl TicketKeyStore for DiscardingKeeper {
    fn ticket_keys(&self, _: u32, _: Option<&[u8]>) {}
}

impl StateStorage for DiscardingKeeper {
    fn save_file(&self, _: &Path, _: &[u8]) {}
}

fn inherited() -> InheritedResources {
    InheritedResources {
        listeners: Vec::new(),
        quic_secret: vec![7; 32].into(),
        process: 0,
        relay: Arc::default(),
        logs: Vec::new(),
        tls_files: HashMap::default(),
        keeper: Arc::new(DiscardingKeeper),
        ticket_keys: HashMap::new(),
        sources: Vec::new(),
        prefix: PathBuf::from("/nowhere"),
        folder: PathBuf::from("/nowhere"),
    }
}

/// Returns the model of a configuration without listeners, with two worker threads.
fn model(http: &str) -> Model {
    let text = format!("worker_processes 2; events {{}} http {{ error_log off; access_log off; {http} }}");
    let loader = MemoryLoader::with("/nowhere/nginx.conf", text);
    survey(&crate::registry().parse(&loader, Path::new("/nowhere/nginx.conf"), b""), crate::registry()).model
}

/// Zone whose folder cannot exist, and a place that uses it.
const ZONE: &str = "proxy_cache_path /dev/null/cache keys_zone=z:1m;
    server { listen 127.0.0.1:1; location / { proxy_pass http://127.0.0.1:1; proxy_cache z; } }";

#[test]
fn site_starts_reloads_and_ends() {
    let site = RunningSite::start(&model(""), inherited()).expect("a site");
    assert!(!site.has_failed());
    assert_eq!(site.counters(), Snapshot::default());
    let (drained, is_drained) = channel();
    let drained = Box::new(move || drained.send(()).unwrap_or_default());
    site.reload(&model(""), inherited(), drained).expect("a reload");
    is_drained.recv_timeout(Duration::from_secs(30)).expect("the first configuration is no longer in use");
    site.reopen(Vec::new());
    site.quit();
    site.wait();
}

#[test]
fn each_replaced_configuration_is_heard_of_at_its_own_end() {
    let site = RunningSite::start(&model(""), inherited()).expect("a site");
    let (drained, heard) = channel();
    let mut used = None;
    for number in 0..5 {
        if number == 1 {
            used = Some(Arc::clone(&site.inner.lock().runtime));
        }
        let drained = drained.clone();
        let drained = Box::new(move || drained.send(number).unwrap_or_default());
        site.reload(&model(""), inherited(), drained).expect("a reload");
    }
    let next =
        || heard.recv_timeout(Duration::from_secs(30)).expect("a configuration that is no longer in use");
    let mut others: Vec<_> = (0..4).map(|_| next()).collect();
    others.sort_unstable();
    assert_eq!(others, [0, 2, 3, 4]);
    drop(used);
    assert_eq!(next(), 1);
    site.quit();
    site.wait();
}

#[test]
fn purge_of_no_zone_and_one_that_cannot_be_written_down_are_refused() {
    let site = RunningSite::start(&model(ZONE), inherited()).expect("a site");
    let command = PurgeCommand::hard(PurgeTarget::url(b"a.test/").expect("a URL"));
    let refused = block_on(site.purge(Some("none"), &command));
    assert!(matches!(&refused, Err(PurgeFailure::NoZone(name)) if name == "none"), "{refused:?}");
    for zone in [Some("z"), None] {
        let refused = block_on(site.purge(zone, &command));
        assert!(matches!(&refused, Err(PurgeFailure::Unlogged(_))), "{refused:?}");
    }
    site.quit();
    site.wait();
}

#[test]
fn zone_outlives_a_reload_that_names_it_and_goes_with_one_that_does_not() {
    let site = RunningSite::start(&model(ZONE), inherited()).expect("a site");
    let zone = || site.inner.lock().runtime.zones.get("z").map(Arc::clone);
    let before = zone().expect("a zone");
    site.reload(&model(ZONE), inherited(), Box::new(|| ())).expect("a reload");
    assert!(zone().is_some_and(|zone| Arc::ptr_eq(&zone, &before)));
    site.reload(&model(""), inherited(), Box::new(|| ())).expect("a reload");
    assert!(zone().is_none() && site.inner.lock().retained.zones.is_empty());
    site.quit();
    site.wait();
}

#[test]
fn address_has_its_number_for_as_long_as_the_site_runs() {
    let socket = || std::fs::File::open("/dev/null").expect("a file").into();
    let mut numbers = HashMap::new();
    let mut numbered = |names: &[&str]| -> Vec<u32> {
        let listeners = names.iter().map(|name| ((*name).to_owned(), socket())).collect();
        assign_numbers(listeners, &mut numbers).iter().map(|socket| socket.number).collect()
    };
    assert_eq!(numbered(&["a", "b", "a"]), [0, 1, 0]);
    assert_eq!(numbered(&["c", "b"]), [2, 1]);
    assert_eq!(numbered(&["a"]), [0]);
}

#[test]
fn all_configuration_errors_are_reported() {
    let server = |name: &str| {
        format!(
            "server {{ listen 443 ssl; server_name {name}.test; ssl_certificate /nowhere/{name}; ssl_certificate_key /nowhere/{name}; }}"
        )
    };
    let error = RunningSite::start(&model(&[server("a"), server("b")].concat()), inherited())
        .err()
        .expect("the files are missing");
    assert!(matches!(&error, StartError::Configuration(errors) if errors.len() >= 2), "{error:?}");
    let message = error.to_string();
    assert!(
        message.contains("/nowhere/a") && message.contains("; ") && message.contains("/nowhere/b"),
        "{message}"
    );
    assert_eq!(StartError::from(std::io::Error::other("no threads")).to_string(), "no threads");
}

/// Returns a configuration with a cluster whose server cannot be reached, and with this zone.
#[cfg(feature = "cluster")]
fn clustered(folder: &Path, node: &str, zone: &str) -> Model {
    let secret = folder.join("secret");
    let secret = secret.display();
    model(&format!(
        "cluster shop {{ server redis://127.0.0.1:1; secret_file {secret}; node {node}; receipt_timeout 0; }}
         proxy_cache_path /dev/null/{zone} keys_zone={zone}:1m;
         server {{ listen 127.0.0.1:1; location / {{ proxy_pass http://127.0.0.1:1; proxy_cache {zone}; }} }}"
    ))
}

#[cfg(feature = "cluster")]
#[test]
fn reload_that_fails_after_its_preparation_leaves_the_cluster_unchanged() {
    let folder = std::env::temp_dir().join(format!("myriad-site-cluster-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::write(folder.join("secret"), "a secret of thirty-two characters").expect("written");
    std::fs::set_permissions(folder.join("secret"), private).expect("permissions");
    let site = RunningSite::start(&clustered(&folder, "web1", "a"), inherited()).expect("a site");
    let zone = |name: &str| site.inner.lock().runtime.zones.get(name).map(Arc::clone).expect("a zone");
    let publisher = zone("a").publisher.lock().clone().expect("a publisher");
    let node = || publisher.status().map(|status| status.node);
    assert_eq!(node().as_deref(), Some("web1"));

    // The workers cannot wait for connections at this file.
    let file = std::fs::File::open("/dev/null").expect("a file").into();
    let failing = InheritedResources { listeners: vec![("127.0.0.1:1".to_owned(), file)], ..inherited() };
    let result = site.reload(&clustered(&folder, "web2", "b"), failing, Box::new(|| ()));
    assert!(matches!(&result, Err(StartError::System(_))), "{result:?}");
    assert_eq!(node().as_deref(), Some("web1"), "the node continues");
    assert!(zone("a").publisher.lock().is_some(), "its zone belongs to the cluster");

    site.reload(&clustered(&folder, "web2", "b"), inherited(), Box::new(|| ())).expect("a reload");
    assert_eq!(node().as_deref(), Some("web2"));
    assert!(zone("b").publisher.lock().is_some());
    site.quit();
    site.wait();
    std::fs::remove_dir_all(&folder).expect("removed");
}
