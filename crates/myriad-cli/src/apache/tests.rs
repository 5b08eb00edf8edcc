use super::*;

fn translated(text: &str) -> Translation {
    translate(
        text,
        &TranslationOptions { php: Some("/run/php.sock".into()), ..TranslationOptions::default() },
    )
}

/// Returns the untranslated lines as `LINE: REASON`.
fn missing(text: &str) -> Vec<String> {
    let remarks = translated(text).remarks.into_iter().filter(|remark| remark.is_missing);
    remarks.map(|remark| format!("{}: {}", remark.line, remark.reason)).collect()
}

#[test]
fn translated_rules_follow_their_source_lines() {
    let text = "RewriteEngine On\n# comment\nRewriteCond %{REQUEST_FILENAME} !-f\nRewriteRule ^item/([0-9]+)$ item.php?id=$1 [L,QSA]\n";
    let translation = translated(text);
    assert!(translation.is_whole(), "{:?}", translation.remarks);
    for part in [
        "    # 3: RewriteCond %{REQUEST_FILENAME} !-f\n    # 4: RewriteRule ^item/([0-9]+)$ item.php?id=$1 [L,QSA]\n    # -> Replaces the path",
        "if (-f \"$request_filename\") { set $rule \"\"; }",
        "if ($rule) { rewrite \"^/item/([0-9]+)$\" /item.php?id=$1 last; }",
    ] {
        assert!(translation.text.contains(part), "{part}\n{}", translation.text);
    }
}

#[test]
fn query_is_retained_replaced_or_dropped_as_in_apache() {
    for (rule, line) in [
        ("RewriteRule ^a$ b [L]", "rewrite \"^/a$\" /b last;"),
        ("RewriteRule ^a$ b?x=1 [L]", "rewrite \"^/a$\" /b?x=1? last;"),
        ("RewriteRule ^a$ b?x=1 [QSA,L]", "rewrite \"^/a$\" /b?x=1 last;"),
        ("RewriteRule ^a$ b? [L]", "rewrite \"^/a$\" /b? last;"),
        ("RewriteRule ^a$ b [QSD,L]", "rewrite \"^/a$\" /b? last;"),
        ("RewriteRule ^a$ https://x.test/b [NC,R=301]", "rewrite \"(?i)^/a$\" https://x.test/b permanent;"),
        ("RewriteRule ^a$ /b [R=307]", "if ($uri ~ \"^/a$\") { return 307 /b$is_args$args; }"),
        ("RewriteRule ^a$ - [F]", "if ($uri ~ \"^/a$\") { return 403; }"),
        ("RewriteRule !^a$ b [L]", "if ($uri !~ \"^/a$\") { rewrite \"^\" /b last; }"),
        ("RewriteRule ^(.*)-(.*)$ $1_$2.php", "rewrite \"^/(.*)-(.*)$\" /$1_$2.php;"),
        ("RewriteRule ^(a)(b)$ /$1$20$1b", "rewrite \"^/(a)(b)$\" /$1$20$1b;"),
        ("RewriteRule ^[[:alpha:]|^]+$ b", "rewrite \"^/[[:alpha:]|^]+$\" /b;"),
        ("RewriteRule ^a[]|(]$ b", "rewrite \"^/a[]|(]$\" /b;"),
        ("RewriteRule ^a[^]|]$|b$ c", "rewrite \"^/a[^]|]$|^/.*?b$\" /c;"),
        ("RewriteRule ^a|b$ c", "rewrite \"^/a|^/.*?b$\" /c;"),
    ] {
        let translation = translated(&format!("RewriteEngine On\n{rule}\n"));
        assert!(translation.is_whole() && translation.text.contains(line), "{rule}\n{}", translation.text);
    }
}

