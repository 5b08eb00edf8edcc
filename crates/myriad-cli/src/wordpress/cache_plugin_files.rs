//! Pages that WordPress cache plugins store in files, which the presets serve by `try_files`.

use std::fmt::Write as _;

use super::checked_site::CheckedSite;
use super::layout::SiteLayout;
use super::site_kind::SiteKind;

/// Default validity of pages in the cache of Myriad if a cache plugin stores pages of the site in files. It is short,
/// because the plugin removes the file of a changed page without notifying Myriad.
pub(super) const WRITTEN_VALIDITY: &str = "10s";

/// File that WordPress loads first, written by a cache plugin.
const DROP_IN: &str = "advanced-cache.php";

/// Cache plugin that stores whole pages in files.
pub(super) struct CachePlugin {
    /// Name of the plugin, for messages.
    pub name: &'static str,
    /// Name of the plugin's folder below `wp-content/cache`.
    pub folder: &'static str,
    /// Last part of the path of a page's file, after the folder, the host and the URL path.
    file: &'static str,
    /// Text in lower case by which the plugin's `advanced-cache.php` is recognised.
    mark: &'static str,
}

/// Known cache plugins.
pub(super) const CACHE_PLUGINS: [CachePlugin; 4] = [
    CachePlugin {
        name: "WP Super Cache",
        folder: "supercache",
        file: "index$written_https.html",
        mark: "wp super cache",
    },
    CachePlugin {
        name: "W3 Total Cache",
        folder: "page_enhanced",
        file: "_index_slash$written_ssl.html",
        mark: "w3tc",
    },
    CachePlugin {
        name: "WP Rocket",
        folder: "wp-rocket",
        file: "index$written_https.html",
        mark: "wp_rocket",
    },
    CachePlugin {
        name: "Cache Enabler",
        folder: "cache-enabler",
        file: "$scheme-index.html",
        mark: "cache enabler",
    },
];

impl CheckedSite {
    /// Returns the cache plugins whose files are served: all known ones with `plugin_pages=on`, and none with `off`.
    /// Without this setting, those that wrote the `advanced-cache.php` of the WordPress site; none if the site has the
    /// Myriad plugin (`has_plugin`), which is not notified when such files are removed.
    pub(super) fn cache_plugins(&self, has_plugin: bool) -> Vec<&'static CachePlugin> {
        match self.settings.get("plugin_pages") {
            "on" => CACHE_PLUGINS.iter().collect(),
            "" if !has_plugin && self.kind == SiteKind::WordPress => {
                let drop_in = drop_in(&self.layout).unwrap_or_default();
                CACHE_PLUGINS.iter().filter(|plugin| drop_in.contains(plugin.mark)).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Returns a notice that files of a cache plugin are served by default; `None` if they are not, or if the setting
    /// `plugin_pages` is given.
    pub(super) fn cache_plugin_notice(&self, has_plugin: bool) -> Option<String> {
        if self.settings.has("plugin_pages") {
            return None;
        }
        let plugin = self.cache_plugins(has_plugin).into_iter().next()?;
        let validity =
            if self.settings.has("validity") { self.settings.get("validity") } else { WRITTEN_VALIDITY };
        Some(format!(
            "wordpress: {}: pages that {} wrote to wp-content/cache/{} are served, and Myriad's own copies are valid for \
                 {validity}; for a longer validity, use --install-plugin, or set plugin_pages=off and purge from {}",
            self.root.display(),
            plugin.name,
            plugin.folder,
            plugin.name
        ))
    }
}

/// Returns the text of `advanced-cache.php` in lower case; `None` if it does not exist or [`SiteFolder::text`] does not
/// read it.
fn drop_in(layout: &SiteLayout) -> Option<String> {
    layout.drop_in_text(DROP_IN).ok().map(|text| text.to_ascii_lowercase())
}

/// Returns the names for `try_files` of the files in which these cache plugins store a page; `content` is the path of
/// `wp-content`.
pub(super) fn paths(content: &str, plugins: &[&CachePlugin]) -> String {
    plugins.iter().fold(String::new(), |mut text, plugin| {
        let _ = write!(text, "/{content}/cache/{}/${{written_page}}{} ", plugin.folder, plugin.file);
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_name_the_folder_and_the_file_of_each_plugin() {
        assert_eq!(paths("wp-content", &[]), "");
        assert_eq!(
            paths("wp-content", &[&CACHE_PLUGINS[0]]),
            "/wp-content/cache/supercache/${written_page}index$written_https.html "
        );
    }

    #[test]
    fn drop_in_is_read_only_where_it_is_a_plain_file_of_the_owner() {
        let folder = std::env::temp_dir().join(format!("myriad-drop-in-{}", std::process::id()));
        let content = folder.join("wp-content");
        std::fs::create_dir_all(&content).expect("a folder");
        let layout = SiteLayout::usual(folder.clone());
        let file = content.join("advanced-cache.php");
        assert_eq!(drop_in(&layout), None);
        rustix::fs::mknodat(rustix::fs::CWD, &file, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0)
            .expect("a pipe");
        assert_eq!(drop_in(&layout), None);
        std::fs::remove_file(&file).expect("the pipe is removed");
        // A link in place of the file, then of its folder.
        let other = folder.join("other");
        std::fs::create_dir(&other).expect("a folder");
        std::fs::write(other.join("advanced-cache.php"), "# WP SUPER CACHE 1.2").expect("a file");
        for (target, link) in [(other.join("advanced-cache.php"), &file), (other.clone(), &content)] {
            if link == &content {
                std::fs::remove_dir_all(&content).expect("removed");
            }
            std::os::unix::fs::symlink(&target, link).expect("a link");
            let text = "# wp super cache 1.2";
            assert_eq!(drop_in(&layout).as_deref(), Some(text), "a link of the owner of its target");
            // Only root can change owners.
            if std::os::unix::fs::lchown(link, Some(54_321), None).is_ok() {
                assert_eq!(drop_in(&layout), None, "{}", link.display());
                assert!(!layout.has_drop_in("advanced-cache.php"));
            }
            std::fs::remove_file(link).expect("removed");
            std::fs::create_dir_all(&content).expect("a folder");
        }
        std::fs::write(&file, "# Cache Enabler").expect("a file");
        assert_eq!(drop_in(&layout).as_deref(), Some("# cache enabler"));
        assert!(layout.has_drop_in("advanced-cache.php"));
        std::fs::remove_dir_all(&folder).expect("no folder");
    }
}
