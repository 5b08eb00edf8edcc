use std::path::Path;

use myriad_encode::PoolOptions;
use myriad_store::page::testing::PageSpec;
use myriad_store::{Admission, BodyWriter, KeyRef};

use super::*;
use crate::testing::compiled;

const MIB: u64 = 1 << 20;
const ZONE: &str = "events {} http { fastcgi_cache_path /nowhere/cache keys_zone=z:1m memory=64m; \
                    server { listen 127.0.0.1:8080; location / { fastcgi_pass 127.0.0.1:1; fastcgi_cache z; fastcgi_cache_key k; } } }";

/// Returns a site with a zone of 64 MiB.
fn site() -> Runtime {
    compiled(Path::new("/nowhere"), ZONE)
}

/// Creates a watcher that reads the memory in use from the file `status`.
fn watch(runtime: &Runtime, status: &str) -> MemoryWatcher {
    let subject = WatchedResources {
        pressure: Arc::clone(&runtime.pressure),
        files: Arc::default(),
        encoder: Arc::new(CompressionPool::start(&PoolOptions::default()).expect("threads")),
        disks: DiskPool::without_threads(),
        workers: Vec::new(),
    };
    MemoryWatcher::new(subject, ResidentMemory::open_at(Path::new(status)).expect("opened"))
}

/// Returns a page that is still being received and of which `mib` mebibytes have arrived.
fn arriving(zone: &PageStore, key: &str, mib: u64) -> BodyWriter<PageMeta> {
    let writer = zone.fetch_unshared(KeyRef::new(key.as_bytes()), 1000);
    let mut writer =
        writer.admit(Admission { head: Arc::new(PageSpec::default().meta()), selection: None, length: None });
    for _ in 0..mib {
        writer.push(vec![0; MIB as usize].into());
    }
    writer
}

#[test]
fn bodies_on_their_way_do_not_keep_the_last_stage_away() {
    let runtime = site();
    let mut watch = watch(&runtime, "/proc/self/status");
    let bodies: Vec<_> =
        (0..8).map(|number| arriving(&runtime.zones["z"].zone, &format!("/{number}"), 3)).collect();
    let mut look = |resident: u64| {
        let (caps, limit) = (zone_caps(&runtime), Some(200 * MIB));
        assert!(caps[0].1.reclaimable() > resident / SPARE_DIVISOR, "{:?}", caps[0].1);
        let stage = watch.stage(&caps, resident, limit);
        watch.bound_zones(&caps, stage, resident, limit);
        stage
    };
    let stages: Vec<_> = (0..5).map(|_| look(300 * MIB)).collect();
    assert_eq!(stages[..2], [PressureStage::Shrinking, PressureStage::Closing]);
    assert_eq!(stages[2..], [PressureStage::Refusing; 3]);
    drop(bodies);
}

#[test]
fn pages_that_zones_can_give_up_are_waited_for() {
    let runtime = site();
    let mut watch = watch(&runtime, "/proc/self/status");
    let zone = &runtime.zones["z"].zone;
    for number in 0..50 {
        let completion = myriad_store::Completion {
            meta: PageSpec::default().meta(),
            now: 1000,
            fresh_until: 2000,
            alternatives: [const { None }; myriad_store::ALTERNATIVES],
        };
        let _ = arriving(zone, &format!("/{number}"), 1).complete(completion);
    }
    let mut stages = Vec::new();
    for _ in 0..4 {
        let (caps, limit) = (zone_caps(&runtime), Some(110 * MIB));
        let stage = watch.stage(&caps, 120 * MIB, limit);
        assert!(watch.bound_zones(&caps, stage, 120 * MIB, limit) > 0);
        stages.push(stage);
    }
    assert_eq!(
        stages,
        [PressureStage::Shrinking, PressureStage::Closing, PressureStage::Closing, PressureStage::Closing]
    );
}

#[test]
fn stage_is_let_go_of_where_no_figure_comes_any_more() {
    let runtime = site();
    // This file contains no memory figure.
    let mut watch = watch(&runtime, "/dev/null");
    watch.ladder.observe(9, 1, false);
    runtime.pressure.note(Some(1), PressureStage::Refusing);
    let zone = &runtime.zones["z"].zone;
    zone.set_pressure_limit(MIB as usize);
    for _ in 1..MAX_FAILED_MEASUREMENTS {
        watch.check_once(&runtime, Some(1));
    }
    assert_eq!(
        (runtime.pressure.stage(), zone.cap() as u64),
        (PressureStage::Refusing, MIB),
        "single failed measurements do not change the stage"
    );
    watch.check_once(&runtime, Some(1));
    assert_eq!((runtime.pressure.stage(), zone.cap() as u64), (PressureStage::Normal, 64 * MIB));
    assert_eq!(watch.ladder.stage(), PressureStage::Normal);
}