#[test]
fn folder_of_the_file_stands_before_patterns_and_targets() {
    let options = TranslationOptions { base: "/blog/".into(), ..TranslationOptions::default() };
    let translation = translate("RewriteEngine On\nRewriteRule ^a$ b [L]\n", &options);
    assert!(translation.text.contains("rewrite \"^/blog/a$\" /blog/b last;"), "{}", translation.text);
}

#[test]
fn what_has_no_counterpart_is_named_with_its_line() {
    for (text, part) in [
        ("RewriteEngine On\nRewriteRule ^a$ http://x/ [P]", "2: write a location with proxy_pass"),
        (
            "RewriteEngine On\nRewriteCond expr \"true\"\nRewriteRule a b",
            "3: the condition in line 2: expressions",
        ),
        ("RewriteEngine On\nRewriteRule (^a|b) c", "2: a ^ that is not at the start"),
        ("RewriteEngine On\nRewriteRule ^(a c", "2: the regex is invalid"),
        ("<If \"true\">\nRequire all denied\n</If>", "1: expressions of <If>"),
        ("<Files x>\nRewriteEngine On\nRewriteRule ^ - [L]\n</Files>", "3: a rule in a section"),
        ("<Files x>\nRequire all denied\n", "1: this section is not closed"),
        ("</Files>", "1: no section of this name"),
        ("Header set X \"%{NAME}e\"", "1: the value contains an Apache variable"),
        ("Frobnicate On", "1: the directive has no known counterpart"),
        ("Require host example.com", "1: host names are not supported"),
    ] {
        let missing = missing(text);
        assert!(missing.iter().any(|line| line.starts_with(part)), "{text}: {missing:?}");
    }
}

#[test]
fn rules_chained_to_an_untranslated_rule_are_left_out() {
    let text = "RewriteEngine On\nRewriteRule ^(a c [C]\nRewriteRule ^b$ - [NC,chain]\nRewriteRule ^c$ - [F]\nRewriteRule ^d$ - [F]\n";
    let reason = "the rule that it is chained to is not translated";
    assert_eq!(missing(text)[1..], [format!("3: {reason}"), format!("4: {reason}")]);
    let translation = translated(text).text;
    assert!(translation.contains("^/d$") && !translation.contains("if ($uri ~ \"^/c$\")"), "{translation}");
}

#[test]
fn untranslatable_access_rules_deny_all() {
    for text in [
        "Require host example.com",
        "AuthType Digest\nRequire valid-user",
        "Require user bob",
        "<RequireAll>\nRequire ip 10.0.0.0/8\nRequire expr x\n</RequireAll>",
        "<RequireAny>\nRequire all granted\n<RequireAll>\nRequire all denied\n</RequireAll>\n</RequireAny>",
        "<RequireAll>\nRequire all granted\n<IfModule mod_rewrite.c>\nRequire ip 10.0.0.0/8\n</IfModule>\n</RequireAll>",
        "<RequireAll>\nRequire all granted\nSatisfy any\n</RequireAll>",
        "<RequireAll>\nRequire ip 10.0.0.0/8\nRequire env a\n</RequireAll>",
        "<RequireNone>\nRequire valid-user\n</RequireNone>",
        "Require env",
    ] {
        let translation = translated(text);
        assert!(!translation.is_whole(), "{text}");
        assert!(
            translation.text.contains("set $access \"\";") && translation.text.contains("return 403"),
            "{text}\n{}",
            translation.text
        );
    }
}

