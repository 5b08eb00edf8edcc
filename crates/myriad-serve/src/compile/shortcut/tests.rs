use std::collections::HashMap;
use std::path::Path;

use myriad_conf::registry::Contexts;
use myriad_conf::{MemoryLoader, survey};
use myriad_log::Logs;
use myriad_script::{EvaluationScope, ScopeReads};

use crate::compile::{CompileEnvironment, RetainedState, compile_and};
use myriad_exchange::runtime::{PartRead, Runtime};
use myriad_http::Known;

fn runtime(config: &str) -> Runtime {
    compiled(config).unwrap_or_else(|errors| panic!("{errors}"))
}

/// Compiles a configuration; returns the text of its errors if it has any.
fn compiled(config: &str) -> Result<Runtime, String> {
    let loader = MemoryLoader::with("/conf/nginx.conf", config);
    let survey =
        survey(&crate::registry().parse(&loader, Path::new("/conf/nginx.conf"), b""), crate::registry());
    if !survey.is_sound() {
        return Err(format!("{:?}", survey.findings));
    }
    let (logs, mut kept) = (Logs::without_outputs(), RetainedState::default());
    let (tls_files, listeners) = (HashMap::new(), HashMap::new());
    let folder = Path::new("/conf");
    let surroundings = CompileEnvironment {
        prefix: folder,
        folder,
        tls_files: &tls_files,
        listeners: &listeners,
        logs: &logs,
        retained: &mut kept,
    };
    let site = compile_and(&survey.model, surroundings, |compile| {
        let unsaid = compile.scripts.reads(EvaluationScope::Unspecified);
        assert_eq!(unsaid, ScopeReads::default(), "no scope is recorded for a text without evaluation");
    });
    site.map_err(|errors| format!("{errors:?}"))
}

/// Returns a site with one server, whose cache uses the key `key`.
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
fn fields_read_by_rules_are_found_through_variable_chains() {
    let chain = "geo $near { default 0; 10.0.0.0/8 1; } map $near $far { default 1; 1 0; } map $far$uri $odd { default x; }";
    assert!(site(chain, "", KEY).shortcut.is_some());
    for server in ["if ($odd) { return 403; }", "set $mine $odd;", "fastcgi_cache_bypass $odd;"] {
        assert!(site(chain, server, KEY).shortcut.is_none(), "{server}");
    }
    let circle = "map $b $a { default $b; } map $a $b { default $a$http_x; }";
    let fields = site(circle, "", "$host$uri$a").shortcut.expect("the key has only one field").parts.len();
    assert_eq!(fields, 1);
}

#[test]
fn a_variable_that_is_set_somewhere_still_shows_the_visitor_s_elsewhere() {
    let server = "location /set { set $http_x mine; }";
    let fields =
        site("", server, "$host$uri$http_x").shortcut.expect("the key has only one field").parts.len();
    assert_eq!(fields, 1);
}

#[cfg(feature = "nginx-extras")]
#[test]
fn functions_of_texts_leave_the_short_way_open_and_those_of_the_moment_close_it() {
    let steps = "set_md5 $mine $uri; set_unescape_uri $mine; set_encode_base32 $mine;";
    assert!(site("", steps, "$host$uri$mine").shortcut.is_some());
    for step in ["set_random $mine 0 1;", "set_local_today $mine;", "set_rotate $mine 1 2;"] {
        assert!(site("", step, KEY).shortcut.is_none(), "{step}");
        assert!(site("", &format!("if ($uri) {{ {step} }}"), KEY).shortcut.is_none(), "{step}");
    }
}

#[test]
fn scheme_of_a_trusted_proxy_is_one_part_that_is_read_and_its_host_another() {
    let key = "$http_x_forwarded_proto$scheme$host$request_uri";
    let parts = |http: &str| site(http, "set $secure $https;", key).shortcut.expect("fields").parts;
    assert_eq!(parts(""), [PartRead::Known(Known::XForwardedProto)]);
    assert_eq!(parts("forwarded_scheme_from 192.0.2.7;"), [PartRead::ForwardedScheme]);
    assert_eq!(
        parts("forwarded_scheme_from 192.0.2.7; forwarded_host_from 192.0.2.7;"),
        [PartRead::ForwardedScheme, PartRead::ForwardedHost]
    );
}

