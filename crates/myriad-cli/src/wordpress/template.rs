//! Generation of the configuration: the tokens of the preset are replaced by values of all sites, of each pool of
//! php-fpm and of each site.

use std::path::Path;

use super::cache_plugin_files;
use super::checked_site::{CheckedSite, CheckedSites};
use super::https::HttpsOptions;
use super::options::SiteOptions;
use super::prefix::{ACCESS_LOG, logs};
use super::quoting::quoted;
use super::site_kind::SiteKind;
use super::{cluster, network, php_children, plugin, proxies, sites};
use crate::site_folder::SiteFolder;

/// Line that starts the part of the preset which is repeated for each pool of php-fpm.
const EACH_POOL: &str = "{{each pool}}";
const EACH_SITE: &str = "{{each site}}";
const END: &str = "{{end}}";

/// Directives of a site with the plugin: requests of scripts for the cart are shared if it is empty, and stored for the
/// customer otherwise (`$empty_cart` and `$private_cart` are maps of the preset).
const CART: &str = "fastcgi_cache_share $empty_cart;
        fastcgi_param MYRIAD_EMPTY_CART $empty_cart if_not_empty;
        esi_private_responses $private_cart;
        fastcgi_param MYRIAD_PRIVATE_CART $private_cart if_not_empty;";

/// Tokens of the preset, and the texts that replace them.
type TokenValues<'a> = Vec<(&'a str, String)>;

impl SiteOptions {
    /// Returns the preset filled with the values of these sites. `listens` are the arguments of `listen` for HTTP and
    /// HTTPS.
    pub(super) fn filled(
        &self,
        CheckedSites { served: sites, failed }: &CheckedSites,
        https: &HttpsOptions,
        prefix: &Path,
        (plain, tls): &(Vec<String>, Vec<String>),
    ) -> Result<String, String> {
        let bare = |listens: &[String]| -> Vec<String> {
            listens.iter().map(|listen| sites::without_options(listen)).collect()
        };
        let (mut unknown_names, plain, tls) = if self.is_several() {
            (sites::unknown_names(&[&plain[..], &tls[..]].concat()), bare(plain), bare(tls))
        } else {
            (String::new(), plain.clone(), tls.clone())
        };
        let listen = plain.join(";\n        listen ");
        for site in failed {
            let https = https.server(prefix, &tls, &site.domains)?;
            unknown_names.push_str(&sites::failed_site(&listen, &https, &site.names));
        }
        let cache = prefix.join("cache");
        let pools = pools(sites);
        let has_plugin = |site: &CheckedSite| plugin::hash_of(prefix, &site.zone).is_some();
        // Of several sites, none may purge pages of another: a site with the plugin can be purged only with its secret.
        let is_closed =
            |site: &CheckedSite| site.settings.get("purge") == "off" || sites.len() > 1 && has_plugin(site);
        let purgers =
            |site: &CheckedSite| if is_closed(site) { (" from 0.0.0.0", "deny all;") } else { ("", "") };
        let of_site = |site: &CheckedSite| -> Result<Vec<(&str, String)>, String> {
            let names = if site.names.is_empty() { "_".to_owned() } else { site.names.join(" ") };
            let pool = pool_name(&pools, &site.php);
            let mut values = site.chosen(&pool, self.children_of(&site.php), has_plugin(site));
            values.extend([
                ("listen", listen.clone()),
                ("https", https.server(prefix, &tls, &site.domains)?),
                ("server_name", names),
                ("root", quoted(&site.root)?),
                ("trusted", trusted(&site.root)?),
                ("log", self.log(site, prefix)?),
                ("pool", pool),
                ("cache", quoted(&cache.join(&site.zone))?),
                ("zone", site.zone.clone()),
                ("purgers", purgers(site).0.to_owned()),
                ("purge_access", purgers(site).1.to_owned()),
                ("cart", if has_plugin(site) { CART } else { "" }.to_owned()),
                ("clock", if has_plugin(site) { "fastcgi_param MYRIAD_CLOCK on;" } else { "" }.to_owned()),
            ]);
            Ok(values)
        };
        let of_sites = sites.iter().map(of_site).collect::<Result<Vec<_>, _>>()?;
        let plugins = plugin::server(prefix, sites)?;
        let of_all = [
            ("proxies", proxies::directives(&self.trusted_proxies)),
            ("cluster", cluster::block(&self.cluster, prefix)?),
            ("issuer", https.issuers(prefix)?),
            ("unknown_names", unknown_names),
            ("plugins", plugins),
            ("dashboard", self.dashboard_server()),
        ];
        let of_pools =
            pools.iter().map(|php| self.of_pool(sites, &pools, php)).collect::<Result<Vec<_>, _>>()?;
        Ok(fill(self.kind.preset(), &of_all, &[(EACH_POOL, &of_pools), (EACH_SITE, &of_sites)]))
    }