#[test]
fn both_kinds_of_access_have_to_be_satisfied() {
    let text = "Order allow,deny\nAllow from 10.0.0.0/8\nRequire ip 192.168.0.0/16\n\
                <Files a>\nOrder deny,allow\n</Files>\n<Files b>\nRequire all granted\n</Files>\n";
    let both = translated(text);
    assert!(both.is_whole(), "{:?}", both.remarks);
    for part in [
        "set $allowed \"\";\n    if ($among_1) { set $allowed 1; }",
        "set $access \"\";\n    if ($among_2) { set $access 1; }",
        "if ($apache_file ~ \"^a$\") { set $allowed 1; }",
        "if ($apache_file ~ \"^b$\") { set $access 1; }",
        "if ($allowed = \"\") { return 403; }",
        "if ($access = \"\") { return 403; }",
    ] {
        assert!(both.text.contains(part), "{part}\n{}", both.text);
    }
    // A module with an untranslated directive does not affect the other module.
    let closed = translated("Allow from 10.0.0.0/8\nDeny from all\nRequire host a.test\n");
    for part in ["set $allowed \"\";\n    if ($among_1) { set $allowed 1; }", "set $access \"\";"] {
        assert!(closed.text.contains(part), "{part}\n{}", closed.text);
    }
}

#[test]
fn password_is_combined_with_address_rules() {
    let translation =
        translated("AuthUserFile /etc/users\nDeny from all\nAllow from 10.0.0.0/8\nRequire valid-user\n");
    assert!(translation.is_whole(), "{:?}", translation.remarks);
    for part in ["auth_basic_user_file /etc/users;", "if ($among_1) { set $allowed 1; }"] {
        assert!(translation.text.contains(part), "{part}\n{}", translation.text);
    }
}

#[test]
fn require_all_granted_has_no_effect_within_require_all() {
    let translation = translated(
        "<RequireAll>\nRequire all granted\nRequire ip 10.0.0.0/8\nRequire not ip 10.1.0.0/16\n</RequireAll>\n",
    );
    let part =
        "set $access \"\";\n    if ($among_1) { set $access 1; }\n    if ($among_2) { set $access \"\"; }";
    assert!(translation.is_whole() && translation.text.contains(part), "{}", translation.text);
}

#[test]
fn access_rules_in_ifmodule_are_translated_or_reported_missing() {
    for module in ["mod_access_compat.c", "access_compat_module", "mod_authz_user.c", "authz_user_module"] {
        let translation = translated(&format!("<IfModule {module}>\nDeny from all\n</IfModule>\n"));
        assert!(
            translation.is_whole() && translation.text.contains("set $allowed \"\";"),
            "{module}\n{}",
            translation.text
        );
    }
    for line in [
        "Require all denied",
        "Order allow,deny",
        "Satisfy any",
        "AuthType Basic",
        "<Files a>\nDeny from all\n</Files>",
    ] {
        let missing = missing(&format!("<IfModule mod_strange.c>\nExpiresActive On\n{line}\n</IfModule>\n"));
        assert!(
            missing.iter().any(|line| line.starts_with("1: Myriad has no such module")),
            "{line}: {missing:?}"
        );
    }
    assert!(translated("<IfModule mod_strange.c>\nStrange On\n</IfModule>\n").is_whole());
}

#[test]
fn every_word_of_a_line_counts() {
    for (text, parts) in [
        (
            "Deny from env=a env=b",
            &["if ($env_a) { set $allowed \"\"; }", "if ($env_b) { set $allowed \"\"; }"][..],
        ),
        (
            "Deny from env=a 1.2.3.4 10.1",
            &["if ($env_a) { set $allowed \"\"; }", "if ($among_1) { set $allowed \"\"; }", "10.1.0.0/16 1;"],
        ),
        ("Deny from 1.2.3.4 all", &["set $allowed 1;\n    set $allowed \"\";"]),
        ("Require env a b", &["if ($env_a) { set $access 1; }", "if ($env_b) { set $access 1; }"]),
        (
            "Require all granted\nRequire not env a b",
            &["if ($env_a) { set $access \"\"; }", "if ($env_b) { set $access \"\"; }"],
        ),
    ] {
        let translation = translated(text);
        for part in parts {
            assert!(
                translation.is_whole() && translation.text.contains(part),
                "{text}: {part}\n{}",
                translation.text
            );
        }
    }
    assert_eq!(missing("Deny from env=a host.test").len(), 1);
}

