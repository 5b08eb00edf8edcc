//! Tests of properties that all plans must have: for machines of 1 to 256 GB and 1 to 128 cores, small and large PHP
//! workers, each database and each MPM.

use myriad_tools::tune::{
    ApacheSetup, ConfigFile, DatabaseKind, DatabaseServer, InstalledPhp, MIB, MachineFacts, Mpm,
    ObjectCacheServer, PhpWorkerSize, TuningPlan, WorkerSizeSource, parse_amount, plan,
};

/// Memory of machines, in MB. The kernel reserves a part, so a machine of 1 GB has less.
const MEMORIES: [u64; 14] =
    [965, 1024, 1536, 1980, 2048, 3072, 3990, 4096, 8192, 16384, 32768, 65536, 131_072, 262_144];
const CORES: [u32; 8] = [1, 2, 3, 4, 8, 16, 64, 128];
const WORKERS: [u64; 6] = [12, 30, 64, 80, 110, 160];
const DATABASES: [&str; 7] = [
    "",
    "mariadb-10.3.1",
    "mariadb-10.5.9",
    "mariadb-10.11.6",
    "mysql-5.7.44",
    "mysql-8.0.36",
    "mysql-8.4.0",
];

fn facts(memory_mb: u64, cores: u32, worker_mb: u64, database: &str) -> MachineFacts {
    MachineFacts {
        memory: memory_mb * MIB,
        cores,
        body: 64 * MIB,
        php: Some(InstalledPhp {
            version: (8, 2),
            pools: vec!["www".into()],
            with_status: Vec::new(),
            apcu: false,
        }),
        worker: PhpWorkerSize { bytes: worker_mb * MIB, source: WorkerSizeSource::Measured(3) },
        site_files: Some(958),
        database: DatabaseServer::parse(database),
        excludes_database: false,
        object_cache: None,
        apache: None,
        kernel: Vec::new(),
    }
}

/// Calls `each` with the facts and the plan of every machine.
fn sweep(mut each: impl FnMut(&MachineFacts, &TuningPlan)) {
    for memory in MEMORIES {
        for cores in CORES {
            for worker in WORKERS {
                for database in DATABASES {
                    for variant in 0..6_u32 {
                        let mut facts = facts(memory, cores, worker, database);
                        vary(&mut facts, variant);
                        each(&facts, &plan(&facts));
                    }
                }
            }
        }
    }
}

fn vary(facts: &mut MachineFacts, variant: u32) {
    let apache = |mpm, php| Some(ApacheSetup { mpm, php });
    match variant {
        1 => {
            facts.object_cache = Some(ObjectCacheServer {
                service: "redis-server".into(),
                configuration: "/etc/redis/redis.conf".into(),
                command: "/usr/bin/redis-server /etc/redis/redis.conf".into(),
            });
            facts.php.as_mut().expect("php").apcu = true;
        }
        2 => facts.apache = apache(Mpm::Prefork, true),
        3 => (facts.apache, facts.site_files) = (apache(Mpm::Event, false), Some(40_000)),
        4 => (facts.apache, facts.body) = (apache(Mpm::Prefork, false), 1024 * MIB),
        5 => {
            let pools = (0..7).map(|index| format!("site{index}")).collect();
            facts.php.as_mut().expect("php").pools = pools;
            facts.site_files = None;
            facts.database.as_mut().map(|database| database.data = Some(900 * MIB)).unwrap_or_default();
        }
        _ => {}
    }
}

fn number(file: &ConfigFile, section: &str, name: &str) -> u64 {
    let value = file.value(section, name).unwrap_or_else(|| panic!("{} has no {name}", file.path));
    parse_amount(value).unwrap_or_else(|| panic!("{name} = {value}"))
}

fn pool_file(plan: &TuningPlan) -> &ConfigFile {
    plan.file("/etc/php/8.2/fpm/pool.d/zz-myriad.conf").expect("pools")
}

fn ini(plan: &TuningPlan) -> &ConfigFile {
    plan.file("/etc/php/8.2/fpm/conf.d/99-myriad.ini").expect("php.ini")
}