    /// Returns the directive for the access log of a site; empty if it is off.
    fn log(&self, site: &CheckedSite, prefix: &Path) -> Result<String, String> {
        let format = site.settings.get("log");
        if format == "off" {
            return Ok(String::new());
        }
        let name =
            if self.is_several() { format!("{}.{ACCESS_LOG}", site.zone) } else { ACCESS_LOG.to_owned() };
        let path = quoted(&logs(prefix).join(name))?;
        Ok(format!("access_log {path} {format} buffer=64k flush=1s;"))
    }

    /// Returns the token values of a pool of php-fpm.
    fn of_pool<'a>(
        &self,
        sites: &[CheckedSite],
        pools: &[&str],
        php: &str,
    ) -> Result<TokenValues<'a>, String> {
        let name = sites.iter().find(|site| site.php == php).and_then(|site| site.php_name.as_ref());
        let pool = pool_name(pools, php);
        Ok(vec![
            ("php", name.map_or_else(|| quoted(Path::new(php)), |name| Ok(name.server.clone()))?),
            ("php_names", name.map(|name| name.of_group(&pool)).unwrap_or_default()),
            ("pool", pool),
            ("php_children", self.children_of(php).to_string()),
        ])
    }

    /// Returns the number of children of a pool of php-fpm: that of `--php-children`, otherwise that of the pool's
    /// configuration, otherwise [`php_children::UNKNOWN`].
    fn children_of(&self, php: &str) -> u32 {
        self.children.or_else(|| php_children::of_running(php)).unwrap_or(php_children::UNKNOWN)
    }
}

