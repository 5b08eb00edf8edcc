//! Facts about a stack, from which the findings are derived.

/// Fact found by the doctor, or the reason why it could not be determined.
pub type Observation<T> = Result<T, String>;

/// Facts about a WordPress stack, on which the doctor's checks are based.
#[derive(Clone, Debug)]
pub struct StackFacts {
    /// Current time, in seconds since the Unix epoch.
    pub now_s: u64,
    /// Memory of the machine, in bytes.
    pub memory: Observation<u64>,
    /// Soft limit of open files of the Myriad worker process; [`u64::MAX`] if unlimited.
    pub descriptors: Observation<u64>,
    /// Value of `net.core.somaxconn`.
    pub backlog: Observation<u64>,
    /// Swap usage of the machine.
    pub swap: Observation<SwapUsage>,
    /// Names of programs that the kernel has killed because memory was exhausted; a name occurs once per process. At
    /// most 1000 names.
    pub killed: Observation<Vec<String>>,
    /// Reason why php-fpm does not respond at its address; `None` if it does, or if the address is unknown or not
    /// accessible to this user.
    pub php_down: Option<String>,
    /// Version, OPcache state, upload sizes and memory limit of the PHP that php-fpm runs.
    pub php: Observation<PhpFacts>,
    /// Status of the php-fpm pool.
    pub pool: Observation<FpmPoolStatus>,
    /// `pm.max_children` in the configuration file of the pool.
    pub most_children: Observation<u32>,
    /// Maximum number of concurrent requests that Myriad sends to php-fpm; `None` without a limit.
    pub assumed_children: Observation<Option<u32>>,
    /// Memory of the running php-fpm children on the machine, of all pools.
    pub workers: Observation<FpmChildren>,
    /// WordPress and its database.
    pub wordpress: Observation<WordPressFacts>,
    /// Pages of the site, requested as by a visitor.
    pub pages: Vec<CheckedPage>,
    /// Style sheets and scripts of the home page, at most 60.
    pub assets: Observation<Vec<PageAsset>>,
    /// Number of pictures that the home page loads in addition to `assets`, at most 200.
    pub pictures: usize,
    /// Statistics of the pages in Myriad's cache, from the control socket.
    pub stored: Observation<StoredPageStats>,
    /// Pages of the site that changed without a purge during the last seven days, the newest change first, at most
    /// three.
    pub changes: Observation<Vec<PageChange>>,
    /// Sources of the cookies that pages set; empty if the folder of the site is unknown.
    pub cookies: Vec<CookieSource>,
    /// Plugins that contain strings which prevent caching (`DONOTCACHEPAGE`, `nocache_headers`, `session_start`). Empty
    /// if the folder of the site is unknown, or if the second response of every page has another `X-Cache` than `MISS`,
    /// `EXPIRED` or `BYPASS`.
    pub uncaching: Vec<String>,
    /// URL paths of files that a `.htaccess` denies but the server sends. One file per folder is tested, and at most
    /// 20.
    pub exposed: Observation<Vec<String>>,
    /// Rules of `.htaccess` files that Myriad does not apply as written, at most 100, each with its file and the
    /// reason.
    pub htaccess_remarks: Observation<Vec<String>>,
    /// Response to a request for the home page with `X-Forwarded-Proto: https`, as a proxy that terminates TLS sends
    /// it.
    pub https_proxy_visit: Observation<PageVisit>,
    /// Senders of `X-Forwarded-For` that Myriad does not trust.
    pub senders: Observation<UntrustedSenders>,
    /// True if `wp-content/advanced-cache.php` exists.
    pub advanced_cache: Observation<bool>,
}

/// Swap of the machine, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SwapUsage {
    /// Total size of the swap, in bytes.
    pub total: u64,
    /// Used part of the swap, in bytes.
    pub used: u64,
}

/// Version and settings of the PHP that php-fpm runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PhpFacts {
    /// Version of PHP, such as `8.2.36`.
    pub version: String,
    /// State of OPcache; `None` if it is off.
    pub opcache: Observation<Option<OpcacheState>>,
    /// `upload_max_filesize`, in bytes.
    pub upload: u64,
    /// `post_max_size`, in bytes.
    pub post: u64,
    /// `memory_limit`, in bytes; `None` if unlimited.
    pub memory_limit: Option<u64>,
}

/// State of PHP's OPcache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpcacheState {
    /// Memory that OPcache uses or has wasted, in bytes.
    pub used: u64,
    /// Free memory of OPcache, in bytes.
    pub free: u64,
    /// Free part of OPcache's memory for interned strings, in bytes.
    pub strings_free: u64,
    /// Size of OPcache's memory for interned strings, in bytes.
    pub strings: u64,
    /// Number of entries in OPcache's table of files.
    pub keys: u64,
    /// Capacity of OPcache's table of files.
    pub most_keys: u64,
    /// Number of restarts of OPcache because its memory or its table of files was full.
    pub restarts: u64,
    /// True if OPcache reports that it is full.
    pub is_full: bool,
}

/// Status of a php-fpm pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FpmPoolStatus {
    /// Current number of child processes of the pool.
    pub total: u32,
    /// Number of busy child processes.
    pub active: u32,
    /// Number of connections that wait for a child process.
    pub queue: u32,
    /// Number of times since the start of php-fpm that the pool reached its maximum number of children
    /// (`pm.max_children`).
    pub reached: u64,
}

/// Memory of php-fpm's child processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FpmChildren {
    /// Unshared memory of the largest child, in bytes.
    pub largest: u64,
    /// Number of running children that could be measured, at least 1.
    pub count: u32,
}

