//! WordPress object cache in Redis, memcached and APCu.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use myriad_tests::{
    Answer, Place, Request, Server, Signal, WordPress, binary, signal, wait_for, wait_patiently_for,
    workspace,
};

/// Plugin that reports the number of queries of a page, and changes options for the test.
const FIGURES: &str = "<?php
    ob_start(function ($page) {
        header('X-Queries: ' . get_num_queries());
        if (class_exists('Myriad_Object_Cache_Connection', false)) {
            $said = new ReflectionMethod('Myriad_Object_Cache_Connection', 'said');
            $said->setAccessible(true);
            header('X-Server: ' . $said->invoke(null)['address']);
        }
        return $page;
    });
    add_action('init', function () {
        if (isset($_GET['race'])) {
            for ($round = 1; $round <= 40; $round++) update_option('race_' . (int) $_GET['race'], $round);
            exit('raced');
        }
        if (isset($_GET['options'])) {
            $all = [];
            foreach (range(1, 8) as $number) $all[] = get_option('race_' . $number);
            exit(implode(' ', $all));
        }
    });";

/// Server that stores values; killed on drop.
struct Keeper {
    child: Child,
    address: String,
}

impl Keeper {
    fn redis(place: &Place) -> Self {
        let socket = place.path("redis.sock");
        let mut command = Command::new("redis-server");
        // Its values survive a restart. Without fsync, because a slow disk would stop the server for longer than the
        // timeout of the object cache.
        command.args([
            "--port",
            "0",
            "--save",
            "",
            "--appendonly",
            "yes",
            "--appendfsync",
            "no",
            "--unixsocketperm",
            "777",
            "--unixsocket",
        ]);
        command.arg(&socket).arg("--dir").arg(place.folder());
        Self::start(command, "redis", &socket)
    }

    fn memcached(place: &Place) -> Self {
        let socket = place.path("memcached.sock");
        let mut command = Command::new("memcached");
        command.args(["-u", "root", "-a", "0777", "-s"]).arg(&socket);
        Self::start(command, "memcached", &socket)
    }

    fn start(mut command: Command, scheme: &str, socket: &Path) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().expect("the server, of the packages of scripts/packages");
        wait_for(scheme, || UnixStream::connect(socket).is_ok());
        Self { child, address: format!("{scheme}:{}", socket.display()) }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        signal(self.child.id(), Signal::KILL);
        let _ = self.child.wait();
    }
}