/// Returns the memory that the settings of a plan permit, in bytes, computed independently of the budget.
fn taken(facts: &MachineFacts, plan: &TuningPlan) -> u64 {
    let opcache = number(ini(plan), "", "opcache.memory_consumption") * MIB;
    let apcu = if facts.php.as_ref().is_some_and(|php| php.apcu) {
        number(ini(plan), "", "apc.shm_size")
    } else {
        0
    };
    let children: u64 = match facts.php.as_ref().expect("php").pools.as_slice() {
        [pool] => number(pool_file(plan), pool, "pm.max_children"),
        _ => number(pool_file(plan), "global", "process.max"),
    };
    let jit = number(ini(plan), "", "opcache.jit_buffer_size");
    let mut sum = facts.memory / 8 + opcache + jit + apcu + children * facts.worker.bytes;
    if let Some(apache) = facts.apache.filter(|apache| apache.php) {
        let file = plan.file("/etc/apache2/conf-enabled/zz-myriad.conf").expect("Apache");
        assert_eq!(apache.mpm, Mpm::Prefork);
        sum += number(file, "mpm_prefork_module", "MaxRequestWorkers") * facts.worker.bytes;
    }
    if let Some((file, group)) = database_file(facts, plan) {
        sum += number(file, group, "innodb_buffer_pool_size") + 80 * MIB + children * 2 * MIB;
    }
    if let Some(file) = plan.file("/etc/redis/99-myriad.conf") {
        sum += number(file, "", "maxmemory");
    }
    sum
}

fn database_file<'p>(facts: &MachineFacts, plan: &'p TuningPlan) -> Option<(&'p ConfigFile, &'static str)> {
    Some(match facts.database?.kind {
        DatabaseKind::MariaDb => {
            (plan.file("/etc/mysql/mariadb.conf.d/99-myriad.cnf").expect("file"), "mariadb")
        }
        DatabaseKind::MySql => (plan.file("/etc/mysql/mysql.conf.d/zz-myriad.cnf").expect("file"), "mysqld"),
    })
}

#[test]
fn everything_fits_into_three_quarters_of_the_memory() {
    let mut too_small = 0;
    sweep(|facts, plan| {
        let budget = &plan.budget;
        assert_eq!(budget.limit, facts.memory / 4 * 3);
        if !budget.fits() {
            // A single PHP child is too large for the machine, which the plan must report.
            assert!(facts.memory < 2048 * MIB && budget.children == 1, "{facts:?}\n{budget:?}");
            assert!(plan.remarks.iter().any(|remark| remark.contains("not enough")), "{:?}", plan.remarks);
            too_small += 1;
            return;
        }
        assert!(taken(facts, plan) <= budget.limit, "{facts:?}\n{budget:?}");
    });
    let (mut all, mut usual) = (0, 0);
    sweep(|facts, plan| {
        all += 1;
        // With workers up to the assumed size, and no other large program than php-fpm, every machine is large enough.
        if facts.worker.bytes <= 80 * MIB && facts.apache.is_none() && facts.object_cache.is_none() {
            usual += 1;
            assert!(plan.budget.fits(), "{facts:?}\n{:?}", plan.budget);
        }
    });
    assert!(usual > 0 && too_small * 20 < all, "{too_small} of {all} do not fit");
}

#[test]
fn memory_that_is_there_is_used() {
    for (memory, cores, least) in
        [(965, 1, 2), (2048, 2, 9), (4096, 2, 16), (8192, 4, 32), (65536, 16, 128), (262_144, 64, 512)]
    {
        let plan = plan(&facts(memory, cores, 64, "mariadb-10.11.6"));
        let children = number(pool_file(&plan), "www", "pm.max_children");
        assert!(children >= least, "{memory} MB, {cores} cores: {children}\n{:#?}", plan.budget);
        assert!(children <= u64::from(cores) * 8);
    }
}

#[test]
fn servers_of_a_pool_stand_in_the_order_that_php_fpm_demands() {
    sweep(|facts, plan| {
        let file = pool_file(plan);
        for pool in &facts.php.as_ref().expect("php").pools {
            let value = |name: &str| number(file, pool, name);
            let (least, start) = (value("pm.min_spare_servers"), value("pm.start_servers"));
            let (most, children) = (value("pm.max_spare_servers"), value("pm.max_children"));
            assert!(
                1 <= least && least <= start && start <= most && most <= children,
                "{least} {start} {most} {children}"
            );
            assert!(children <= u64::from(plan.budget.children) && value("pm.max_requests") > 0);
        }
    });
}