/// Facts about a WordPress installation and its database.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WordPressFacts {
    /// Version of WordPress.
    pub version: String,
    /// Address of the site (the option `home`).
    pub home: String,
    /// Version text of the database, such as `10.11.19-MariaDB`.
    pub database: String,
    /// True if WordPress has a persistent object cache.
    pub object_cache: bool,
    /// Folders of active plugins.
    pub plugins: Vec<String>,
    /// Active plugins and themes below `wp-content`: `plugins/shop`, `plugins/hello.php`, `themes/twentytwentythree`.
    pub active: Vec<String>,
    /// Lifetime of a WordPress nonce (form token), in seconds.
    pub nonce_life_s: u64,
    /// Number of database queries that WordPress needs until it is loaded.
    pub queries: u64,
    /// Total size, in bytes, of the autoloaded options of WordPress, which each request loads.
    pub autoload: u64,
    /// Number of slow queries since the database started.
    pub slow_queries: u64,
    /// Uptime of the database, in seconds.
    pub uptime_s: u64,
    /// Maximum number of concurrent database connections since the database started.
    pub used_connections: u64,
    /// Limit of concurrent database connections.
    pub most_connections: u64,
    /// Places in the site's code with output that depends on the visitor, each with a description of the difference.
    /// Because of these places, known visitors (such as logged-in users) get pages from PHP, not from the cache.
    pub differing: Vec<String>,
    /// True if `WP_DEBUG` and `WP_DEBUG_DISPLAY` are on.
    pub shows_errors: bool,
    /// Descriptions by the plugin of the last changes without a purge, with their causes; empty without the plugin.
    pub changes: Vec<String>,
}

/// Page that changed without a purge.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageChange {
    /// Host and target of the page.
    pub page: String,
    /// Time of the refresh that found the change, in seconds since the Unix epoch.
    pub at_s: u64,
    /// Text from the first difference on, before the change.
    pub before: String,
    /// Text from the first difference on, after the change.
    pub after: String,
    /// Cache tags of the stored page; empty if it is not stored any more.
    pub tags: Vec<String>,
}

/// Response to a request of the doctor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageVisit {
    /// HTTP status code of the response.
    pub status: u16,
    /// Time to the first byte, in milliseconds.
    pub first_byte_ms: u64,
    /// Value of `X-Cache`; `None` without it.
    pub cache: Option<String>,
    /// Names of cookies in `Set-Cookie`, each cut to 128 characters.
    pub cookies: Vec<String>,
    /// Value of `Cache-Control`; empty without it.
    pub cache_control: String,
    /// Value of `Content-Encoding`; empty without it.
    pub encoding: String,
    /// Value of `Content-Type`; empty without it.
    pub media_type: String,
    /// Decompressed length of the body, in bytes.
    pub bytes: u64,
    /// Value of `Location`; `None` without it.
    pub location: Option<String>,
    /// Value of `Vary`; empty without it.
    pub vary: String,
    /// True if the body contains a text that indicates a WordPress nonce (form token).
    pub has_nonce: bool,
    /// Value of `Cache-Status`, which may contain the reason why a page is not stored; `None` without it.
    pub cache_status: Option<String>,
}

/// Page of the site that the doctor requested twice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedPage {
    /// Kind of the page: home, post, page, feed, sitemap, 404.
    pub kind: &'static str,
    /// URL of the page; that of the home page if no page of this kind was found.
    pub url: String,
    /// Responses to two successive requests for the page; the second response should come from the cache.
    pub visits: Observation<(PageVisit, PageVisit)>,
    /// Response to a request with a unique argument, which cannot come from the cache. `None` for pages other than the
    /// home page, if there was no response, or if `X-Cache` is `HIT` nevertheless.
    pub uncached: Option<PageVisit>,
}

/// Style sheet or script that the home page loads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageAsset {
    /// Path of the asset on the site.
    pub path: String,
    /// HTTP status code of the response.
    pub status: u16,
    /// Decompressed length of the asset, in bytes.
    pub bytes: u64,
    /// Value of `Content-Encoding`; empty without it.
    pub encoding: String,
    /// Lifetime in browser caches in seconds, by `max-age` of `Cache-Control`; one day if only `Expires` contains a
    /// date; `None` without both.
    pub cache_lifetime_s: Option<u64>,
    /// True if the response has `ETag` or `Last-Modified`.
    pub has_validator: bool,
    /// True if the asset appears to be minified, or is shorter than 4 KB.
    pub is_minified: bool,
}

/// Statistics of the pages in Myriad's cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoredPageStats {
    /// Number of stored pages, at most 100,000.
    pub pages: u64,
    /// Longest freshness lifetime of a stored page, counted from the time at which it was stored, in seconds.
    pub longest_s: u64,
    /// Number of requests answered from the cache (fresh or stale) since the start of Myriad's worker process.
    pub hits: u64,
    /// Number of cache lookups for requests since the start of Myriad's worker process. Requests that a rule excluded
    /// from the cache (`BYPASS`) are not counted.
    pub requests: u64,
}

/// Senders of `X-Forwarded-For` that Myriad does not trust: proxies in front of it, or clients that forge addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UntrustedSenders {
    /// For each sender, the argument of `--trusted-proxy` that would trust it, and the number of its requests.
    pub requests: Vec<(String, u64)>,
    /// Number of requests of other senders, which are not listed.
    pub others: u64,
}

/// Possible sources of a cookie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CookieSource {
    /// Name of the cookie.
    pub cookie: String,
    /// Plugins and themes (such as `plugins/shop`) with files that contain the name, or start the PHP session to which
    /// the cookie belongs.
    pub places: Vec<String>,
    /// Plugins and themes that set any cookie, listed only if `places` is empty: they may compose the name of this
    /// cookie at run time.
    pub setters: Vec<String>,
}
