//! WordPress plugin that notifies Myriad of changed pages: its files, the secret that it shares with Myriad, and the
//! socket on which Myriad receives its requests.
//!
//! ```text
//! --install-plugin -> PREFIX/plugins/ZONE                             hash of the secret; read at start and reload
//!                  -> wp-content/plugins/myriad-cache/                files of the plugin
//!                  -> wp-content/plugins/myriad-cache/connection.php  the secret, and the path of the socket
//! start            -> PREFIX/plugins/plugin.sock                      the socket; PHP must access only its folder
//! ```

use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

use myriad_log::LogLevel;
use sha2::{Digest, Sha256};

use super::checked_site::{CheckedSite, content_of};
use super::network;
use super::options::SiteOptions;
use super::plugin_placement::PluginPlacement;
use super::prefix::prefix;
use super::quoting::quoted;
use super::site_files::{WritableFolder, as_owner, hex, random};
use crate::instance::holder;
use crate::pidfile::reason;
use crate::report::print_message;
use crate::site_folder::read_named;

/// Path of a file relative to the plugin's folder, and its contents.
type PluginFile = (&'static str, &'static str);

/// Lists files of the plugin, which are built into the binary.
macro_rules! files {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../../../wordpress/myriad-cache/", $name)))),*]
    };
}

const FILES: &[PluginFile] = files![
    "myriad-cache.php",
    "uninstall.php",
    "readme.txt",
    "includes/ask-for-user.php",
    "includes/class-myriad-cache-actor.php",
    "includes/class-myriad-cache-address.php",
    "includes/class-myriad-cache-admin.php",
    "includes/class-myriad-cache-bar.php",
    "includes/class-myriad-cache-block-parser.php",
    "includes/class-myriad-cache-callers.php",
    "includes/class-myriad-cache-causes.php",
    "includes/class-myriad-cache-changes.php",
    "includes/class-myriad-cache-cli.php",
    "includes/class-myriad-cache-client.php",
    "includes/class-myriad-cache-clock.php",
    "includes/class-myriad-cache-comparison.php",
    "includes/class-myriad-cache-currency.php",
    "includes/class-myriad-cache-device.php",
    "includes/class-myriad-cache-direct-writes.php",
    "includes/class-myriad-cache-empty-cart.php",
    "includes/class-myriad-cache-files.php",
    "includes/class-myriad-cache-foreign-purges.php",
    "includes/class-myriad-cache-fragments.php",
    "includes/class-myriad-cache-header.php",
    "includes/class-myriad-cache-health.php",
    "includes/class-myriad-cache-hooks.php",
    "includes/class-myriad-cache-installation.php",
    "includes/class-myriad-cache-known.php",
    "includes/class-myriad-cache-lists.php",
    "includes/class-myriad-cache-memory.php",
    "includes/class-myriad-cache-nonces.php",
    "includes/class-myriad-cache-notes.php",
    "includes/class-myriad-cache-options.php",
    "includes/class-myriad-cache-other-caches.php",
    "includes/class-myriad-cache-page.php",
    "includes/class-myriad-cache-parts.php",
    "includes/class-myriad-cache-post-changes.php",
    "includes/class-myriad-cache-private-cart.php",
    "includes/class-myriad-cache-queue.php",
    "includes/class-myriad-cache-reads.php",
    "includes/class-myriad-cache-selections.php",
    "includes/class-myriad-cache-session.php",
    "includes/class-myriad-cache-shop.php",
    "includes/class-myriad-cache-sql.php",
    "includes/class-myriad-cache-state.php",
    "includes/class-myriad-cache-stock.php",
    "includes/class-myriad-cache-table-times.php",
    "includes/class-myriad-cache-tables.php",
    "includes/class-myriad-cache-tags.php",
    "includes/class-myriad-cache-term-changes.php",
    "includes/class-myriad-cache-times.php",
    "includes/class-myriad-cache-titles.php",
    "includes/class-myriad-cache-trace-callback.php",
    "includes/class-myriad-cache-trace.php",
    "includes/class-myriad-cache-transients.php",
    "includes/class-myriad-cache-value-tags.php",
    "includes/class-myriad-cache-values.php",
    "includes/class-myriad-cache-visitor.php",
    "includes/class-myriad-cache-warm.php",
    "includes/class-myriad-cache-watch.php",
    "includes/class-myriad-cache-writes.php",
    "languages/myriad-cache.pot",
];