#[test]
fn the_wordpress_preset_takes_the_short_way() {
    let preset = include_str!("../../../../../presets/wordpress.conf");
    let words = [
        ("{{listen}}", "127.0.0.1:8080"),
        ("{{server_name}}", "_"),
        ("{{root}}", "/nowhere/site"),
        ("{{trusted}}", "$document_root"),
        ("{{admitted}}", "(?!)"),
        ("{{content}}", "wp-content"),
        ("{{core}}", ""),
        ("{{configuration}}", "/wp-config.php"),
        ("{{script_root}}", "$document_root"),
        ("{{php}}", "127.0.0.1:9"),
        ("{{pool}}", "php"),
        ("{{php_children}}", "5"),
        ("{{cache}}", "/nowhere/pages"),
        ("{{zone}}", "wordpress"),
        ("{{purgers}}", ""),
        ("{{search}}", "off"),
        ("{{rest}}", "off"),
        ("{{plugin_pages}}", ""),
        ("{{grace}}", "10m"),
        ("{{frames}}", "origin_add_header X-Frame-Options $frame_options unless=Content-Security-Policy;"),
        ("{{agents}}", ""),
        ("{{validity}}", "1m"),
        ("{{adaptive}}", "1m"),
        ("{{uploads}}", "64m"),
        ("{{disk}}", "1g"),
        ("{{memory}}", ""),
        ("{{queue_zone}}", "php"),
        ("{{site_children}}", "5"),
        ("{{queue}}", "256"),
        ("{{status}}", ""),
        ("{{proxies}}", "forwarded_scheme_from 127.0.0.1; forwarded_host_from 127.0.0.1;"),
    ];
    let filled = words.iter().fold(preset.to_owned(), |text, (word, value)| text.replace(word, value));
    let stands_alone = |line: &str| line.starts_with("{{") && line.ends_with("}}");
    let text: Vec<_> = filled.lines().filter(|line| !stands_alone(line.trim())).collect();
    let text = text.join("\n");
    assert!(!text.lines().any(|line| !line.trim_start().starts_with('#') && line.contains("{{")), "{text}");
    let runtime = runtime(&text);
    assert!(runtime.shortcut.is_some(), "the rules read values other than header fields");
    let pages = runtime.places.iter().filter(|place| place.shortcut).count();
    assert!(pages >= 3, "{pages} places: pages, PHP, files");
}

/// Directives with variables that are evaluated only for requests that have run all rules.
const READ_AFTER_RULES: &[&str] = &[
    "cache_maintenance",
    "auth_basic",
    "auth_basic_user_file",
    "auth_request_set",
    "early_hints",
    "fastcgi_pass",
    "more_set_input_headers",
    "origin_add_header",
    "origin_challenge",
    "origin_priority",
    "secure_link",
    "secure_link_md5",
];

/// Directives of origin protocols, without their prefix (such as `fastcgi_`), with variables that are evaluated only
/// for requests that have run all rules.
const ORIGIN_READ_AFTER_RULES: &[&str] = &[
    "bind",
    "cache_share",
    "cache_valid",
    "cookie_domain",
    "cookie_flags",
    "cookie_path",
    "limit_rate",
    "method",
    "no_cache",
    "param",
    "redirect",
    "set_body",
    "set_header",
    "ssl_certificate",
    "ssl_certificate_key",
    "ssl_name",
];

/// Argument forms in which a directive may accept a variable; `@` is replaced by the variable.
const SHAPES: &[&str] = &[
    "@",
    "on @",
    "x @",
    "X-Test @",
    "@ x",
    "$mine @",
    "/nowhere/@",
    "/nowhere/@.log combined",
    "/nowhere/log combined if=@",
    "404 /@",
    "412 /@",
    "200 @",
    "301 http://@/",
    "^ /@",
    "~ @ x",
    "modified @",
    "a@ b",
    "a b@",
    "http://@",
    "http://@ /x",
    "http://a/ /@",
    "x flag=@",
    "/@ =404",
    "on from=@",
    "GET from=@",
];

fn is_read_after_rules(name: &str) -> bool {
    let of_origin = name.strip_prefix("proxy_").or_else(|| name.strip_prefix("fastcgi_"));
    READ_AFTER_RULES.contains(&name) || of_origin.is_some_and(|rest| ORIGIN_READ_AFTER_RULES.contains(&rest))
}

