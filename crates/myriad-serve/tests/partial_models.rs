//! Test that the check of a partially rejected model always completes.

use std::collections::HashMap;
use std::path::Path;

use myriad_conf::{MemoryLoader, survey};

const RICH: &str = r#"
http {
    log_format short "$remote_addr $mapped";
    map $uri $mapped { default a; ~^/(?<rest>.*)$ $rest; }
    geo $near { default 0; 127.0.0.0/8 1; }
    split_clients $remote_addr $share { 50% a; * b; }
    limit_req_zone $binary_remote_addr zone=speed:1m rate=10r/s;
    limit_conn_zone $near zone=count:1m;
    fastcgi_cache_path /nowhere/pages keys_zone=pages:1m levels=1:2;
    fastcgi_cache_key $scheme$host$request_uri;
    charset_map koi8-r utf-8 { 80 E282AC; }
    resolver 127.0.0.1;
    upstream php { hash $uri consistent; server 127.0.0.1:9 weight=2; server unix:/nowhere.sock backup; keepalive 4; }
    server {
        listen 127.0.0.1:8080 default_server;
        listen 127.0.0.1:8443 ssl;
        listen 127.0.0.1:8443 quic;
        server_name one.test ~^(?<sub>\w+)\.one\.test$;
        ssl_certificate one.crt;
        ssl_certificate_key one.key;
        ssl_ciphers HIGH:RC4;
        ssl_stapling on;
        access_log logs/a.log short if=$near;
        set $skip 0;
        if ($request_method = POST) { set $skip 1; }
        rewrite ^/old/(.*)$ /new/$1 last;
        error_page 404 = @missing;
        location @missing { return 404 "no $sub"; }
        location / { try_files $uri $uri/ /index.php?$args; limit_req zone=speed burst=5; limit_conn count 3; }
        location ~ \.php$ {
            fastcgi_pass php;
            fastcgi_cache pages;
            shared_fetch_headers on;
            fastcgi_cache_valid 200 1m;
            fastcgi_cache_bypass $skip;
            fastcgi_param SCRIPT_FILENAME $document_root$fastcgi_script_name;
            fastcgi_split_path_info ^(.+\.php)(/.*)$;
        }
        location /api/ { proxy_pass http://php/v1/; proxy_set_header Host $host; proxy_redirect ~^(.*)$ $1; }
        location /far/ { proxy_pass http://$share.test:81; auth_basic realm; auth_basic_user_file users; }
        location /part { ssi on; sub_filter a $mapped; limit_except GET { deny all; } }
    }
}
"#;

/// Returns the errors of the parser and the model checks, and the errors of the compiler.
fn check(config: &str) -> (Vec<String>, Vec<String>) {
    let folder = Path::new("/conf");
    let loader = MemoryLoader::with("/conf/nginx.conf", config);
    let survey = survey(
        &myriad_serve::registry().parse(&loader, Path::new("/conf/nginx.conf"), b""),
        myriad_serve::registry(),
    );
    let found = myriad_serve::check(&survey.model, folder, &HashMap::new()).err().unwrap_or_default();
    let messages = |all: &[myriad_conf::Diagnostic]| all.iter().map(|one| one.message.clone()).collect();
    (messages(&survey.findings), messages(&found))
}

#[test]
fn the_check_ends_whichever_line_or_word_is_missing() {
    let (read, compiled) = check(RICH);
    assert_eq!(read, Vec::<String>::new());
    assert_eq!(compiled, ["cannot read \"/conf/one.crt\""]);
    let lines: Vec<&str> = RICH.lines().collect();
    for gone in 0..lines.len() {
        let mut left = lines.clone();
        left.remove(gone);
        check(&left.join("\n"));
    }
    let words: Vec<&str> = RICH.split(' ').collect();
    for gone in (0..words.len()).filter(|gone| !words[*gone].is_empty()) {
        let mut left = words.clone();
        left.remove(gone);
        check(&left.join(" "));
        let mut wrong = words.clone();
        wrong[gone] = "$wrong(";
        check(&wrong.join(" "));
    }
}
