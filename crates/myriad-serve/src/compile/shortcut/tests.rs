use std::collections::HashMap;
use std::path::Path;

use myriad_conf::{MemoryLoader, parse, survey};
use myriad_log::Logs;

use crate::compile::{Kept, Surroundings, compile};
use crate::runtime::Runtime;

fn runtime(config: &str) -> Runtime {
    let loader = MemoryLoader::with("/conf/nginx.conf", config);
    let survey = survey(&parse(&loader, Path::new("/conf/nginx.conf"), b""));
    let (logs, mut kept) = (Logs::nowhere(), Kept::default());
    let (tls_files, listeners) = (HashMap::new(), HashMap::new());
    let folder = Path::new("/conf");
    let surroundings = Surroundings {
        prefix: folder,
        folder,
        tls_files: &tls_files,
        listeners: &listeners,
        logs: &logs,
        kept: &mut kept,
    };
    let compiled = compile(&survey.model, surroundings);
    compiled.unwrap_or_else(|errors| panic!("{:?} {errors:?}", survey.findings))
}

/// A server with a cache, whose key is `key`.
fn site(http: &str, server: &str, key: &str) -> Runtime {
    runtime(&format!(
        "events {{}} http {{ {http} fastcgi_cache_path /nowhere/pages keys_zone=pages:1m;
         server {{ listen 127.0.0.1:8080; {server} fastcgi_cache pages; fastcgi_cache_key {key};
         location / {{ fastcgi_pass 127.0.0.1:9; }} }} }}"
    ))
}

const KEY: &str = "$host$request_uri";

#[test]
fn maps_close_the_short_way_only_where_rules_name_what_they_make() {
    let map = "map $uri $by_client { default $remote_addr; }";
    let limited = format!("{map} limit_req_zone $by_client zone=speed:1m rate=1r/s;");
    assert!(site(map, "", KEY).shortcut.is_some());
    assert!(site(&limited, "location /login { limit_req zone=speed; }", KEY).shortcut.is_some());
    assert!(site(map, "", "$host$uri$by_client").shortcut.is_none());
}

#[test]
fn what_rules_read_is_found_behind_any_number_of_variables() {
    let chain = "geo $near { default 0; 10.0.0.0/8 1; } map $near $far { default 1; 1 0; } map $far$uri $odd { default x; }";
    assert!(site(chain, "", KEY).shortcut.is_some());
    for server in ["if ($odd) { return 403; }", "set $mine $odd;", "fastcgi_cache_bypass $odd;"] {
        assert!(site(chain, server, KEY).shortcut.is_none(), "{server}");
    }
    let circle = "map $b $a { default $b; } map $a $b { default $a$http_x; }";
    let fields = site(circle, "", "$host$uri$a").shortcut.expect("a field and no more").fields.len();
    assert_eq!(fields, 1);
}

#[test]
fn a_variable_that_is_set_somewhere_still_shows_the_visitor_s_elsewhere() {
    let server = "location /set { set $http_x mine; }";
    let fields = site("", server, "$host$uri$http_x").shortcut.expect("a field and no more").fields.len();
    assert_eq!(fields, 1);
}

#[test]
fn the_wordpress_preset_takes_the_short_way() {
    let preset = include_str!("../../../../../presets/wordpress.conf");
    let words = [
        ("{{listen}}", "127.0.0.1:8080"),
        ("{{server_name}}", "_"),
        ("{{root}}", "/nowhere/site"),
        ("{{php}}", "127.0.0.1:9"),
        ("{{pool}}", "php"),
        ("{{php_children}}", "5"),
        ("{{cache}}", "/nowhere/pages"),
        ("{{zone}}", "wordpress"),
    ];
    let filled = words.iter().fold(preset.to_owned(), |text, (word, value)| text.replace(word, value));
    let stands_alone = |line: &str| line.starts_with("{{") && line.ends_with("}}");
    let text: Vec<_> = filled.lines().filter(|line| !stands_alone(line.trim())).collect();
    let text = text.join("\n");
    assert!(!text.lines().any(|line| !line.trim_start().starts_with('#') && line.contains("{{")), "{text}");
    let runtime = runtime(&text);
    assert!(runtime.shortcut.is_some(), "its rules read more than fields");
    let pages = runtime.places.iter().filter(|place| place.shortcut).count();
    assert!(pages >= 3, "{pages} places: pages, PHP, files");
}
