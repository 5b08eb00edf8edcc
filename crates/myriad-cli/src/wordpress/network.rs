//! Networks of sites that one WordPress serves ("multisite"), according to the constants in `wp-config.php`.

use crate::apache::escaped;

use super::layout::SiteLayout;
use super::php_code::PhpCode;

/// Returns the rules for a network with sites in folders: paths such as `/name/wp-admin/` refer to files of the same
/// WordPress.
fn folders(layout: &SiteLayout) -> String {
    let comment = "# Network of sites in subdirectories: /name/wp-admin/ and similar paths are files of the same WordPress.";
    let (core, content) = (&layout.core, &layout.content);
    let rewrites = if core.is_empty() && content == "wp-content" {
        "rewrite ^/[_0-9a-zA-Z-]+(/wp-(?:admin|content|includes)/.*|/[^/]+\\.php)$ $1 last;".to_owned()
    } else {
        let content_regex = escaped(content);
        format!(
            "rewrite ^/[_0-9a-zA-Z-]+(/{content_regex}/.*)$ $1 last;
            rewrite ^(?:/[_0-9a-zA-Z-]+)?(?:{core_regex})?(/wp-(?:admin|includes)/.*|/[^/]+\\.php)$ {core}$1 last;",
            core_regex = escaped(core),
        )
    };
    format!(
        "{comment}
        if (!-e $request_filename) {{
            rewrite ^(/[_0-9a-zA-Z-]+)?/wp-admin$ $1/wp-admin/ permanent;
            {rewrites}
        }}"
    )
}

/// Returns the rule for the uploads of a network created before WordPress 3.5, which are in `wp-content/blogs.dir`.
fn files(layout: &SiteLayout) -> String {
    format!(
        "# Uploads of an old network.
        rewrite ^(?:/[_0-9a-zA-Z-]+)?/files/(.+)$ {}/wp-includes/ms-files.php?file=$1 last;",
        layout.core
    )
}

/// Returns the rewrite rules of a server for a network; empty for a single site, and for subdomains without old uploads
/// (`blogs.dir`). `kind` is the value of the setting `multisite`; if empty, `wp-config.php` decides.
pub(super) fn rules(kind: &str, layout: &SiteLayout) -> String {
    let kind = if kind.is_empty() { kind_of(layout) } else { kind };
    let folders = (kind == "subdirectories").then(|| folders(layout));
    let files = (kind != "off" && layout.has_content_folder("blogs.dir")).then(|| files(layout));
    [folders, files].into_iter().flatten().collect::<Vec<_>>().join("\n        ")
}

/// Returns whether a WordPress site is a network ("multisite"). `kind` is the value of the setting `multisite`; if
/// empty, `wp-config.php` decides.
pub(super) fn is_network(kind: &str, layout: &SiteLayout) -> bool {
    (if kind.is_empty() { kind_of(layout) } else { kind }) != "off"
}

/// Returns the host of a network's main site (`DOMAIN_CURRENT_SITE` in `wp-config.php`); `None` if it is not defined as
/// a string that consists of the characters of host names.
pub(super) fn main_host(layout: &SiteLayout) -> Option<String> {
    let code = PhpCode::new(&layout.configuration_text());
    let host = match code.defined("DOMAIN_CURRENT_SITE")? {
        [host] => host.text()?,
        _ => return None,
    };
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b".-:".contains(&byte);
    (!host.is_empty() && host.bytes().all(is_letter)).then_some(host)
}

/// Returns the kind of network that `wp-config.php` defines: "off", "subdirectories" or "subdomains". If the file
/// cannot be read, returns "off".
fn kind_of(layout: &SiteLayout) -> &'static str {
    let code = PhpCode::new(&layout.configuration_text());
    match (code.is_true("MULTISITE"), code.is_true("SUBDOMAIN_INSTALL")) {
        (false, _) => "off",
        (true, true) => "subdomains",
        (true, false) => "subdirectories",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_those_of_the_network() {
        let root = std::env::temp_dir().join(format!("myriad-network-{}", std::process::id()));
        std::fs::create_dir_all(root.join("wp-includes")).expect("folder");
        std::fs::write(root.join("index.php"), "<?php").expect("file");
        assert_eq!(rules("", &SiteLayout::usual(root.clone())), "");
        std::fs::write(root.join("wp-config.php"), "<?php\ndefine(\n  'MULTISITE',\n  true\n);\n")
            .expect("file");
        let layout = SiteLayout::find(&root).expect("a folder").expect("WordPress");
        assert!(
            rules("", &layout).contains("!-e $request_filename") && !rules("", &layout).contains("ms-files")
        );
        assert_eq!((rules("off", &layout), rules("subdomains", &layout)), (String::new(), String::new()));
        assert!(is_network("", &layout) && !is_network("off", &layout) && main_host(&layout).is_none());
        for (value, host) in
            [("'a.test'", Some("a.test")), ("\"b:80\"", Some("b:80")), ("'a;b'", None), ("HOST", None)]
        {
            let text =
                format!("<?php\ndefine('MULTISITE', true);\ndefine( 'DOMAIN_CURRENT_SITE', {value} );\n");
            std::fs::write(root.join("wp-config.php"), text).expect("file");
            assert_eq!(main_host(&layout).as_deref(), host);
        }
        let mut bedrock = layout.clone();
        (bedrock.core, bedrock.content) = ("/wp".to_owned(), "app".to_owned());
        let text = rules("subdirectories", &bedrock);
        assert!(text.contains("(/app/.*)$ $1 last") && text.contains(".php)$ /wp$1 last"), "{text}");
        std::fs::create_dir_all(root.join("app/blogs.dir")).expect("folder");
        let told = rules("subdomains", &bedrock);
        assert!(told.contains("/files/(.+)$ /wp/wp-includes/ms-files.php?file=$1 last"), "{told}");
        assert_eq!(rules("subdomains", &layout), "");
        std::fs::create_dir_all(root.join("wp-content/blogs.dir")).expect("folder");
        assert!(
            rules("subdomains", &layout).starts_with("# Uploads") && rules("", &layout).contains("ms-files")
        );
        std::fs::remove_dir_all(&root).expect("clean");
    }
}
