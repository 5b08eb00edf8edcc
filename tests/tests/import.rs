//! `myriad import`: Apache with `.htaccess` and Myriad with the translated rules give the same responses for the same
//! files.

use std::fmt::Write as _;
use std::process::Command;

use myriad_tests::{Answer, Apache, Client, Php, Place, Request, Server, binary};

/// Folder with rules, and the requests for both servers.
struct Site {
    name: &'static str,
    rules: &'static str,
    files: &'static [(&'static str, &'static str)],
    /// Paths, each with request fields.
    asked: &'static [(&'static str, &'static [(&'static str, &'static str)])],
    /// Response fields that are compared in addition to status, redirect target and media type.
    fields: &'static [&'static str],
}

/// Script that prints the request as an application receives it.
const ECHO: &str = "<?php foreach (['SCRIPT_NAME', 'QUERY_STRING', 'REQUEST_URI', 'PATH_INFO', 'BAD', 'KIND'] as $n) echo $n, '=', \
                    $_SERVER[$n] ?? ($_SERVER['REDIRECT_' . $n] ?? ''), \"\\n\"; header('X-Powered-By: x');";

const WORDPRESS: Site = Site {
    name: "WordPress, a cache plugin, hardening",
    rules: r#"
# BEGIN WPSuperCache
<IfModule mod_rewrite.c>
RewriteEngine On
RewriteBase /
RewriteCond %{REQUEST_URI} !^.*[^/]$
RewriteCond %{REQUEST_METHOD} !POST
RewriteCond %{QUERY_STRING} ^$
RewriteCond %{HTTP:Cookie} !^.*(comment_author_|wordpress_logged_in|wp-postpass_).*$
RewriteCond %{DOCUMENT_ROOT}/wp-content/cache/supercache/%{SERVER_NAME}/$1/index.html -f
RewriteRule ^(.*)$ "/wp-content/cache/supercache/%{SERVER_NAME}/$1/index.html" [L]
</IfModule>
# END WPSuperCache
# BEGIN WordPress
<IfModule mod_rewrite.c>
RewriteEngine On
RewriteRule .* - [E=HTTP_AUTHORIZATION:%{HTTP:Authorization}]
RewriteBase /
RewriteRule ^index\.php$ - [L]
RewriteCond %{REQUEST_FILENAME} !-f
RewriteCond %{REQUEST_FILENAME} !-d
RewriteRule . /index.php [L]
</IfModule>
# END WordPress
<Files wp-config.php>
    Order allow,deny
    Deny from all
</Files>
<FilesMatch "^(xmlrpc\.php|readme\.html)$">
    Require all denied
</FilesMatch>
<FilesMatch "\.(css|js)$">
    Header set Cache-Control "public, max-age=31536000, immutable"
</FilesMatch>
Header set X-Content-Type-Options nosniff
Header always set Referrer-Policy "same-origin"
Options -Indexes
ErrorDocument 403 "no entry"
"#,
    files: &[
        ("index.php", ECHO),
        ("wp-config.php", "<?php"),
        ("xmlrpc.php", "<?php"),
        ("readme.html", "readme"),
        ("style.css", "a{}"),
        ("wp-login.php", ECHO),
        ("wp-content/uploads/a.png", "png"),
        ("wp-content/cache/supercache/localhost/cached/index.html", "from the cache"),
    ],
    asked: &[
        ("/", &[]),
        ("/hello-world/", &[]),
        ("/hello-world/?p=1&b=%20x", &[]),
        ("/index.php?a=1", &[]),
        ("/wp-login.php?x=1", &[]),
        ("/wp-config.php", &[]),
        ("/xmlrpc.php", &[]),
        ("/readme.html", &[]),
        ("/style.css", &[]),
        ("/wp-content/uploads/a.png", &[]),
        ("/wp-content/uploads/missing.png", &[]),
        ("/wp-content/uploads/", &[]),
        ("/cached/", &[]),
        ("/cached/?x=1", &[]),
        ("/cached/", &[("Cookie", "wordpress_logged_in_1=a")]),
        ("/.htaccess", &[]),
        ("/a%20b/%C3%A4/", &[]),
    ],
    fields: &["Cache-Control", "X-Content-Type-Options", "Referrer-Policy"],
};

