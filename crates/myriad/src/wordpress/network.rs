//! Networks of sites that one WordPress serves ("multisite"): what `wp-config.php` says of them.

use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Most bytes of `wp-config.php` that are read.
const MOST: u64 = 256 << 10;

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

/// What `wp-config.php` says, in the site's folder or the one above, as WordPress looks for it; "off" where it cannot be read.
fn kind_of(root: &Path) -> &'static str {
    let read = |folder: &Path| {
        let mut text = String::new();
        let file = File::open(folder.join("wp-config.php")).ok()?;
        file.metadata().ok()?.is_file().then_some(())?;
        file.take(MOST).read_to_string(&mut text).ok()?;
        Some(text)
    };
    let text = read(root).or_else(|| read(root.parent()?)).unwrap_or_default();
    match (defines(&text, "MULTISITE"), defines(&text, "SUBDOMAIN_INSTALL")) {
        (false, _) => "off",
        (true, true) => "subdomains",
        (true, false) => "subdirectories",
    }
}

/// Whether PHP code has a line `define('NAME', true)`.
fn defines(text: &str, name: &str) -> bool {
    text.lines().any(|line| {
        let plain: String = line.chars().filter(|letter| !letter.is_whitespace()).collect();
        let value = ['\'', '"'].iter().find_map(|quote| {
            plain
                .strip_prefix("define(")?
                .strip_prefix(*quote)?
                .strip_prefix(name)?
                .strip_prefix(*quote)?
                .strip_prefix(',')
        });
        value.is_some_and(|value| value.to_ascii_lowercase().starts_with("true)") || value.starts_with("1)"))
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
        std::fs::create_dir_all(root.join("wp-content/blogs.dir")).expect("folder");
        assert!(rules("subdomains", &root).starts_with("# Uploads") && rules("", &root).contains("ms-files"));
        std::fs::remove_dir_all(&root).expect("clean");
    }
}
