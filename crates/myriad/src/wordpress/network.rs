//! Networks of sites that one WordPress serves ("multisite"): what `wp-config.php` says of them.

use std::path::Path;

use crate::site_folder::SiteFolder;

/// Rules for the sites of a network in folders: `/name/wp-admin/` and the like are the one WordPress's own files.
const FOLDERS: &str =
    "# A network of sites in folders: /name/wp-admin/ and the like are files of the one WordPress.
        if (!-e $request_filename) {
            rewrite ^(/[_0-9a-zA-Z-]+)?/wp-admin$ $1/wp-admin/ permanent;
            rewrite ^/[_0-9a-zA-Z-]+(/wp-(?:admin|content|includes)/.*|/[^/]+\\.php)$ $1 last;
        }";

/// Rule for networks from before WordPress 3.5, which keep uploads in `wp-content/blogs.dir`.
const FILES: &str = "# Uploads of an old network.
        rewrite ^(?:/[_0-9a-zA-Z-]+)?/files/(.+)$ /wp-includes/ms-files.php?file=$1 last;";

/// Rules of a server for a network: `kind` is the value of the setting, empty where `wp-config.php` is to say.
pub(super) fn rules(kind: &str, root: &Path) -> String {
    let kind = if kind.is_empty() { kind_of(root) } else { kind };
    let folders = (kind == "subdirectories").then_some(FOLDERS);
    let files = (kind != "off" && root.join("wp-content/blogs.dir").is_dir()).then_some(FILES);
    [folders, files].into_iter().flatten().collect::<Vec<_>>().join("\n        ")
}

/// Whether a site is a network; `kind` as with [`rules`].
pub(super) fn is_network(kind: &str, root: &Path) -> bool {
    (if kind.is_empty() { kind_of(root) } else { kind }) != "off"
}

/// Host of a network's main site, as `wp-config.php` says it (`DOMAIN_CURRENT_SITE`).
pub(super) fn main_host(root: &Path) -> Option<String> {
    let text = configuration(root);
    let value = text.lines().find_map(|line| defined(line, "DOMAIN_CURRENT_SITE"))?;
    let (quote, rest) = value.split_at_checked(1)?;
    let host = rest.split(quote).next().filter(|_| matches!(quote, "'" | "\""))?;
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b".-:".contains(&byte);
    (!host.is_empty() && host.bytes().all(is_letter)).then(|| host.to_owned())
}

/// `wp-config.php`, in the site's folder or the one above, as WordPress looks for it; empty where it cannot be read.
fn configuration(root: &Path) -> String {
    let site = SiteFolder::new(root);
    site.text("wp-config.php").or_else(|_| site.text("../wp-config.php")).unwrap_or_default()
}

/// What `wp-config.php` says; "off" where it cannot be read.
fn kind_of(root: &Path) -> &'static str {
    let text = configuration(root);
    match (defines(&text, "MULTISITE"), defines(&text, "SUBDOMAIN_INSTALL")) {
        (false, _) => "off",
        (true, true) => "subdomains",
        (true, false) => "subdirectories",
    }
}

/// Whether PHP code has a line `define('NAME', true)`.
fn defines(text: &str, name: &str) -> bool {
    text.lines().any(|line| {
        defined(line, name)
            .is_some_and(|value| value.to_ascii_lowercase().starts_with("true)") || value.starts_with("1)"))
    })
}

/// What a line `define('NAME', VALUE);` says from the value on, without blanks.
fn defined(line: &str, name: &str) -> Option<String> {
    let plain: String = line.chars().filter(|letter| !letter.is_whitespace()).collect();
    ['\'', '"'].iter().find_map(|quote| {
        let rest = plain.strip_prefix("define(")?.strip_prefix(*quote)?;
        rest.strip_prefix(name)?.strip_prefix(*quote)?.strip_prefix(',').map(str::to_owned)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wp_config_says_which_network_it_is() {
        let text = "<?php\n  define( 'MULTISITE', true );\n// define('SUBDOMAIN_INSTALL', true);\ndefine(\"WP_DEBUG\", false);";
        assert!(
            defines(text, "MULTISITE") && !defines(text, "SUBDOMAIN_INSTALL") && !defines(text, "WP_DEBUG")
        );
        assert!(defines("define('SUBDOMAIN_INSTALL',TRUE);", "SUBDOMAIN_INSTALL"));
        assert!(!defines("define('WP_ALLOW_MULTISITE', true);", "MULTISITE"));
    }

    #[test]
    fn rules_are_those_of_the_network() {
        let root = std::env::temp_dir().join(format!("myriad-network-{}", std::process::id()));
        std::fs::create_dir_all(&root).expect("folder");
        assert_eq!(rules("", &root), "");
        std::fs::write(root.join("wp-config.php"), "<?php\ndefine('MULTISITE', true);\n").expect("file");
        assert!(rules("", &root).contains("!-e $request_filename") && !rules("", &root).contains("ms-files"));
        assert_eq!((rules("off", &root), rules("subdomains", &root)), (String::new(), String::new()));
        assert!(is_network("", &root) && !is_network("off", &root) && main_host(&root).is_none());
        for (value, host) in
            [("'a.test'", Some("a.test")), ("\"b:80\"", Some("b:80")), ("'a;b'", None), ("HOST", None)]
        {
            let text =
                format!("<?php\ndefine('MULTISITE', true);\ndefine( 'DOMAIN_CURRENT_SITE', {value} );\n");
            std::fs::write(root.join("wp-config.php"), text).expect("file");
            assert_eq!(main_host(&root).as_deref(), host);
        }
        std::fs::create_dir_all(root.join("wp-content/blogs.dir")).expect("folder");
        assert!(rules("subdomains", &root).starts_with("# Uploads") && rules("", &root).contains("ms-files"));
        std::fs::remove_dir_all(&root).expect("clean");
    }
}