/// Returns a configuration with a page cache whose location `/at` contains `directives`.
fn location(directives: &str) -> String {
    let handler = if directives.contains("_pass ") {
        "fastcgi_cache pages; proxy_cache pages;"
    } else if directives.starts_with("proxy_") {
        "proxy_pass http://127.0.0.1:9; proxy_cache pages;"
    } else {
        "fastcgi_pass 127.0.0.1:9; fastcgi_cache pages;"
    };
    let key = if directives.contains("_cache_key ") {
        ""
    } else {
        "fastcgi_cache_key $host$uri; proxy_cache_key $host$uri;"
    };
    format!(
        "events {{}} http {{ fastcgi_cache_path /nowhere/pages keys_zone=pages:1m; access_log off;
         server {{ listen 127.0.0.1:8080; root /nowhere; set $odd x;
         location /at {{ {key} {handler} {directives} }} }} }}"
    )
}

/// Returns whether the site, and its location `/at`, permit the shortcut; `None` if the configuration is invalid.
fn open(directives: &str) -> Option<(bool, bool)> {
    let runtime = compiled(&location(directives)).ok()?;
    let place = runtime.positions.places.iter().position(|label| &*label.name == "location /at")?;
    Some((runtime.shortcut.is_some(), runtime.places[place].shortcut))
}

/// Returns the directives that accept variables in a location, each with an argument form.
fn with_variables() -> Vec<(String, &'static str)> {
    let rows = crate::registry().directives().iter();
    let here = rows.filter(|row| !row.arity.block && row.contexts.contains(Contexts::LOCATION));
    let names = here.map(|row| row.name.to_string());
    let all: Vec<_> = names.flat_map(|name| SHAPES.iter().map(move |shape| (name.clone(), *shape))).collect();
    all.into_iter()
        .filter(|(name, shape)| {
            let directive = |text: &str| format!("{name} {};", shape.replace('@', text));
            let unknown = compiled(&location(&directive("$nothing_at_all")));
            unknown.is_err_and(|errors| errors.contains("nothing_at_all"))
                && open(&directive("$odd")).is_some()
        })
        .collect()
}

#[test]
fn no_directive_that_reads_what_rules_set_lets_requests_take_the_short_way() {
    assert_eq!(open(""), Some((true, true)), "without the directive, the shortcut is used");
    let found = with_variables();
    let mut wrong = Vec::new();
    for (name, shape) in &found {
        let state = |text: &str| open(&format!("{name} {};", shape.replace('@', text)));
        // Some directives are part of the rules: they may read variables that rules set, but reading the connection's
        // port disables the shortcut for the whole site.
        let is_rule = state("$remote_port").is_none_or(|(site, _)| !site);
        let is_closed = state("$odd").is_none_or(|(_, place)| !place);
        if is_read_after_rules(name) == (is_rule || is_closed) {
            wrong.push(format!("{name} {shape}: rule {is_rule}, closed {is_closed}"));
        }
    }
    assert_eq!(wrong, [""; 0]);
    // These directives are known to be evaluated by the rules, by a response, or separately, so they must be among
    // those tried.
    for name in
        ["root", "add_header", "limit_rate", "error_page", "fastcgi_param", "proxy_set_header", "access_log"]
    {
        assert!(found.iter().any(|(known, _)| known == name), "{name} is not tried");
    }
}

#[test]
fn what_a_log_s_format_reads_counts_where_that_log_is_written() {
    let with_log = |log: &str| {
        let text = location(log)
            .replace("access_log off;", "log_format odd $odd; log_format even $uri; access_log off;");
        let runtime = runtime(&text);
        let place = runtime.positions.places.iter().position(|label| &*label.name == "location /at");
        runtime.places[place.expect("the location")].shortcut
    };
    assert!(with_log(""));
    assert!(with_log("access_log /nowhere/log even;"));
    assert!(!with_log("access_log /nowhere/log odd;"));
}

#[test]
fn symlink_checks_after_root_retain_file_shortcut() {
    let is_short = |server: &str| {
        let config = format!(
            "events {{}} http {{ server {{ listen 127.0.0.1:8080; root /srv/site; {server} location / {{}} }} }}"
        );
        runtime(&config).places.iter().all(|place| place.shortcut)
    };
    assert!(is_short("") && is_short("disable_symlinks if_not_owner from=$document_root;"));
    assert!(is_short("disable_symlinks if_not_owner from=/srv;"));
    assert!(!is_short("disable_symlinks if_not_owner from=/srv/$arg_part;"));
}