/// Runs `myriad wordpress` on the site with these arguments.
fn wordpress(site: &WordPress, arguments: &[&str]) {
    let output =
        Command::new(binary()).arg("wordpress").args(arguments).arg("--root").arg(site.root()).output();
    let output = output.expect("myriad starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn drop_in(site: &WordPress) -> PathBuf {
    site.root().join("wp-content/object-cache.php")
}

/// Starts a site that reports its figures, and a server in front of it.
fn site() -> (WordPress, Server) {
    let site = WordPress::alone();
    fs::write(site.root().join("wp-content/mu-plugins/figures.php"), FIGURES).expect("a plugin");
    let server = site.serve();
    (site, server)
}

/// Returns a page as PHP generates it now.
fn made(server: &Server, target: &str) -> Answer {
    made_for(server, &format!("127.0.0.1:{}", server.port), target)
}

fn made_for(server: &Server, host: &str, target: &str) -> Answer {
    let answer = server.fetch(&Request::get(target).host(host).field("Cookie", "NO_CACHE=1"));
    let said = || format!("{target}: {}\n{}", answer.text(), server.read("error.log"));
    assert_eq!((answer.status, answer.cache()), (200, "BYPASS"), "{}", said());
    answer
}

fn queries(answer: &Answer) -> u32 {
    answer.field("X-Queries").expect("the figures").parse().expect("a number")
}

#[test]
fn cached_pages_are_identical_without_queries_and_removal_leaves_no_trace() {
    let (site, server) = site();
    let place = Place::new();
    let (redis, memcached) = (Keeper::redis(&place), Keeper::memcached(&place));
    let pages = ["/", "/page/2/", "/category/rivers/", "/about/", "/author/admin/"];
    let host = format!("127.0.0.1:{}", server.port);
    let entitle = |title: &str| {
        let id = "get_posts(['numberposts' => 1])[0]->ID";
        site.run_php(&host, &format!("wp_update_post(['ID' => {id}, 'post_title' => '{title}']);"));
        assert!(made(&server, "/").text().contains(title), "{title}");
    };
    entitle("As it was");
    let before = pages.map(|page| made(&server, page));
    let content = site.root().join("wp-content");
    let files = || {
        let mut names: Vec<_> =
            fs::read_dir(&content).expect("folder").map(|file| file.expect("file").file_name()).collect();
        names.sort();
        names
    };
    let files_before = files();
    for address in [redis.address.as_str(), memcached.address.as_str(), "apcu"] {
        wordpress(&site, &["--install-object-cache", address]);
        // OPcache checks files every two seconds: until then php-fpm uses the previous server.
        let server_of =
            |answer: &Answer| answer.field("X-Server").map(|said| said.trim_end_matches(':').to_owned());
        wait_for("the new address", || server_of(&made(&server, "/")).as_deref() == Some(address));
        for page in pages {
            made(&server, page);
        }
        for (page, before) in pages.iter().zip(&before) {
            // A concurrent process may have invalidated values: from the second request on they are stored.
            wait_for("a page without queries", || queries(&made(&server, page)) <= 1);
            assert!(queries(before) >= 8, "{page}: {}", queries(before));
            assert!(made(&server, page).content() == before.content(), "{address} {page}");
        }
        // Changes are visible immediately.
        entitle(&format!("A title for {}", address.split(':').next().unwrap_or_default()));
        entitle("As it was");
        wordpress(&site, &["--remove-object-cache"]);
        assert_eq!(files(), files_before);
        assert!(queries(&made(&server, "/")) >= 8);
    }
}

/// Runs a script of this folder on a site with each server, and once without igbinary; returns its outputs with names.
fn run_with_each_server(
    site: &WordPress,
    host: &str,
    script: &str,
    arguments: &[&str],
) -> Vec<(String, String)> {
    let place = Place::new();
    let (redis, memcached) = (Keeper::redis(&place), Keeper::memcached(&place));
    let servers = [
        (redis.address.as_str(), "igbinary"),
        (redis.address.as_str(), "serialize"),
        (memcached.address.as_str(), "igbinary"),
        ("apcu", "igbinary"),
    ];
    let printed = servers.map(|(address, writer)| {
        wordpress(site, &["--install-object-cache", address]);
        let mut command = Command::new("php");
        command.args(["-d", "apc.enable_cli=1"]).env("SITE_HOST", host);
        if writer == "serialize" {
            command.args(["-d", "disable_functions=igbinary_serialize,igbinary_unserialize"]);
        }
        command
            .arg(workspace().join("tests/tests/object_cache").join(script))
            .arg(site.root())
            .args(arguments);
        let output = command.output().expect("php starts");
        let [printed, complaints] =
            [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        (format!("{address} {writer}"), printed + &complaints)
    });
    wordpress(site, &["--remove-object-cache"]);
    printed.into()
}

#[test]
fn all_cache_functions_behave_as_wordpress_documents() {
    for (server, printed) in run_with_each_server(&WordPress::alone(), "localhost", "api.php", &[]) {
        assert!(printed.ends_with(" checks") && !printed.contains('\n'), "{server}: {printed}");
    }
}

/// Random calls with fixed seeds, on a single site and on a site of a network.
#[test]
fn results_are_those_of_wordpress_s_own_object_cache() {
    let run = |site: &WordPress, host| {
        for (server, printed) in run_with_each_server(site, host, "differential.php", &["1", "250"]) {
            assert_eq!(printed, "20000 calls", "{host}, {server}");
        }
    };
    run(&WordPress::alone(), "localhost");
    let network = WordPress::alone();
    network.make_network("network.test");
    run(&network, "network.test");
}

#[test]
fn site_survives_server_outage_and_trusts_no_old_data_after_recovery() {
    let (site, server) = site();
    let place = Place::new();
    let redis = Keeper::redis(&place);
    wordpress(&site, &["--install-object-cache", &redis.address]);
    wait_for("a page without queries", || queries(&made(&server, "/")) <= 1);
    let before = made(&server, "/").content();
    drop(redis);
    assert!(made(&server, "/").content() == before && queries(&made(&server, "/")) >= 8);
    for _ in 0..20 {
        made(&server, "/");
    }
    let said = site.php_log();
    assert_eq!(said.matches("Myriad Object Cache: redis:").count(), 1, "{said}");
    let host = format!("127.0.0.1:{}", server.port);
    site.run_php(&host, "update_option('blogname', 'Changed meanwhile');");
    assert!(made(&server, "/").text().contains("Changed meanwhile"));
    let again = Keeper::redis(&place);
    // A page is always in progress when the server may be used again.
    let is_back = AtomicBool::new(false);
    let patience = Duration::from_mins(1);
    let deadline = Instant::now() + patience;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_back.load(Ordering::Relaxed) && Instant::now() < deadline {
                made(&server, "/");
            }
        });
        wait_patiently_for("the cache to be used again", patience, || {
            is_back.store(queries(&made(&server, "/")) <= 1, Ordering::Relaxed);
            is_back.load(Ordering::Relaxed)
        });
    });
    assert!(made(&server, "/").text().contains("Changed meanwhile"));
    // A server that hangs must have the same result.
    signal(again.child.id(), Signal::STOP);
    assert!(made(&server, "/").text().contains("Changed meanwhile"));
    assert!(made(&server, "/").text().contains("Changed meanwhile"));
    signal(again.child.id(), Signal::CONT);
}

