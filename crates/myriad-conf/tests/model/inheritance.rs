use myriad_conf::testing::{ENVIRONMENT, URL};
use myriad_conf::{
    model::{MainConf, MemoryLimit, RewriteStep, WorkerProcesses},
    settings::{Handler, MinRate},
};

use crate::{http, model, server, texts};

#[test]
fn an_empty_configuration_has_the_defaults() {
    let model = model("");
    let main = MainConf {
        worker_processes: WorkerProcesses::Count(1),
        worker_connections: 512,
        master_process: true,
        daemon: true,
        sandbox: true,
        pid: "logs/nginx.pid".into(),
        ..MainConf::default()
    };
    assert_eq!(model.main, main);
    assert!(model.http.is_none());
}

#[test]
fn main_and_events_fill_the_main_part() {
    let main = model(
        "user www web; worker_processes auto; pid run.pid; daemon off; env A=b; env C; worker_rlimit_nofile 65535;
         worker_shutdown_timeout 10s; memory_limit 25%; error_log stderr; error_log e.log info; events { worker_connections 768; }",
    )
    .main;
    assert_eq!(main.worker_processes, WorkerProcesses::Auto);
    assert_eq!(
        (main.worker_connections, main.daemon, main.worker_shutdown_timeout),
        (768, false, Some(10_000))
    );
    assert_eq!(main.memory_limit, MemoryLimit::Percent(25));
    assert_eq!(main.user.unwrap().bytes(), b"www");
    assert_eq!(main.group.unwrap().bytes(), b"web");
    assert_eq!(texts(&main.env), ["A=b", "C"]);
    assert_eq!(main.error_logs.len(), 2);
}

#[test]
fn a_value_holds_below_unless_set_again_wherever_it_stands() {
    let http = http(
        "server { location /a { location /a/b { } } location /c { keepalive_timeout 3s; } send_timeout 7s; }
         server { keepalive_timeout 2s; } keepalive_timeout 1s 9s;",
    );
    let timeout = |settings: &myriad_conf::Settings| settings.client.keepalive_timeout;
    let first = &http.servers[0];
    assert_eq!(timeout(&first.settings), 1_000);
    assert_eq!(first.settings.client.keepalive_header_s, Some(9));
    assert_eq!(timeout(&first.locations[0].locations[0].settings), 1_000);
    assert_eq!(first.locations[0].locations[0].settings.client.send_timeout, 7_000);
    assert_eq!(timeout(&first.locations[1].settings), 3_000);
    assert_eq!(first.locations[1].settings.client.keepalive_header_s, None);
    assert_eq!(timeout(&http.servers[1].settings), 2_000);
    assert_eq!(http.servers[1].settings.client.send_timeout, 60_000);
}

#[test]
fn a_rate_for_clients_holds_always_where_it_is_written_and_under_pressure_else() {
    let rate = |rate, grace, under_pressure| Some(MinRate { rate, grace, under_pressure });
    let http = http(
        "server { } server { client_min_rate 2k; location /off { client_min_rate off; }
           location /own { client_min_rate 50 pressure grace=1m; } }",
    );
    let of = |settings: &myriad_conf::Settings| settings.client.min_rate;
    assert_eq!(of(&http.servers[0].settings), rate(100, 30_000, true));
    let second = &http.servers[1];
    assert_eq!(of(&second.settings), rate(2048, 30_000, false));
    assert_eq!(of(&second.locations[0].settings), None);
    assert_eq!(of(&second.locations[1].settings), rate(50, 60_000, true));
}