impl CheckedSite {
    /// Returns the token values that depend on the settings of the site.
    ///
    /// `children` is the number of children of its pool of php-fpm. With the Myriad plugin (`has_plugin`), files of
    /// cache plugins are not served by default, because the Myriad plugin is not notified when they are removed.
    fn chosen<'a>(&self, pool: &str, children: u32, has_plugin: bool) -> TokenValues<'a> {
        let settings = &self.settings;
        let is = |name: &str, value: &str| settings.get(name) == value;
        let or_nothing = |holds: bool, text: &str| if holds { text } else { "" }.to_owned();
        let (queue_zone, site_children) = match settings.get("children") {
            "" => (pool.to_owned(), children.to_string()),
            own => (self.zone.clone(), own.to_owned()),
        };
        let memory = settings.get("memory");
        let status = Some(settings.get("status")).filter(|path| !path.is_empty());
        let status = status.map(|path| format!(" status={path}")).unwrap_or_default();
        let written = cache_plugin_files::paths(&self.layout.content, &self.cache_plugins(has_plugin));
        // A cache plugin only removes its file of a changed page, so Myriad's copy must expire soon.
        let (validity, grace) = match (written.is_empty(), settings.has("validity")) {
            (true, false) if self.kind == SiteKind::Php => ("10s", "10s"),
            (true, _) => (settings.get("validity"), "10m"),
            (false, true) => (settings.get("validity"), "1s"),
            (false, false) => (cache_plugin_files::WRITTEN_VALIDITY, "1s"),
        };
        vec![
            ("choices", settings.choices()),
            ("search", settings.get("search").to_owned()),
            ("rest", settings.get("rest").to_owned()),
            ("multisite", network::rules(settings.get("multisite"), &self.layout)),
            ("content", self.layout.content_regex()),
            ("core", self.layout.core.clone()),
            ("configuration", self.layout.configuration_path()),
            ("script_root", self.layout.script_root().to_owned()),
            ("denied", self.denied.locations()),
            ("admitted", self.denied.admitted()),
            ("plugin_headers", or_nothing(!written.is_empty(), PLUGIN_HEADERS)),
            ("grace", grace.to_owned()),
            ("plugin_pages", written),
            ("agents", or_nothing(is("link_previews", "fresh"), " $own_by_agent")),
            ("xmlrpc", or_nothing(is("xmlrpc", "off"), XMLRPC_OFF)),
            (
                "frames",
                or_nothing(
                    is("frames", "same"),
                    "origin_add_header X-Frame-Options $frame_options unless=Content-Security-Policy;",
                ),
            ),
            ("validity", validity.to_owned()),
            ("adaptive", settings.get("adaptive").to_owned()),
            ("optimize", or_nothing(is("optimize", "safe"), "optimize safe;")),
            ("uploads", settings.get("uploads").to_owned()),
            ("disk", settings.get("disk").to_owned()),
            ("memory", if memory.is_empty() { String::new() } else { format!(" memory={memory}") }),
            ("queue_zone", queue_zone),
            ("site_children", site_children),
            ("queue", settings.get("queue").to_owned()),
            ("status", status),
        ]
    }
}

/// Additional directives for `location /` if it serves files of cache plugins.
const PLUGIN_HEADERS: &str = "gzip_static on;
            add_header X-Content-Type-Options nosniff;
            add_header X-Frame-Options $frame_options;
            add_header Cache-Control $written_control;";

/// Location that rejects requests for XML-RPC.
const XMLRPC_OFF: &str = "location ~* \"/xmlrpc\\.php(?:/|$)\" {
            return 403;
        }";

/// Returns the part of a document root's path in which links are followed without a check (`disable_symlinks from=`).
fn trusted(root: &Path) -> Result<String, String> {
    let site = SiteFolder::new(root);
    if site.trusted() == root { Ok("$document_root".to_owned()) } else { quoted(site.trusted()) }
}

/// Returns the addresses of the pools of php-fpm, each once.
fn pools(sites: &[CheckedSite]) -> Vec<&str> {
    let mut pools: Vec<&str> = Vec::new();
    for site in sites {
        if !pools.contains(&&*site.php) {
            pools.push(&site.php);
        }
    }
    pools
}

/// Returns the name of the `upstream` block for a pool of php-fpm, which sites with the same pool share.
fn pool_name(pools: &[&str], php: &str) -> String {
    match pools.iter().position(|pool| *pool == php) {
        None | Some(0) => "php".to_owned(),
        Some(index) => format!("php-{}", index + 1),
    }
}