#[test]
fn concurrently_changed_options_are_all_stored() {
    let (site, server) = site();
    let place = Place::new();
    let (redis, memcached) = (Keeper::redis(&place), Keeper::memcached(&place));
    let host = format!("127.0.0.1:{}", server.port);
    for address in [redis.address.as_str(), memcached.address.as_str(), "apcu"] {
        site.run_php(&host, "foreach (range(1, 8) as $number) update_option('race_' . $number, 0);");
        wordpress(&site, &["--install-object-cache", address]);
        made(&server, "/");
        std::thread::scope(|scope| {
            for number in 1..=8 {
                let server = &server;
                scope.spawn(move || assert_eq!(made(server, &format!("/?race={number}")).text(), "raced"));
            }
        });
        assert_eq!(made(&server, "/?options").text(), "40 40 40 40 40 40 40 40", "{address}");
        wordpress(&site, &["--remove-object-cache"]);
        assert_eq!(made(&server, "/?options").text(), "40 40 40 40 40 40 40 40", "the database, {address}");
    }
}

/// The lock of a value in APCu expires while its process waits for a processor, and another process changes the value.
#[test]
fn change_with_an_expired_lock_is_repeated() {
    let classes = workspace().join("wordpress/object-cache/myriad-object-cache").display().to_string();
    let script = format!(
        "define('ABSPATH', '/'); require '{classes}/interface-myriad-object-cache-store.php'; \
         require '{classes}/class-myriad-object-cache-apcu.php'; apcu_store('k', 'old', 60); $calls = 0; \
         (new Myriad_Object_Cache_APCu())->change('k', 60, function ($value) use (&$calls) {{ \
             if (0 === $calls++) {{ apcu_delete('k:lock'); apcu_store('k', 'other', 60); }} \
             return $value . ' changed'; }}); \
         echo apcu_fetch('k'), ', ', $calls, ' calls, ', apcu_exists('k:lock') ? 'locked' : 'free';"
    );
    let output = Command::new("php").args(["-d", "apc.enable_cli=1", "-r", &script]).output();
    assert_eq!(String::from_utf8_lossy(&output.expect("php starts").stdout), "other changed, 2 calls, free");
}