#[test]
fn networks_are_written_as_prefixes() {
    let translation = translated(
        "Order Deny,Allow\nDeny from all\nAllow from 10.1 192.168.0.0/255.255.0.0 ::1 127.0.0.1\n",
    );
    for part in [
        "    10.1.0.0/16 1;",
        "    192.168.0.0/16 1;",
        "    ::1/128 1;",
        "    127.0.0.1/32 1;",
        "set $allowed \"\";",
        "if ($among_1) { set $allowed 1; }",
    ] {
        assert!(translation.text.contains(part), "{part}\n{}", translation.text);
    }
}

#[test]
fn virtual_hosts_are_servers_of_their_own() {
    let translation = translated(
        "<VirtualHost *:80>\nServerName a.test\nServerAlias www.a.test\nDocumentRoot /srv/a\n<Directory /srv/a>\nRequire all granted\nOptions -Indexes\n</Directory>\n</VirtualHost>\n\
         <VirtualHost *:443>\nServerName b.test\nSSLEngine on\nSSLCertificateFile /etc/b.pem\nSSLCertificateKeyFile /etc/b.key\nRewriteEngine On\nRewriteRule ^/a$ /b [L]\n</VirtualHost>\n",
    );
    for part in [
        "listen 80;\n    server_name a.test www.a.test;\n    root /srv/a;",
        "listen 443 ssl;\n    server_name b.test;",
        "rewrite \"^/a$\" /b last;",
        "autoindex off;",
    ] {
        assert!(translation.text.contains(part), "{part}\n{}", translation.text);
    }
    assert!(translation.is_whole(), "{:?}", translation.remarks);
}