#[test]
fn lists_are_inherited_whole_or_not_at_all() {
    let server = server(
        "error_page 404 /n; error_page 500 502 =200 /e;
         fastcgi_param X 1; proxy_set_header H 1; access_log a; index i;
         location /keep { }
         location /own { error_page 403 /f; fastcgi_param Y 2; proxy_set_header G 1;
                         access_log off; index j k; }",
    );
    let (keep, own) = (&server.locations[0].settings, &server.locations[1].settings);
    assert_eq!((keep.content.error_pages.len(), own.content.error_pages.len()), (2, 1));
    assert_eq!(
        (keep.origin(ENVIRONMENT).request.parameters.len(), own.origin(ENVIRONMENT).request.parameters.len()),
        (1, 1)
    );
    assert_eq!(own.origin(ENVIRONMENT).request.parameters[0].name.bytes(), b"Y");
    assert_eq!(own.origin(URL).request.parameters[0].name.bytes(), b"G");
    assert_eq!((keep.log.access.len(), own.log.access.len()), (1, 0));
    assert_eq!(
        (texts(&keep.content.index), texts(&own.content.index)),
        (vec!["i".into()], vec!["j".into(), "k".into()])
    );
}

#[test]
fn handlers_and_try_files_are_not_inherited_by_nested_locations() {
    let server = server(
        "try_files $uri /x; location / { fastcgi_pass a; try_files $uri =404; internal; location /in { }
         if ($a) { limit_rate 1k; } if ($b) { fastcgi_pass b; } limit_except GET { } }",
    );
    let location = &server.locations[0];
    assert!(server.settings.content.try_files.is_some());
    assert!(location.settings.handler.is_some() && location.settings.content.internal);
    let inner = &location.locations[0].settings;
    assert!(inner.handler.is_none() && inner.content.try_files.is_none() && inner.content.internal);
    let targets: Vec<_> = location
        .rewrite
        .iter()
        .map(|step| match step {
            RewriteStep::If(block) => match &block.settings.handler {
                Some(Handler::Origin { target, .. }) => {
                    assert!(block.settings.content.try_files.is_none() && block.changes_settings);
                    target.lossy().into_owned()
                }
                _ => panic!("an if keeps the handler"),
            },
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(targets, ["a", "b"]);
    let except = location.limit_except.as_ref().unwrap();
    assert_eq!(except.methods, ["HEAD", "GET"]);
}

#[test]
fn an_if_lays_its_settings_over_those_of_its_location() {
    let location =
        crate::location("error_page 404 /n; root /r; if ($a) { error_page 403 /f; } if ($b) { set $c 1; }");
    let blocks: Vec<_> = location
        .rewrite
        .iter()
        .filter_map(|step| if let RewriteStep::If(block) = step { Some(block) } else { None })
        .collect();
    assert_eq!(blocks[0].settings.content.error_pages[0].target.bytes(), b"/f");
    assert_eq!(blocks[0].settings.content.root.bytes(), b"/r");
    assert!(!blocks[1].changes_settings);
    assert_eq!(blocks[1].settings.content.error_pages[0].target.bytes(), b"/n");
}

#[test]
fn types_replace_those_around_and_add_up_on_one_level() {
    let server = server(
        "types { text/html html; } types { text/css css CSS2; }
         location /a { types { } default_type x/y; } location /b { }",
    );
    let count = |index: usize| server.locations[index].settings.content.types.len();
    assert_eq!((count(0), count(1)), (0, 3));
    assert_eq!(server.settings.content.types.get(b"css2".as_slice()).unwrap(), b"text/css");
    assert_eq!(server.locations[0].settings.content.default_type.bytes(), b"x/y");
}

#[test]
fn alias_counts_the_prefix_of_the_location_that_wrote_it() {
    let server = server(
        "root /r; location /img/ { alias /data/; location /img/big/ { } location /img/own { root /o; } }
         location ~ ^/u/(.*)$ { alias /h/$1; }",
    );
    let content = |location: &myriad_conf::model::LocationConf| {
        let content = &location.settings.content;
        (content.root.lossy().into_owned(), content.alias, content.alias_prefix_len)
    };
    let img = &server.locations[0];
    assert_eq!(content(img), ("/data/".into(), true, Some(5)));
    assert_eq!(content(&img.locations[0]), ("/data/".into(), true, Some(5)));
    assert_eq!(content(&img.locations[1]), ("/o".into(), false, None));
    assert_eq!(content(&server.locations[1]), ("/h/$1".into(), true, None));
}