/// Sites of a network, and two sites with one server.
#[test]
fn sites_see_nothing_of_each_other() {
    let (site, server) = site();
    let place = Place::new();
    let redis = Keeper::redis(&place);
    wordpress(&site, &["--install-object-cache", &redis.address]);
    let host = "network.test";
    site.make_network(host);
    let code = "$id = wp_insert_site(['domain' => '@HOST@', 'path' => '/second/', 'title' => 'The second site', 'user_id' => 1]); \
                wp_cache_set('k', 'of the first', 'g'); wp_cache_set('u', 'of all', 'users'); \
                switch_to_blog($id); $before = wp_cache_get('k', 'g'); wp_cache_set('k', 'of the second', 'g'); \
                echo $id, var_export($before, true), wp_cache_get('u', 'users'), get_option('blogname'); \
                restore_current_blog(); echo wp_cache_get('k', 'g'), wp_cache_get('k', 'g', true), get_option('blogname');";
    let said = site.run_php(host, &code.replace("@HOST@", host));
    assert!(said.starts_with("2falseof allThe second site"), "{said}");
    assert!(said.contains("of the firstof the first") && !said.ends_with("The second site"), "{said}");
    for _ in 0..2 {
        assert!(made_for(&server, host, "/second/").text().contains("<title>The second site"));
        assert!(!made_for(&server, host, "/").text().contains("<title>The second site"));
    }
    let other = WordPress::alone();
    wordpress(&other, &["--install-object-cache", &redis.address]);
    let said = other.run_php("localhost", "echo var_export(wp_cache_get('k', 'g'), true); wp_cache_flush();");
    assert_eq!(said, "false");
    wordpress(&other, &["--remove-object-cache"]);
    assert_eq!(site.run_php(host, "echo wp_cache_get('k', 'g');"), "of the first");
    let mode = fs::metadata(site.root().join("wp-content/myriad-object-cache/connection.php"))
        .expect("file")
        .permissions();
    assert_eq!(mode.mode() & 0o007, 0, "other users cannot read the address of the server");
    assert!(drop_in(&site).is_file());
}

/// Plugin that caches a text of its table in four ways.
const VALUES: &str = r#"<?php
function case_text() {
    global $wpdb;
    return $wpdb->get_var("SELECT text FROM {$wpdb->prefix}case_texts");
}
add_shortcode('value', function ($words) {
    switch ($words[0]) {
        case 'group':
            $text = wp_cache_get('text', 'case');
            if ($text === false) wp_cache_set('text', $text = case_text(), 'case');
            return $text;
        case 'transient':
            $text = get_transient('case_text');
            if ($text === false) set_transient('case_text', $text = case_text(), 3600);
            return $text;
        case 'late':
            $text = wp_cache_get('late', 'case');
            if ($text === false) {
                $text = case_text();
                add_action('shutdown', function () use ($text) { wp_cache_set('late', $text, 'case'); });
            }
            return $text;
        case 'unknown':
            return wp_cache_get('unknown', 'case');
        case 'objects':
            return 'objects ' . implode(',', get_objects_in_term((int) get_option('default_category'), 'category')) . '.';
    }
});
"#;

const PREPARE_VALUES: &str = "global $wpdb; $wpdb->query(\"CREATE TABLE {$wpdb->prefix}case_texts (text TEXT)\"); \
    $wpdb->query(\"INSERT INTO {$wpdb->prefix}case_texts VALUES ('first')\"); \
    foreach (['group', 'transient', 'late', 'unknown', 'objects'] as $name) foreach (['one', 'two'] as $number) \
    wp_insert_post(['post_type' => 'page', 'post_status' => 'publish', 'post_title' => 'Value', 'post_name' => \"$name-$number\", \
    'post_content' => \"[value $name]\"]); wp_cache_set('unknown', 'x', 'case');";