/// Replaces the tokens of the preset: in repeated parts by each list of values of the part, elsewhere by `of_all`.
fn fill(preset: &str, of_all: &[(&str, String)], parts: &[(&str, &[TokenValues<'_>])]) -> String {
    let mut text = String::with_capacity(preset.len() + 4096);
    let mut lines = preset.split_inclusive('\n');
    while let Some(line) = lines.next() {
        let Some((_, each)) = parts.iter().find(|(begin, _)| line.trim() == *begin) else {
            text.push_str(&fill_lines(line, of_all));
            continue;
        };
        let part: String = lines.by_ref().take_while(|line| line.trim() != END).collect();
        for values in *each {
            text.push_str(&fill_lines(&part, values));
        }
    }
    text
}

/// Replaces tokens, except in comments and tokens without a value in `values`. Tokens in inserted text are not
/// replaced. A line that contains only a token with an empty value is left out.
fn fill_lines(preset: &str, values: &[(&str, String)]) -> String {
    let mut text = String::with_capacity(preset.len() + 256);
    for line in preset.split_inclusive('\n') {
        if line.trim_start().starts_with('#') {
            text.push_str(line);
            continue;
        }
        let mut rest = line;
        // A line that contains only a token with an empty value is left out.
        let alone = line.trim().strip_prefix("{{").and_then(|word| word.strip_suffix("}}"));
        if alone.is_some_and(|word| values.iter().any(|(known, value)| *known == word && value.is_empty())) {
            continue;
        }
        while let Some((before, after)) = rest.split_once("{{") {
            let token = after.split_once("}}");
            let value = token.and_then(|(name, _)| values.iter().find(|(known, _)| *known == name));
            text.push_str(before);
            if let (Some((_, tail)), Some((_, value))) = (token, value) {
                text.push_str(value);
                rest = tail;
            } else {
                text.push_str("{{");
                rest = after;
            }
        }
        text.push_str(rest);
    }
    text
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::super::denied_paths::DeniedSitePaths;
    use super::super::layout::SiteLayout;
    use super::super::settings::SiteSettings;
    use super::*;

    #[test]
    fn every_token_of_the_presets_is_filled_in() {
        for kind in [SiteKind::WordPress, SiteKind::Php] {
            let text = filled_in(kind);
            let code: Vec<_> = text.lines().filter(|line| !line.trim_start().starts_with('#')).collect();
            let count = |wanted: &str| code.iter().filter(|line| line.trim() == wanted).count();
            assert!(!code.iter().any(|line| line.contains("{{")), "a token is left");
            assert_eq!(
                (count("root R;"), count("disable_symlinks if_not_owner from=Y;")),
                (2, 2),
                "each site has its own root"
            );
            assert_eq!(text.matches("keys_zone=Z:").count(), 2);
            assert_eq!((count("U;"), count("server P max_conns=5;"), count("N;")), (1, 1, 1));
            assert_eq!((count("H;"), count("fastcgi_cache_purge on from 0.0.0.0;")), (2, 2));
        }
    }

    /// Returns the preset filled with the values of two sites that use the same php-fpm pool.
    fn filled_in(kind: SiteKind) -> String {
        let names = [
            ("listen", "L"),
            ("https", "H;"),
            ("server_name", "S"),
            ("root", "R"),
            ("trusted", "Y"),
            ("pool", "G"),
        ];
        let more = [
            ("cache", "C"),
            ("zone", "Z"),
            ("purgers", " from 0.0.0.0"),
            ("purge_access", "deny all;"),
            ("cart", "E;"),
            ("clock", "K;"),
            ("log", "L;"),
        ];
        let checked = CheckedSite {
            kind,
            names: Vec::new(),
            domains: Vec::new(),
            root: PathBuf::from("/nowhere"),
            layout: SiteLayout::usual(PathBuf::from("/nowhere")),
            php: "P".to_owned(),
            php_name: None,
            zone: "Z".to_owned(),
            settings: SiteSettings::default(),
            denied: DeniedSitePaths::default(),
        };
        let owned = |values: Vec<(&'static str, &str)>| -> Vec<_> {
            values.into_iter().map(|(name, value)| (name, value.to_owned())).collect()
        };
        let mut site = owned(names.into_iter().chain(more).collect());
        site.extend(checked.chosen("G", 5, false));
        let pool = owned(vec![("pool", "G"), ("php", "P"), ("php_children", "5"), ("php_names", "N;")]);
        let of_all = [
            ("cluster", "B"),
            ("issuer", "I;"),
            ("unknown_names", "U;"),
            ("plugins", "A;"),
            ("dashboard", "D;"),
            ("proxies", "X;"),
        ];
        let of_all = of_all.map(|(name, value)| (name, value.to_owned()));
        fill(kind.preset(), &of_all, &[(EACH_POOL, &[pool]), (EACH_SITE, &[site.clone(), site])])
    }

    #[test]
    fn pages_of_an_active_cache_plugin_are_looked_for_and_shares_are_a_site_s_own() {
        let root = std::env::temp_dir().join(format!("myriad-written-{}", std::process::id()));
        std::fs::create_dir_all(root.join("wp-content/cache/supercache")).expect("folder");
        let site = |settings: &[&str]| {
            let mut given = SiteSettings::default();
            for text in settings {
                given.add(text).expect("sound");
            }
            CheckedSite {
                kind: SiteKind::WordPress,
                names: Vec::new(),
                domains: Vec::new(),
                root: root.clone(),
                layout: SiteLayout::usual(root.clone()),
                php: "P".to_owned(),
                php_name: None,
                zone: "Z".to_owned(),
                settings: given,
                denied: DeniedSitePaths::default(),
            }
        };
        let value = |site: &CheckedSite, has_plugin: bool, name: &str| {
            let values = site.chosen("php", 8, has_plugin);
            values.into_iter().find(|(known, _)| *known == name).expect(name).1
        };
        // The remaining folder of a removed plugin does not count.
        assert_eq!(value(&site(&[]), false, "plugin_pages"), "");
        assert_eq!(
            (value(&site(&[]), false, "validity"), site(&[]).cache_plugin_notice(false)),
            ("1m".into(), None)
        );
        let drop_in = "<?php\n# WP SUPER CACHE 1.2\nfunction wpcache_broken_message() {}";
        std::fs::write(root.join("wp-content/advanced-cache.php"), drop_in).expect("a drop-in");
        let notice = site(&[]).cache_plugin_notice(false).expect("a notice");
        assert!(notice.contains("WP Super Cache") && notice.contains("valid for 10s"), "{notice}");
        assert_eq!(site(&[]).cache_plugin_notice(true), None);
        assert_eq!(site(&["plugin_pages=on"]).cache_plugin_notice(false), None);
        let found = value(&site(&[]), false, "plugin_pages");
        assert!(found.contains("/supercache/") && !found.contains("wp-rocket"), "{found}");
        assert_eq!(value(&site(&[]), false, "validity"), "10s");
        assert_eq!(value(&site(&["validity=2m"]), false, "validity"), "2m");
        assert_eq!(
            value(&site(&[]), true, "plugin_pages"),
            "",
            "the plugin does not purge pages of such files"
        );
        assert_eq!(value(&site(&["plugin_pages=off"]), false, "grace"), "10m");
        assert!(value(&site(&["plugin_pages=on"]), true, "plugin_pages").contains("wp-rocket"));
        let share = site(&["children=3", "memory=16m"]);
        assert_eq!(
            (value(&share, false, "queue_zone"), value(&share, false, "site_children")),
            ("Z".into(), "3".into())
        );
        assert_eq!(value(&share, false, "memory"), " memory=16m");
        assert_eq!(value(&site(&[]), false, "queue_zone"), "php");
        std::fs::remove_dir_all(&root).expect("clean");
    }

    #[test]
    fn sites_with_one_pool_share_its_group() {
        let site = |php: &str| CheckedSite {
            kind: SiteKind::WordPress,
            names: Vec::new(),
            domains: Vec::new(),
            root: PathBuf::new(),
            layout: SiteLayout::usual(PathBuf::new()),
            php: php.to_owned(),
            php_name: None,
            zone: String::new(),
            settings: SiteSettings::default(),
            denied: DeniedSitePaths::default(),
        };
        let sites = ["unix:/a", "unix:/b", "unix:/a"].map(site);
        let pools = pools(&sites);
        assert_eq!(pools, ["unix:/a", "unix:/b"]);
        assert_eq!(sites.each_ref().map(|site| pool_name(&pools, &site.php)), ["php", "php-2", "php"]);
    }

    #[test]
    fn a_value_that_looks_like_a_token_stays_as_it_is() {
        let values = [("root", "{{php}}".to_owned()), ("php", "no".to_owned())];
        assert_eq!(fill_lines("root {{root}};", &values), "root {{php}};");
    }
}