#[test]
fn tab_after_backslash_does_not_terminate_word() {
    let translation = translated("Header set X \"a\\\t\\\"; allow all; #\"\n");
    assert!(
        translation.text.contains(r#"more_set_headers "X: a\\\"; allow all; #";"#),
        "{}",
        translation.text
    );
}

#[test]
fn files_are_asked_by_the_name_of_the_file() {
    for (section, guard) in [
        ("Files wp-login.php", "$apache_file ~ \"^wp-login\\.php$\""),
        ("FilesMatch \"(^#.*#|~)$\"", "$apache_file ~ \"(^#.*#|~)$\""),
        ("FilesMatch \"(?i)^secret\"", "$apache_file ~ \"(?i)^secret\""),
        ("Files ~ \"\\.inc$\"", "$apache_file ~ \"\\.inc$\""),
    ] {
        let end = section.split(' ').next().unwrap_or_default();
        let translation = translated(&format!("SetEnv A b\n<{section}>\nRequire all denied\n</{end}>\n"));
        assert!(translation.is_whole(), "{section} {:?}", translation.remarks);
        let line = format!("if ({guard}) {{ set $access \"\"; }}");
        assert!(translation.text.contains(&line), "{line}\n{}", translation.text);
        assert_eq!(translation.text.matches("(?<apache_file>[^/]*)").count(), 1, "{}", translation.text);
        assert!(
            translation.text.find("(?<apache_file>") < translation.text.find("set $env_a"),
            "{}",
            translation.text
        );
    }
    assert!(!translated("Require all granted").text.contains("$apache_file"));
}

#[test]
fn wildcards_and_ends_of_paths_are_those_of_apache() {
    for (section, guard) in [
        ("Files \"*.b?k\"", "$apache_file ~ \"^[^/]*\\.b[^/]k$\""),
        ("Location /pub", "$uri ~ \"^/pub(/|$)\""),
        ("Location /pub/", "$uri ~ \"^/pub/\""),
        ("Location /", "$uri ~ \"^/\""),
        ("Location /private*", "$uri ~ \"^/private[^/]*$\""),
        ("Directory /srv/a/*/private", "$uri ~ \"^/[^/]*/private/\""),
        ("Directory /srv/a/in", "$uri ~ \"^/in/\""),
    ] {
        let end = section.split(' ').next().unwrap_or_default();
        let text = format!(
            "<VirtualHost *:80>\nDocumentRoot /srv/a\n<{section}>\nRequire all denied\n</{end}>\n</VirtualHost>\n"
        );
        let translation = translated(&text);
        let line = format!("if ({guard}) {{ set $access \"\"; }}");
        assert!(
            translation.is_whole() && translation.text.contains(&line),
            "{section}: {line}\n{}",
            translation.text
        );
    }
    for (section, part) in [
        ("Files \"*.[ps]hp\"", "3: only the wildcards * and ?"),
        ("Files \"a\\*b\"", "3: only the wildcards * and ?"),
        ("Location \"/[ab]\"", "3: only the wildcards * and ?"),
        ("Directory \"/srv/a/[ab]\"", "3: only the wildcards * and ?"),
        ("Directory \"/srv/*/b\"", "3: its wildcards match paths outside"),
        ("Location http://a.test/", "3: the path must start with /"),
    ] {
        let end = section.split(' ').next().unwrap_or_default();
        let text = format!(
            "<VirtualHost *:80>\nDocumentRoot /srv/a\n<{section}>\nRequire all denied\n</{end}>\n</VirtualHost>\n"
        );
        let missing = missing(&text);
        assert!(missing.iter().any(|line| line.starts_with(part)), "{section}: {missing:?}");
    }
    let rule = "<VirtualHost *:80>\nDocumentRoot /srv/a\n<Directory /srv/a/*>\nRewriteEngine On\nRewriteRule ^a$ b\n</Directory>\n</VirtualHost>\n";
    assert!(
        missing(rule).iter().any(|line| line.starts_with("5: a rule in a section")),
        "{:?}",
        missing(rule)
    );
}

/// Tests the order of sections in Apache: folders, the outermost first, then files, then locations.
#[test]
fn sections_come_in_the_order_of_apache() {
    let text = "<VirtualHost *:80>\nDocumentRoot /srv/a\n\
                <Location /private>\nRequire all denied\n</Location>\n\
                <FilesMatch \"\\.inc$\">\nRequire all denied\n</FilesMatch>\n\
                <Directory /srv/a/one/two>\nRequire all denied\n</Directory>\n\
                <Directory /srv/a/one>\nRequire all granted\n<Files secret>\nRequire all denied\n</Files>\n</Directory>\n\
                <Directory /srv/a/longer-name>\nRequire all granted\n</Directory>\n\
                <Directory /srv/a/*/x>\nRequire all denied\n</Directory>\n\
                <Directory /srv/a>\nRequire all granted\n</Directory>\n</VirtualHost>\n";
    let translation = translated(text);
    assert!(translation.is_whole(), "{:?}", translation.remarks);
    let mut at = 0;
    for part in [
        "# 24: <Directory /srv/a>\n",
        "set $access 1;",
        "if ($uri ~ \"^/one/\") { set $access 1; }",
        "if ($uri ~ \"^/longer-name/\") { set $access 1; }",
        "if ($uri ~ \"^/one/two/\") { set $access \"\"; }",
        "if ($uri ~ \"^/[^/]*/x/\") { set $access \"\"; }",
        "if ($apache_file ~ \"\\.inc$\") { set $access \"\"; }",
        "# 12: <Directory /srv/a/one>\n    # 14: <Files secret>\n    # 15: Require all denied",
        "if ($uri !~ \"^/one/\") { set $section \"\"; }",
        "if ($apache_file !~ \"^secret$\") { set $section \"\"; }",
        "if ($uri ~ \"^/private(/|$)\") { set $access \"\"; }",
    ] {
        let found = translation.text[at..].find(part);
        assert!(found.is_some(), "{part}\n{}", translation.text);
        at += found.unwrap_or_default() + part.len();
    }
}

#[test]
fn password_of_a_folder_is_that_of_its_files_alone() {
    let text = "<VirtualHost *:80>\nDocumentRoot /srv/a\n\
                <Directory /srv/a/x>\nAuthUserFile /etc/users\n<Files a>\nRequire valid-user\n</Files>\n</Directory>\n\
                <Files b>\nRequire valid-user\n</Files>\n</VirtualHost>\n";
    let translation = translated(text);
    assert!(translation.text.contains("auth_basic_user_file /etc/users;"), "{}", translation.text);
    assert!(
        translation.text.contains("if ($apache_file ~ \"^b$\") { set $access \"\"; }"),
        "{}",
        translation.text
    );
    assert!(!translation.is_whole());
}

#[test]
fn dollar_in_a_name_is_refused() {
    for (text, part) in [
        ("AuthType Basic\nAuthUserFile /srv/$arg_a/users\nRequire valid-user", "3: only AuthType Basic"),
        ("<VirtualHost *:80>\nDocumentRoot /srv/$host\n</VirtualHost>", "2: a \"$\" cannot"),
        ("<VirtualHost *:80>\nServerName a$b.test\n</VirtualHost>", "2: the name cannot be written"),
        ("<VirtualHost *:80>\nServerAlias a.test ~^.*\n</VirtualHost>", "2: the name cannot be written"),
        ("RewriteEngine On\nRewriteBase /$arg_a/\nRewriteRule ^a$ b", "2: a \"$\" cannot"),
    ] {
        let missing = missing(text);
        assert!(missing.iter().any(|line| line.starts_with(part)), "{text}: {missing:?}");
        let code: Vec<String> = translated(text)
            .text
            .lines()
            .filter(|line| !line.trim_start().starts_with('#'))
            .map(str::to_owned)
            .collect();
        for part in ["$arg_a", "$host", "$b", "~^.*"] {
            assert!(!code.iter().any(|line| line.contains(part)), "{text}\n{}", code.join("\n"));
        }
    }
    assert!(translated("AuthUserFile /$x\nRequire valid-user").text.contains("set $access \"\";"));
}

#[test]
fn realm_named_off_still_requires_password() {
    for name in ["off", "o$ff", "\"o\tff\"", "\"\""] {
        let translation = translated(&format!(
            "AuthType Basic\nAuthName {name}\nAuthUserFile /etc/users\nRequire valid-user\n"
        ));
        assert!(translation.text.contains("auth_basic \"restricted\";"), "{name}\n{}", translation.text);
    }
}

#[test]
fn lifetimes_apply_only_if_they_are_active() {
    let lifetimes = "ExpiresByType text/css A3600\nExpiresDefault \"access plus 1 day\"\n";
    let has_lifetimes = |text: &str| {
        let translation = translated(text);
        assert!(translation.is_whole(), "{text}: {:?}", translation.remarks);
        translation.text.contains("expires $lifetime")
    };
    assert!(has_lifetimes(&format!("ExpiresActive On\n{lifetimes}")));
    assert!(has_lifetimes(&format!("{lifetimes}ExpiresActive On\n")));
    assert!(!has_lifetimes(lifetimes));
    assert!(!has_lifetimes(&format!("ExpiresActive Off\n{lifetimes}")));
    let remarks = translated(lifetimes).remarks;
    assert!(remarks.len() == 2 && remarks[0].reason.contains("no \"ExpiresActive On\""), "{remarks:?}");
    let explained = translated(&format!("ExpiresActive Off\n{lifetimes}")).text;
    assert!(explained.contains("Has no effect because of \"ExpiresActive Off\"."), "{explained}");
    // The section activates them for its files only, and does not deactivate those of the site.
    for (site, section, expected) in [("", "On", false), ("ExpiresActive On\n", "Off", true)] {
        let text = format!("{site}{lifetimes}<FilesMatch \"x$\">\nExpiresActive {section}\n</FilesMatch>\n");
        let translation = translated(&text);
        assert_eq!(translation.text.contains("expires $lifetime"), expected, "{text}");
        assert!(!translation.is_whole(), "{text}");
    }
}