#[test]
fn post_max_size_is_at_least_a_body_size_that_is_no_multiple_of_its_step() {
    for (body, post) in [(1, 8), (65, 68), (66, 68), (68, 68)] {
        let mut facts = facts(4096, 4, 64, "");
        facts.body = body * MIB;
        let plan = plan(&facts);
        assert_eq!(number(ini(&plan), "", "post_max_size"), post * MIB, "{body} MB");
        assert!(!plan.remarks.iter().any(|remark| remark.contains("client_max_body_size")), "{body} MB");
    }
}

#[test]
fn reason_for_the_redo_log_names_its_minimum() {
    for (database, name, least) in [
        ("mysql-8.0.36", "innodb_redo_log_capacity", "at least 96 MB"),
        ("mariadb-10.11.6", "innodb_log_file_size", "at least 48 MB"),
    ] {
        let facts = facts(1024, 1, 64, database);
        let plan = plan(&facts);
        let (file, _) = database_file(&facts, &plan).expect("a database");
        let setting = file.settings.iter().find(|setting| setting.name == name).expect(name);
        assert!(setting.why.contains(least), "{}", setting.why);
    }
}

#[test]
fn sizes_of_uploads_agree() {
    sweep(|facts, plan| {
        let value = |name: &str| number(ini(plan), "", name);
        let (upload, post, limit) =
            (value("upload_max_filesize"), value("post_max_size"), value("memory_limit"));
        assert!(0 < upload && upload < post && post < limit, "{upload} {post} {limit}");
        assert!(post <= facts.body && limit <= facts.memory / 2);
        // PHP accepts all requests that Myriad admits, or a remark names the setting to lower.
        assert!(
            post == facts.body || plan.remarks.iter().any(|remark| remark.contains("client_max_body_size"))
        );
    });
}

#[test]
fn opcache_has_room_and_strings_are_a_part_of_it() {
    sweep(|facts, plan| {
        let value = |name: &str| number(ini(plan), "", name);
        let (memory, strings) =
            (value("opcache.memory_consumption"), value("opcache.interned_strings_buffer"));
        assert!(memory >= 64 && (8..=64).contains(&strings) && strings * 2 <= memory, "{memory} {strings}");
        assert!(memory * MIB <= (facts.memory / 12).max(64 * MIB));
        let files = value("opcache.max_accelerated_files");
        assert!(files > u64::from(facts.site_files.unwrap_or(0)) && (200..=1_000_000).contains(&files));
    });
}

#[test]
fn database_plan_has_only_settings_supported_by_its_version() {
    sweep(|facts, plan| {
        let (Some(database), Some((file, group))) = (facts.database, database_file(facts, plan)) else {
            return;
        };
        let pool = number(file, group, "innodb_buffer_pool_size");
        let instances =
            file.value(group, "innodb_buffer_pool_instances").map_or(1, |text| text.parse().expect("number"));
        let chunk = 128 * MIB * instances;
        assert!(
            pool.is_multiple_of(chunk) || pool < 128 * MIB && facts.memory < 1536 * MIB,
            "{pool} {chunk}"
        );
        let is_mariadb = database.kind == DatabaseKind::MariaDb;
        let query_cache = file.value(group, "query_cache_type").is_some();
        assert_eq!(query_cache, is_mariadb || database.version < (8, 0, 0), "{}", database.name());
        assert!(instances == 1 || !is_mariadb || database.version < (10, 5, 0));
        let capacity = file.value(group, "innodb_redo_log_capacity").is_some();
        assert_eq!(capacity, !is_mariadb && database.version >= (8, 0, 30));
        assert_ne!(capacity, file.value(group, "innodb_log_file_size").is_some());
        assert_eq!(file.value(group, "aria_pagecache_buffer_size").is_some(), is_mariadb);
        assert_eq!(number(file, group, "tmp_table_size"), number(file, group, "max_heap_table_size"));
        let mut workers = plan.budget.children;
        if facts.apache.is_some_and(|apache| apache.php) {
            workers += plan.budget.apache_workers;
        }
        assert!(number(file, group, "max_connections") > u64::from(workers));
    });
}