const LARAVEL: Site = Site {
    name: "Laravel",
    rules: r"
<IfModule mod_rewrite.c>
    <IfModule mod_negotiation.c>
        Options -MultiViews -Indexes
    </IfModule>
    RewriteEngine On
    RewriteCond %{HTTP:Authorization} .
    RewriteRule .* - [E=HTTP_AUTHORIZATION:%{HTTP:Authorization}]
    RewriteCond %{REQUEST_FILENAME} !-d
    RewriteCond %{REQUEST_URI} (.+)/$
    RewriteRule ^ %1 [L,R=301]
    RewriteCond %{REQUEST_FILENAME} !-d
    RewriteCond %{REQUEST_FILENAME} !-f
    RewriteRule ^ index.php [L]
</IfModule>
",
    files: &[("index.php", ECHO), ("css/app.css", "a{}"), ("robots.txt", "robots")],
    asked: &[
        ("/", &[]),
        ("/users/1", &[]),
        ("/users/1/", &[]),
        ("/users/1/?page=2", &[]),
        ("/users/a%20b/", &[]),
        ("/robots.txt", &[]),
        ("/css/app.css", &[]),
        ("/css", &[]),
        ("/css/", &[]),
    ],
    fields: &[],
};

const DRUPAL: Site = Site {
    name: "Drupal",
    rules: r#"
<FilesMatch "\.(engine|inc|install|module|sh|.*sql|theme|twig|yml)(~|\.sw[op]|\.bak)?$|^(\.(?!well-known).*|Entries.*|composer\.(json|lock))$">
  <IfModule mod_authz_core.c>
    Require all denied
  </IfModule>
  <IfModule !mod_authz_core.c>
    Order allow,deny
  </IfModule>
</FilesMatch>
Options -Indexes
DirectoryIndex index.php index.html
ErrorDocument 404 /index.php
AddType image/svg+xml svg svgz
<IfModule mod_expires.c>
  ExpiresActive On
  ExpiresDefault A1209600
  ExpiresByType text/css "access plus 1 month"
</IfModule>
<IfModule mod_rewrite.c>
  RewriteEngine on
  RewriteRule "/\.|^\.(?!well-known/)" - [F]
  RewriteCond %{HTTP_HOST} ^www\.(.+)$ [NC]
  RewriteRule ^ http://%1%{REQUEST_URI} [L,R=301]
  RewriteRule ^core/install\.php core/rebuild.php?rewrite=1 [QSA,L]
  RewriteCond %{REQUEST_FILENAME} !-f
  RewriteCond %{REQUEST_FILENAME} !-d
  RewriteCond %{REQUEST_URI} !=/favicon.ico
  RewriteRule ^ index.php [L]
  RewriteRule ^old-node/(\d+)$ /node/$1 [R=302,L]
</IfModule>
"#,
    files: &[
        ("index.php", ECHO),
        ("core/rebuild.php", ECHO),
        ("core/install.php", ECHO),
        ("composer.json", "{}"),
        ("a.module", "x"),
        ("logo.svg", "<svg/>"),
        ("a.css", "a{}"),
        ("a.txt", "text"),
    ],
    asked: &[
        ("/node/1", &[]),
        ("/node/1?page=2", &[]),
        ("/composer.json", &[]),
        ("/a.module", &[]),
        ("/.git/config", &[]),
        ("/x/.env", &[]),
        ("/.well-known/x", &[]),
        ("/logo.svg", &[]),
        ("/a.css", &[]),
        ("/a.txt", &[]),
        ("/core/install.php?a=1", &[]),
        ("/favicon.ico", &[]),
        ("/node/2", &[("Host", "www.site.test")]),
        ("/core/", &[]),
    ],
    fields: &["Cache-Control"],
};