/// File in `mu-plugins` that loads the plugin: WordPress does not search folders below `mu-plugins`.
const LOADER: &str = "<?php\n/**\n * Plugin Name: Myriad Cache (must-use)\n * Description: Notifies the Myriad web accelerator of \
     changed pages.\n *\n * @package Myriad_Cache\n */\n\nrequire __DIR__ . '/myriad-cache/myriad-cache.php';\n";

/// Name of the plugin's folder.
const NAME: &str = "myriad-cache";
/// Interval at which WordPress is requested to run its scheduled tasks.
const CLOCK: &str = "15s";
/// Directives that permit slow requests to the API of a plugin: the request `POST …/writes` remains open, without data,
/// while PHP writes, which takes minutes for cron.
const WRITES: &str = "client_body_timeout 10m; client_min_rate off;";
/// Length of a secret, in bytes.
const SECRET_BYTES: usize = 32;

/// Returns the hash of the secret of a site's plugin, in hexadecimal digits; `None` if the plugin is not installed, or
/// the stored hash cannot be read or is invalid.
pub(super) fn hash_of(prefix: &Path, zone: &str) -> Option<String> {
    let text = read_named(&prefix.join("plugins").join(zone), 1 << 10).ok()?;
    let hash = String::from_utf8(text).ok()?.trim().to_owned();
    (hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(hash)
}

/// Returns the `upstream` and `server` blocks for the plugins, which use a Unix socket that visitors cannot reach;
/// empty if no site has the plugin.
pub(super) fn server(prefix: &Path, sites: &[CheckedSite]) -> Result<String, String> {
    let (mut groups, mut places) = (String::new(), String::new());
    for site in sites {
        let zone = &site.zone;
        let Some(hash) = hash_of(prefix, zone) else { continue };
        let _ = write!(
            places,
            "\n        location /{zone}/ {{ api write=on zone={zone} secret_sha256={hash}; {WRITES} }}"
        );
        let (server, names) = match &site.php_name {
            Some(name) => (name.server.clone(), name.of_group(&format!("{zone}-clock"))),
            None => (quoted(Path::new(&site.php))?, String::new()),
        };
        let _ = write!(groups, "upstream {zone}-clock {{ {names} server {server}; }}\n    ");
        places.push_str(&clock(site)?);
        if network::is_network(site.settings.get("multisite"), &site.layout) {
            places.push_str(&clock_of_others(site)?);
        }
    }
    if places.is_empty() {
        return Ok(places);
    }
    let socket = quoted(Path::new(&format!("unix:{}", socket(prefix).display())))?;
    Ok(format!(
        "{groups}server {{\n        listen {socket};\n        server_name localhost;{places}\n        location / {{ return 404; }}\n    }}"
    ))
}

/// Returns the location by which the main site of a network runs the scheduled tasks of another one. The plugin sends a
/// request with the other site's host, and its folder in the argument `site`. `wp-cron.php` sends its response before
/// it starts to work.
fn clock_of_others(site: &CheckedSite) -> Result<String, String> {
    let script = quoted(&site.layout.core_folder().join("wp-cron.php"))?;
    let https = if site.domains.is_empty() { "\"\"" } else { "on" };
    Ok(format!(
        "
        location = /{zone}/clock {{
            if ($arg_site !~ \"^/(?:[_0-9a-zA-Z./-]*/)?$\") {{ return 400; }}
            fastcgi_pass {zone}-clock;
            fastcgi_ignore_client_abort on;
            fastcgi_param SCRIPT_FILENAME {script};
            fastcgi_param SCRIPT_NAME ${{arg_site}}{core}wp-cron.php;
            fastcgi_param REQUEST_URI ${{arg_site}}{core}wp-cron.php;
            fastcgi_param REQUEST_METHOD GET;
            fastcgi_param SERVER_PROTOCOL HTTP/1.1;
            fastcgi_param REMOTE_ADDR 127.0.0.1;
            fastcgi_param REDIRECT_STATUS 200;
            fastcgi_param HTTP_HOST $http_host;
            fastcgi_param HTTPS {https};
        }}",
        zone = site.zone,
        core = site.layout.core.strip_prefix('/').map(|core| format!("{core}/")).unwrap_or_default(),
    ))
}

/// Returns the location that runs the scheduled tasks of a site. WordPress itself runs them only when visits reach PHP,
/// which visits to cached pages do not. A health check of an `upstream` that serves no visitors sends the requests: one
/// worker sends them at regular intervals.
fn clock(site: &CheckedSite) -> Result<String, String> {
    let script = quoted(&site.layout.core_folder().join("wp-cron.php"))?;
    let is_network = network::is_network(site.settings.get("multisite"), &site.layout);
    let main = is_network.then(|| network::main_host(&site.layout)).flatten();
    let host = main.as_ref().or(site.names.first().filter(|name| !name.starts_with(['_', '*', '.', '~'])));
    let uri = format!("{}/wp-cron.php", site.layout.core);
    let params = [
        ("SCRIPT_FILENAME", script.as_str()),
        ("SCRIPT_NAME", &uri),
        ("REQUEST_URI", &uri),
        ("REQUEST_METHOD", "GET"),
        ("SERVER_PROTOCOL", "HTTP/1.1"),
        ("REMOTE_ADDR", "127.0.0.1"),
        ("REDIRECT_STATUS", "200"),
        ("HTTP_HOST", host.map_or("localhost", |name| name)),
        ("HTTPS", if site.domains.is_empty() { "\"\"" } else { "on" }),
        // In a network, the plugin handles the other sites.
        ("MYRIAD_CLOCK", if is_network { "network" } else { "on" }),
    ];
    let mut text = format!(
        "\n        location /{zone}-clock {{\n            fastcgi_pass {zone}-clock;\n            health_check interval={CLOCK} uri={uri};",
        zone = site.zone
    );
    for (name, value) in params {
        let _ = write!(text, "\n            fastcgi_param {name} {value};");
    }
    text.push_str("\n        }");
    Ok(text)
}

fn socket(prefix: &Path) -> PathBuf {
    prefix.join("plugins/plugin.sock")
}

impl SiteOptions {
    /// Installs the plugin in the folders of the sites. Returns lines that describe the result; prints a warning if no
    /// server uses the prefix.
    ///
    /// # Errors
    /// Returns an error text with the folder that cannot be written, and a remedy.
    pub fn install_plugin(&self, placement: PluginPlacement) -> Result<Vec<String>, String> {
        let prefix = std::path::absolute(prefix(self.prefix.as_deref()))
            .map_err(|error| format!("wordpress: --prefix: {error}"))?;
        let mut done = Vec::new();
        for (root, zone) in self.roots()? {
            let content = content_of("--install-plugin", self.source_of_roots(), &root)?;
            let secret = random::<SECRET_BYTES>("--install-plugin")?;
            let connection = connection(&prefix, &zone, &secret)?;
            let hashes = hashes(&prefix)?;
            let previous = keep_hash(&hashes, &zone, &secret).map_err(|error| unwritable(&prefix, &error))?;
            as_owner("--install-plugin", &content, |content| write_plugin(content, placement, &connection))
                .or_else(|failed| restore_hash(&hashes, &zone, previous.as_deref(), failed))?;
            let plugin = content.0.join(placement.folder()).join(NAME);
            done.push(format!("the plugin was installed in {}", plugin.display()));
        }
        done.push(match placement {
            PluginPlacement::Plugin => {
                "activate it: wp plugin activate myriad-cache, or in Plugins of the WordPress admin"
                    .to_owned()
            }
            PluginPlacement::MustUse => "as a must-use plugin, it is active".to_owned(),
        });
        if let Ok(None) = holder(&prefix) {
            print_message(LogLevel::Warn, &no_server(&prefix));
        } else {
            done.push(format!("reload Myriad: myriad wordpress reload --prefix {}", prefix.display()));
        }
        Ok(done)
    }
}

/// Returns the warning that no running server uses the prefix.
fn no_server(prefix: &Path) -> String {
    format!(
        "wordpress: --install-plugin: no server is running with the prefix {0}, so the plugin cannot connect; start \
             Myriad with --prefix {0}, or run this command again with the --prefix of the running server",
        prefix.display()
    )
}

/// Opens the folder `plugins` of the prefix, which contains the hashes of secrets; creates it if it does not exist.
fn hashes(prefix: &Path) -> Result<WritableFolder, String> {
    WritableFolder::of_server(&prefix.join("plugins")).map_err(|error| unwritable(prefix, &error))
}

/// Returns the error text for a folder of hashes that cannot be written.
fn unwritable(prefix: &Path, error: &io::Error) -> String {
    format!(
        "wordpress: --install-plugin: {}: {}; set --prefix to a writable folder, which Myriad also runs with",
        prefix.join("plugins").display(),
        reason(error)
    )
}

/// Stores the hash of a new secret. Returns the previous contents of its file; `None` if it did not exist.
fn keep_hash(hashes: &WritableFolder, zone: &str, secret: &str) -> io::Result<Option<String>> {
    let previous = hashes.text(zone)?;
    let hash = hex(&Sha256::digest(secret.as_bytes()));
    hashes.replace(zone, &format!("{hash}\n"), 0o600)?;
    Ok(previous)
}

/// Restores the hash of the previous secret after the plugin could not be written, so that the plugin in place can
/// still connect. Removes the file of the hash if `previous` is `None`. Always returns an error: `failed`, the error of
/// writing the plugin, with a remedy if the restoration also fails.
fn restore_hash(
    hashes: &WritableFolder,
    zone: &str,
    previous: Option<&str>,
    failed: String,
) -> Result<(), String> {
    let restored = match previous {
        Some(previous) => hashes.replace(zone, previous, 0o600),
        None => hashes.remove(zone),
    };
    Err(match restored {
        Ok(()) => failed,
        Err(error) => format!(
            "{failed}; the hash of the previous secret could not be restored ({}): install the plugin again",
            reason(&error)
        ),
    })
}

/// Returns the PHP file with the path of the socket and the secret.
fn connection(prefix: &Path, zone: &str, secret: &str) -> Result<String, String> {
    let socket = socket(prefix);
    let path = socket.to_str().filter(|path| !path.contains(['\'', '\\', '\n']));
    let path = path.ok_or_else(|| {
        format!("wordpress: --prefix {}: the path is not UTF-8, or contains a quote, a backslash or a line break, which the PHP file cannot contain", prefix.display())
    })?;
    Ok(format!(
        "<?php\n// Written by myriad wordpress --install-plugin: address of Myriad, and secret of this site.\n\
         return array(\n\t'api'    => 'unix:{path}:/{zone}/',\n\t'secret' => '{secret}',\n);\n"
    ))
}

/// Writes the files of the plugin. The file with the secret is the last, so that the plugin retains its previous secret
/// if another file cannot be written.
fn write_plugin(content: &WritableFolder, placement: PluginPlacement, connection: &str) -> io::Result<()> {
    let above = content.make_folder(placement.folder())?;
    let folder = above.make_folder(NAME)?;
    for (name, text) in FILES {
        match name.split_once('/') {
            Some((inner, name)) => folder.make_folder(inner)?.replace(name, text, 0o644)?,
            None => folder.replace(name, text, 0o644)?,
        }
    }
    if placement == PluginPlacement::MustUse {
        above.replace("myriad-cache.php", LOADER, 0o644)?;
    }
    folder.replace("connection.php", connection, 0o640)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;

    use super::super::denied_paths::DeniedSitePaths;
    use super::super::layout::SiteLayout;
    use super::super::site_kind::SiteKind;
    use super::*;

    #[test]
    fn files_of_the_plugin_are_all_that_the_repository_has() {
        let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../wordpress/myriad-cache");
        let mut found = Vec::new();
        for folder in ["", "includes", "languages"] {
            let Ok(entries) = fs::read_dir(top.join(folder)) else { continue };
            let files = entries.map(|entry| entry.expect("an entry").path()).filter(|path| path.is_file());
            found.extend(files.map(|path| path.strip_prefix(&top).expect("below").display().to_string()));
        }
        let mut known: Vec<_> = FILES.iter().map(|(name, _)| (*name).to_owned()).collect();
        found.sort();
        known.sort();
        assert_eq!(known, found);
    }

    /// Returns the text up to a closing quotation mark, and the code after the mark.
    fn quoted(code: &str, mark: char) -> (String, &str) {
        let mut text = String::new();
        let mut rest = code.chars();
        loop {
            match rest.next().expect("a closing quotation mark") {
                '\\' => text.extend(rest.next()),
                found if found == mark => return (text, rest.as_str()),
                other => text.push(other),
            }
        }
    }

    #[test]
    fn translators_get_all_messages_of_the_plugin_and_no_others() {
        let mut messages = BTreeSet::new();
        let mut offered = BTreeSet::new();
        for (name, text) in FILES {
            if Path::new(name).extension().is_some_and(|extension| extension == "pot") {
                // Long messages continue on the next line. The empty message on the first line is the header.
                let joined = text.replace("\"\n\"", "");
                let starts = ["\nmsgid \"", "\nmsgid_plural \""];
                let codes = starts.iter().flat_map(|start| joined.split(start).skip(1));
                offered.extend(codes.map(|code| quoted(code, '"').0));
                continue;
            }
            messages.extend(text.split("__( '").skip(1).map(|code| quoted(code, '\'').0));
            for code in text.split("_n( '").skip(1) {
                let (one, rest) = quoted(code, '\'');
                messages.extend([one, quoted(rest.strip_prefix(", '").expect("a plural"), '\'').0]);
            }
        }
        assert!(messages.len() > 50, "{messages:?}");
        assert_eq!(messages, offered);
    }

    #[test]
    fn secret_is_shared_with_the_plugin_and_only_its_hash_with_the_configuration() {
        let top = std::env::temp_dir().join(format!("myriad-plugin-{}", std::process::id()));
        let root = top.join("site");
        for folder in ["wp-includes", "wp-content"] {
            fs::create_dir_all(root.join(folder)).expect("folder");
        }
        fs::write(root.join("index.php"), "<?php").expect("index");
        let options =
            SiteOptions { root: root.clone(), prefix: Some(top.join("prefix")), ..SiteOptions::default() };
        let sites = [CheckedSite {
            kind: SiteKind::WordPress,
            names: vec!["a.test".to_owned()],
            domains: Vec::new(),
            root: root.clone(),
            layout: SiteLayout::usual(root.clone()),
            php: "127.0.0.1:9000".to_owned(),
            php_name: None,
            zone: "wordpress".to_owned(),
            settings: super::super::settings::SiteSettings::default(),
            denied: DeniedSitePaths::default(),
        }];
        assert_eq!(server(&top.join("prefix"), &sites), Ok(String::new()));
        options.install_plugin(PluginPlacement::MustUse).expect("installed");
        let folder = root.join("wp-content/mu-plugins");
        let connection = fs::read_to_string(folder.join("myriad-cache/connection.php")).expect("connection");
        let secret = connection.split("'secret' => '").nth(1).and_then(|rest| rest.split('\'').next());
        let secret = secret.expect("a secret");
        let text = server(&top.join("prefix"), &sites).expect("a server");
        assert!(text.contains("fastcgi_param HTTP_HOST a.test;") && text.contains("wp-cron.php;"), "{text}");
        assert!(text.contains(&hex(&Sha256::digest(secret.as_bytes()))) && !text.contains(secret), "{text}");
        assert!(folder.join("myriad-cache.php").is_file());
        // A second installation replaces the secret.
        options.install_plugin(PluginPlacement::Plugin).expect("installed");
        assert!(
            !fs::read_to_string(root.join("wp-content/plugins/myriad-cache/connection.php"))
                .expect("file")
                .contains(secret)
        );
        fs::remove_dir_all(&top).expect("clean");
    }

    #[test]
    fn plugin_that_cannot_be_written_keeps_its_secret() {
        let top = std::env::temp_dir().join(format!("myriad-plugin-kept-{}", std::process::id()));
        let (root, prefix) = (top.join("site"), top.join("prefix"));
        fs::create_dir_all(root.join("wp-includes")).expect("folder");
        fs::create_dir_all(root.join("wp-content/mu-plugins/myriad-cache")).expect("folder");
        fs::write(root.join("index.php"), "<?php").expect("index");
        let options =
            SiteOptions { root: root.clone(), prefix: Some(prefix.clone()), ..SiteOptions::default() };
        // A folder in place of the file that loads the plugin makes the installation fail.
        let blocked = root.join("wp-content/mu-plugins/myriad-cache.php");
        fs::create_dir(&blocked).expect("a folder");
        options.install_plugin(PluginPlacement::MustUse).expect_err("not written");
        assert_eq!(hash_of(&prefix, "wordpress"), None);
        fs::remove_dir(&blocked).expect("removed");
        options.install_plugin(PluginPlacement::MustUse).expect("installed");
        let connection = root.join("wp-content/mu-plugins/myriad-cache/connection.php");
        let known = || (hash_of(&prefix, "wordpress"), fs::read_to_string(&connection).expect("connection"));
        let before = known();
        fs::remove_file(&blocked).expect("removed");
        fs::create_dir(&blocked).expect("a folder");
        options.install_plugin(PluginPlacement::MustUse).expect_err("not written");
        assert_eq!(known(), before);
        assert!(before.0.is_some());
        fs::remove_dir_all(&top).expect("clean");
    }

    #[test]
    fn folder_without_wordpress_is_rejected() {
        let options = SiteOptions { root: "/nowhere".into(), ..SiteOptions::default() };
        assert!(
            options.install_plugin(PluginPlacement::Plugin).expect_err("refused").contains("--root /nowhere")
        );
    }
}
