//! Plugins that have their own page cache, by their folders.

/// Folder and display name of each WordPress plugin that has a page cache. LiteSpeed Cache, Nginx Helper, Proxy
/// Cache Purge and similar plugins are not listed, because they work with a cache in front of PHP.
const PAGE_CACHES: [(&str, &str); 14] = [
    ("wp-super-cache", "WP Super Cache"),
    ("w3-total-cache", "W3 Total Cache"),
    ("wp-fastest-cache", "WP Fastest Cache"),
    ("wp-rocket", "WP Rocket"),
    ("cache-enabler", "Cache Enabler"),
    ("hummingbird-performance", "Hummingbird"),
    ("sg-cachepress", "SiteGround Optimizer"),
    ("comet-cache", "Comet Cache"),
    ("breeze", "Breeze"),
    ("swift-performance-lite", "Swift Performance"),
    ("powered-cache", "Powered Cache"),
    ("simple-cache", "Simple Cache"),
    ("wp-optimize", "WP-Optimize"),
    ("hyper-cache", "Hyper Cache"),
];

/// Returns the display names of the page cache plugins among `plugins`, which contains names of plugin folders.
pub(crate) fn page_caches(plugins: &[String]) -> Vec<&'static str> {
    let known = PAGE_CACHES.iter().filter(|(folder, _)| plugins.iter().any(|plugin| plugin == folder));
    known.map(|(_, name)| *name).collect()
}