const JOOMLA: Site = Site {
    name: "Joomla, redirects, blocked visitors",
    rules: r#"
RewriteEngine On
RewriteCond %{QUERY_STRING} base64_encode[^(]*\([^)]*\) [OR]
RewriteCond %{QUERY_STRING} (<|%3C)([^s]*s)+cript.*(>|%3E) [NC,OR]
RewriteCond %{QUERY_STRING} GLOBALS(=|\[|\%[0-9A-Z]{0,2})
RewriteRule .* - [F]
RewriteBase /
SetEnvIfNoCase User-Agent "(bad|evil)bot" BAD=1
<Limit GET POST HEAD>
Order Allow,Deny
Allow from all
Deny from env=BAD
</Limit>
Redirect 301 /old-page /new-page
RedirectPermanent /shop https://shop.test/all
Redirect gone /never
RedirectMatch 302 ^/archive/([0-9]+)/(.*)$ /posts/$2?year=$1
RewriteRule ^feed/(atom|rss)/?$ index.php?feed=$1 [L,QSA]
RewriteRule ^Down/(.*)$ /files/$1 [NC,R=301,NE]
RewriteRule ^gone\.html$ - [G]
RewriteRule ^part/([a-z]+)-([a-z]+)$ /files/$1_$2.txt [L]
RewriteCond %{REQUEST_URI} !^/index\.php
RewriteCond %{REQUEST_URI} /component/|(/[^.]*|\.(php|html?|feed|pdf|raw))$ [NC]
RewriteCond %{REQUEST_FILENAME} !-f
RewriteCond %{REQUEST_FILENAME} !-d
RewriteRule .* index.php [L]
<FilesMatch "\.(jpg|png)$">
Header set Cache-Control "max-age=600"
</FilesMatch>
<Files "special.png">
Header set Cache-Control "no-store"
</Files>
ErrorDocument 410 "this is gone"
"#,
    files: &[
        ("index.php", ECHO),
        ("a.jpg", "x"),
        ("special.png", "x"),
        ("files/a.txt", "a"),
        ("files/one_two.txt", "one, two"),
        ("admin/index.php", ECHO),
    ],
    asked: &[
        ("/article", &[]),
        ("/article.html?x=1", &[]),
        ("/article.xyz", &[]),
        ("/?q=base64_encode(1)", &[]),
        ("/?q=%3Cscript%3E", &[]),
        ("/a.jpg", &[("User-Agent", "EvilBot/1.0")]),
        ("/a.jpg", &[]),
        ("/special.png", &[]),
        ("/old-page", &[]),
        ("/old-page/sub?x=1", &[]),
        ("/old-pages", &[]),
        ("/shop/a%20b", &[]),
        ("/never", &[]),
        ("/archive/2020/some/post", &[]),
        ("/feed/atom?x=1", &[]),
        ("/down/a.txt", &[]),
        ("/gone.html", &[]),
        ("/part/one-two", &[]),
        ("/admin/", &[]),
        ("/admin", &[]),
    ],
    fields: &["Cache-Control"],
};

const PARTS: Site = Site {
    name: "single directives",
    rules: r#"
AuthType Basic
AuthName "inner"
AuthUserFile @DIR@/users
<Files secret.txt>
Require valid-user
</Files>
<Files secret.php>
Require all denied
</Files>
<FilesMatch "(^#.*#|\.(bak|conf|dist|fla|in[ci]|log|orig|psd|sh|sql|sw[op])|~)$">
Require all denied
</FilesMatch>
<Files "*.h?dden">
Require all denied
</Files>
<FilesMatch "(?i)^upper\.txt$">
Require all denied
</FilesMatch>
<FilesMatch "\.log$">
Require ip 10.0.0.0/8
</FilesMatch>
<FilesMatch "\.lan\.txt$">
Require ip 127.0.0.0/8
</FilesMatch>
<LimitExcept GET>
Require all denied
</LimitExcept>
SetEnvIf X-Kind "^(.+)$" KIND=known
Header add X-One 1
Header unset X-Powered-By
DirectoryIndex start.html
AddDefaultCharset utf-8
AddOutputFilterByType DEFLATE text/plain
FallbackResource /index.php
ErrorDocument 404 /missing.html
"#,
    files: &[
        ("index.php", ECHO),
        ("secret.txt", "secret"),
        ("secret.php", "<?php echo 'secret';"),
        ("#a#", "secret"),
        ("a.sql", "secret"),
        ("a.sql.txt", "open"),
        ("b.txt~", "secret"),
        ("UPPER.txt", "secret"),
        ("a b.sql", "secret"),
        ("a.hidden", "secret"),
        ("a.hidden.txt", "open"),
        ("folder/secret.php", "<?php echo 'secret';"),
        ("a.log", "log"),
        ("a.lan.txt", "lan"),
        ("start.html", "start"),
        ("missing.html", "missing"),
        ("long.txt", "0123456789012345678901234567890123456789012345678901234567890123456789"),
    ],
    asked: &[
        ("/", &[]),
        ("/secret.txt", &[]),
        ("/secret.txt", &[("Authorization", "Basic Ym9iOnNlY3JldA==")]),
        ("/secret.txt", &[("Authorization", "Basic Ym9iOndyb25n")]),
        ("/a.log", &[]),
        ("/a.lan.txt", &[]),
        ("/long.txt", &[("Accept-Encoding", "gzip")]),
        ("/some/page?x=1", &[("X-Kind", "a")]),
        ("/index.php/path/info", &[]),
        ("/secret.php", &[]),
        ("/secret.php/", &[]),
        ("/secret.php/x", &[]),
        ("/secret.php/x/index.php", &[]),
        ("/folder/secret.php/x", &[]),
        ("/index.php/secret.php", &[]),
        ("/%23a%23", &[]),
        ("/a.sql", &[]),
        ("/a.sql.txt", &[]),
        ("/b.txt~", &[]),
        ("/UPPER.txt", &[]),
        ("/a%20b.sql", &[]),
        ("/a.hidden", &[]),
        ("/a.hidden.txt", &[]),
        ("/secret%2Ephp/%FF", &[]),
    ],
    fields: &["X-One", "X-Powered-By", "WWW-Authenticate", "Content-Encoding"],
};

const GATES: Site = Site {
    name: "old and new rules of access together",
    rules: r#"
AuthType Basic
AuthName "inner"
AuthUserFile @DIR@/users
Require all granted
SetEnvIf X-Kind "bad" BAD=1
SetEnvIf X-Kind "worse" WORSE=1
<FilesMatch "^password(-here)?\.txt$">
    Deny from all
    Allow from 10.0.0.0/8
    Require valid-user
</FilesMatch>
<Files password-here.txt>
    Order deny,allow
    Deny from all
    Allow from 127.0.0.0/8
</Files>
<Files addresses.txt>
    Allow from all
    Require ip 10.0.0.0/8
</Files>
<FilesMatch "^(outer|inner)\.txt$">
    Require ip 10.0.0.0/8
</FilesMatch>
<Files inner.txt>
    Order allow,deny
    Allow from all
</Files>
<Files both.txt>
    Order allow,deny
    Allow from 127.0.0.1
    Require ip 127.0.0.0/8
</Files>
<Files kinds.txt>
    Order allow,deny
    Allow from all
    Deny from env=BAD env=WORSE
</Files>
<Files all-of.txt>
    <RequireAll>
        Require all granted
        Require ip 10.0.0.0/8
    </RequireAll>
</Files>
<Files none-of.txt>
    <RequireAll>
        Require all granted
        Require not env BAD WORSE
    </RequireAll>
</Files>
"#,
    files: &[
        ("password.txt", "x"),
        ("password-here.txt", "x"),
        ("addresses.txt", "x"),
        ("outer.txt", "x"),
        ("inner.txt", "x"),
        ("both.txt", "x"),
        ("kinds.txt", "x"),
        ("all-of.txt", "x"),
        ("none-of.txt", "x"),
    ],
    asked: &[
        ("/password.txt", &[("Authorization", "Basic Ym9iOnNlY3JldA==")]),
        ("/password-here.txt", &[]),
        ("/password-here.txt", &[("Authorization", "Basic Ym9iOnNlY3JldA==")]),
        ("/addresses.txt", &[]),
        ("/outer.txt", &[]),
        ("/inner.txt", &[]),
        ("/both.txt", &[]),
        ("/kinds.txt", &[]),
        ("/kinds.txt", &[("X-Kind", "bad")]),
        ("/kinds.txt", &[("X-Kind", "worse")]),
        ("/all-of.txt", &[]),
        ("/none-of.txt", &[]),
        ("/none-of.txt", &[("X-Kind", "worse")]),
    ],
    fields: &["WWW-Authenticate"],
};

const HOST: Site = Site {
    name: "a virtual host",
    rules: r#"
<VirtualHost *:@PORT@>
    DocumentRoot @DIR@/html
    <Location /private>
        Require all denied
    </Location>
    <Location /star*>
        Require all denied
    </Location>
    <FilesMatch "\.inc$">
        Require all denied
    </FilesMatch>
    <Directory @DIR@/html/one/two>
        Require all denied
    </Directory>
    <Directory @DIR@/html/one>
        Require all granted
        <Files secret.txt>
            Require all denied
        </Files>
    </Directory>
    <Directory @DIR@/html/one/open>
        Require all granted
    </Directory>
    <Directory @DIR@/html/*/hidden>
        Require all denied
    </Directory>
    <Directory @DIR@/html>
        Require all granted
        Options -Indexes
    </Directory>
</VirtualHost>
"#,
    files: &[
        ("a.txt", "a"),
        ("a.inc", "secret"),
        ("one/a.txt", "a"),
        ("one/secret.txt", "secret"),
        ("one/open/secret.txt", "secret"),
        ("one/open/a.txt", "a"),
        ("one/two/a.txt", "secret"),
        ("one/hidden/a.txt", "secret"),
        ("secret.txt", "open"),
        ("private/a.txt", "secret"),
        ("privately/a.txt", "open"),
        ("star.txt", "secret"),
        ("stars/a.txt", "open"),
    ],
    asked: &[
        ("/a.txt", &[]),
        ("/a.inc", &[]),
        ("/one/a.txt", &[]),
        ("/one/secret.txt", &[]),
        ("/one/open/secret.txt", &[]),
        ("/one/open/a.txt", &[]),
        ("/one/two/a.txt", &[]),
        ("/one/hidden/a.txt", &[]),
        ("/secret.txt", &[]),
        ("/private/a.txt", &[]),
        ("/private/missing", &[]),
        ("/privately/a.txt", &[]),
        ("/star.txt", &[]),
        ("/stars/a.txt", &[]),
    ],
    fields: &[],
};

/// Returns the differences of both servers, each with its path; empty if they are equal.
fn differences(site: &Site) -> Vec<String> {
    let mut ours = Place::new();
    let php = Php::start(&mut ours);
    let theirs = Place::new();
    let is_host = site.rules.contains("<VirtualHost");
    let file = if is_host { "hosts.conf" } else { "html/.htaccess" };
    for place in [&ours, &theirs] {
        for (name, text) in site.files {
            place.write(&format!("html/{name}"), text);
        }
        place.write("users", "bob:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=\n");
        place.write(file, place.fill(site.rules));
    }
    let output = Command::new(binary())
        .arg("import")
        .arg(ours.path(file))
        .arg("--php")
        .arg(ours.path("php.sock"))
        .arg("--listen")
        .arg(format!("127.0.0.1:{}", ours.port))
        .output()
        .expect("myriad starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{}\n{said}", site.name);
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let apache =
        if is_host { Apache::start_with_hosts(theirs, site.rules) } else { Apache::start_with_rules(theirs) };
    let server =
        Server::start(ours, &format!("include mime.types; default_type application/octet-stream;\n{text}"));
    let found = site
        .asked
        .iter()
        .filter_map(|(path, fields)| {
            let ask = |port: u16| {
                let request = fields.iter().fold(Request::get(path), |request, (name, value)| {
                    if *name == "Host" { request.host(value) } else { request.field(name, value) }
                });
                shown(&Client::connect(port).fetch(&request), site.fields, port)
            };
            let (apache, myriad) = (ask(apache.port), ask(server.port));
            (apache != myriad).then(|| format!("{path} {fields:?}\n  Apache: {apache}\n  Myriad: {myriad}"))
        })
        .collect::<Vec<_>>();
    drop(php);
    if !found.is_empty() {
        eprintln!("{text}");
    }
    found
}

/// Returns the parts of a response that must be equal.
fn shown(answer: &Answer, fields: &[&str], port: u16) -> String {
    let own = [
        format!("http://localhost:{port}"),
        format!("http://127.0.0.1:{port}"),
        "http://localhost".to_owned(),
    ];
    let place = answer
        .field("Location")
        .map(|place| own.iter().fold(place.to_owned(), |place, own| place.replace(own, "")));
    let media = answer
        .field("Content-Type")
        .and_then(|media| media.split(';').next())
        .filter(|_| answer.status == 200);
    let mut text = format!("{} {place:?} {media:?}", answer.status);
    // Apache does not add configured response fields to its error pages and redirects.
    for name in fields.iter().filter(|_| matches!(answer.status, 200 | 401)) {
        let _ = write!(text, " {name}={:?}", answer.field(name));
    }
    // Bodies of errors and redirects differ between servers.
    if answer.status == 200 {
        let _ = write!(text, " {:?}", String::from_utf8_lossy(&answer.content()));
    }
    text
}

fn same(site: &Site) {
    let differences = differences(site);
    assert!(differences.is_empty(), "{}:\n{}", site.name, differences.join("\n"));
}

#[test]
fn wordpress_responses_match_apache() {
    same(&WORDPRESS);
}

#[test]
fn laravel_responses_match_apache() {
    same(&LARAVEL);
}

#[test]
fn drupal_responses_match_apache() {
    same(&DRUPAL);
}

#[test]
fn joomla_redirects_and_blocked_visitors_match_apache() {
    same(&JOOMLA);
}

#[test]
fn single_directives_match_apache() {
    same(&PARTS);
}

#[test]
fn old_and_new_access_rules_match_apache() {
    same(&GATES);
}

#[test]
fn virtual_host_sections_match_apache() {
    same(&HOST);
}

#[test]
fn untranslated_directives_are_named_and_set_exit_status() {
    let place = Place::new();
    place.write(
        ".htaccess",
        "RewriteEngine On\nRewriteRule ^api/(.*)$ http://127.0.0.1:9/$1 [P]\nDirectoryIndex a.html\n",
    );
    let output =
        Command::new(binary()).arg("import").arg(place.path(".htaccess")).output().expect("myriad starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains(".htaccess:2: not translated: RewriteRule") && said.contains("proxy_pass"),
        "{said}"
    );
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("# NOT TRANSLATED, line 2") && text.contains("index a.html;"), "{text}");
    let missing =
        Command::new(binary()).arg("import").arg(place.path("nothing")).output().expect("myriad starts");
    assert_eq!(missing.status.code(), Some(1));
}