#[test]
fn apache_has_workers_in_multiples_of_its_threads() {
    sweep(|facts, plan| {
        let Some(apache) = facts.apache else { return };
        let file = plan.file("/etc/apache2/conf-enabled/zz-myriad.conf").expect("Apache");
        let section = if apache.mpm == Mpm::Prefork { "mpm_prefork_module" } else { "mpm_event_module" };
        let value = |name: &str| number(file, section, name);
        let (workers, limit) = (value("MaxRequestWorkers"), value("ServerLimit"));
        if apache.mpm == Mpm::Prefork {
            assert!(workers >= 1 && workers == limit);
            assert!(value("MinSpareServers") < value("MaxSpareServers") && value("StartServers") <= workers);
        } else {
            let threads = value("ThreadsPerChild");
            assert!(
                workers.is_multiple_of(threads)
                    && workers <= limit * threads
                    && value("StartServers") <= limit
            );
            assert!(value("MaxSpareThreads") >= value("MinSpareThreads") + threads);
        }
    });
}

#[test]
fn kernel_values_are_never_lowered() {
    let mut facts = facts(2048, 2, 64, "");
    facts.kernel = vec![("net.core.somaxconn".into(), 65535), ("fs.file-max".into(), u64::MAX / 2)];
    let plan = plan(&facts);
    let file = plan.file("/etc/sysctl.d/99-myriad.conf").expect("sysctl");
    assert_eq!(file.value("", "net.core.somaxconn"), Some("65535"));
    assert_eq!(number(file, "", "fs.file-max"), u64::MAX / 2);
    assert_eq!(number(file, "", "net.ipv4.tcp_max_syn_backlog"), 4096);
    let limits = plan.file("/etc/security/limits.d/99-myriad.conf").expect("limits");
    assert!(number(limits, "", "* soft nofile") <= number(limits, "", "* hard nofile"));
}

#[test]
fn status_path_of_a_pool_s_own_is_left() {
    let mut facts = facts(4096, 2, 64, "");
    let path =
        |facts: &MachineFacts| pool_file(&plan(facts)).value("www", "pm.status_path").map(str::to_owned);
    assert_eq!(path(&facts).as_deref(), Some("/fpm-status"));
    facts.php.as_mut().expect("php").with_status = vec!["www".into()];
    assert_eq!(path(&facts), None);
}

#[test]
fn each_planned_setting_has_one_line_reason() {
    sweep(|_, plan| {
        for setting in plan.files.iter().flat_map(|file| &file.settings) {
            assert!(!setting.why.is_empty() || setting.name == "ExecStart", "{setting:?}");
            assert!(!setting.why.contains('\n') && !setting.value.contains('\n'));
        }
    });
}

#[test]
fn reason_and_remark_of_a_worker_size_name_its_origin() {
    for (source, reason, remark) in [
        (WorkerSizeSource::Option, "as set by --worker", None),
        (WorkerSizeSource::Measured(1), "the size of the running child, plus a fifth", None),
        (WorkerSizeSource::Measured(3), "the largest of 3 running children", None),
        (WorkerSizeSource::Assumed, "no running child could be measured", Some("while the site has traffic")),
        (WorkerSizeSource::AssumedForRoot, "--root", Some("PHP workers of another system")),
    ] {
        let mut facts = facts(4096, 2, 60, "");
        facts.worker.source = source;
        let plan = plan(&facts);
        let children = pool_file(&plan).settings.iter().find(|setting| setting.name == "pm.max_children");
        let why = &children.expect("a limit of children").why;
        assert!(why.contains(reason), "{source:?}: {why}");
        let of_workers: Vec<_> = plan.remarks.iter().filter(|remark| remark.contains("PHP worker")).collect();
        assert_eq!(of_workers.len(), usize::from(remark.is_some()), "{of_workers:?}");
        assert!(remark.is_none_or(|remark| of_workers[0].contains(remark)), "{of_workers:?}");
    }
}

#[test]
fn database_that_the_user_excludes_is_not_reported_as_missing() {
    let mut facts = facts(4096, 2, 60, "");
    let is_reported = |facts: &MachineFacts| plan(facts).remarks.iter().any(|text| text.contains("database"));
    assert!(is_reported(&facts));
    facts.excludes_database = true;
    assert!(!is_reported(&facts));
}