#[test]
fn pages_depend_on_the_data_from_which_their_cached_values_were_computed() {
    let site = WordPress::alone();
    fs::write(site.root().join("wp-content/mu-plugins/values.php"), VALUES).expect("a plugin");
    let place = Place::new();
    let redis = Keeper::redis(&place);
    wordpress(&site, &["--install-object-cache", redis.address.as_str()]);
    let server = site.serve_with_plugin();
    let host = format!("127.0.0.1:{}", server.port);
    site.run_php(&host, PREPARE_VALUES);
    let page = |target: &str| server.fetch(&Request::get(&format!("/{target}/")).host(&host));
    let store = |target: &str| {
        page(target);
        assert_eq!(page(target).cache(), "HIT", "{target}");
    };
    for name in ["group", "transient", "late"] {
        // The second page reads the value that the first one has stored.
        let targets = [format!("{name}-one"), format!("{name}-two"), "about".to_owned()];
        let (one, two, other) = (&targets[0], &targets[1], &targets[2]);
        for target in &targets {
            store(target);
        }
        site.run_php(
            &host,
            "global $wpdb; $wpdb->query(\"UPDATE {$wpdb->prefix}case_texts SET text = 'second'\");",
        );
        assert_ne!(page(one).cache(), "HIT", "{one}: a write of the table");
        assert_ne!(page(two).cache(), "HIT", "{two}: a write of the table");
        assert_eq!(page(other).cache(), "HIT", "{name}");
        store(two);
        let change = match name {
            "group" => "wp_cache_set('text', 'third', 'case');",
            "transient" => "set_transient('case_text', 'third', 3600);",
            _ => "wp_cache_get('late', 'case'); wp_cache_set('late', 'third', 'case');",
        };
        site.run_php(&host, change);
        assert!(page(two).text().contains("third"), "{name}: a new value");
        assert_eq!(page(other).cache(), "HIT", "{name}");
    }
    // WordPress stores the numbers of a term's posts, and reports their reading only to the database.
    for target in ["objects-one", "objects-two", "about"] {
        store(target);
    }
    let code = "$id = get_posts(['category__not_in' => [get_option('default_category')]])[0]->ID; \
        wp_set_object_terms($id, (int) get_option('default_category'), 'category', true); echo $id;";
    let id = site.run_php(&host, code);
    for target in ["objects-one", "objects-two"] {
        let text = page(target).text();
        let numbers = text.split("objects ").nth(1).and_then(|rest| rest.split('.').next()).expect("numbers");
        assert!(numbers.split(',').any(|number| number == id), "{target}: {id} is not in {numbers}");
    }
    assert_eq!(page("about").cache(), "HIT");
    let answer = page("unknown-one");
    assert!(
        answer.field("cache-status").is_some_and(|status| status.contains("ttl=3600")),
        "{:?}",
        answer.field("cache-status")
    );
    assert!(!server.read("error.log").contains("PHP message"), "{}", server.read("error.log"));
}

/// Plugin that shows a cached value of the site and one of the network on the home page.
const GLOBAL: &str = "<?php wp_cache_add_global_groups('case-all'); \
    add_action('wp_footer', function () { if (is_home()) echo wp_cache_get('text', 'case-all'), wp_cache_get('text', 'case-own'); });";

#[test]
fn values_of_the_network_purge_pages_of_all_sites_and_other_values_those_of_their_site() {
    let site = WordPress::alone();
    fs::write(site.root().join("wp-content/mu-plugins/global.php"), GLOBAL).expect("a plugin");
    let place = Place::new();
    let redis = Keeper::redis(&place);
    wordpress(&site, &["--install-object-cache", redis.address.as_str()]);
    let host = "network.test";
    site.make_network(host);
    let server = site.serve_with_plugin();
    site.run_php(
        host,
        &format!(
            "$id = wp_insert_site(['domain' => '{host}', 'path' => '/second/', 'title' => 'Second', 'user_id' => 1]); \
             wp_cache_set('text', 'a', 'case-all'); wp_cache_set('text', 'b', 'case-own'); \
             switch_to_blog($id); wp_cache_set('text', 'c', 'case-own'); restore_current_blog();"
        ),
    );
    let cached = |target: &str| server.fetch(&Request::get(target).host(host)).cache() == "HIT";
    let hits = |change: &str| {
        for target in ["/", "/second/"] {
            cached(target);
            assert!(cached(target), "{target}");
        }
        site.run_php(host, change);
        [cached("/"), cached("/second/")]
    };
    assert_eq!(hits("wp_cache_set('text', 'd', 'case-all');"), [false, false]);
    assert_eq!(hits("wp_cache_set('text', 'e', 'case-own');"), [false, true]);
    let of_second = "switch_to_blog(2); wp_cache_set('text', 'f', 'case-own'); restore_current_blog();";
    assert_eq!(hits(of_second), [true, false]);
    assert_eq!(hits("wp_cache_flush_group('case-own');"), [false, false]);
    assert_eq!(hits("wp_cache_flush();"), [false, false]);
}
