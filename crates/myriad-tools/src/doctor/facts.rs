//! Collected facts.

/// Fact, or the reason why it could not be determined.
pub type Observation<T> = Result<T, String>;

/// Facts of a stack.
#[derive(Clone, Debug)]
pub struct StackFacts {
    /// Current time, in seconds since the Unix epoch.
    pub now_s: u64,
    /// Memory of the machine, in bytes.
    pub memory: Observation<u64>,
    /// Limit of open files of the Myriad worker process.
    pub descriptors: Observation<u64>,
    /// Value of `net.core.somaxconn`.
    pub backlog: Observation<u64>,
    /// Swap.
    pub swap: Observation<SwapUsage>,
    /// Names of programs that the kernel has killed because memory was exhausted.
    pub killed: Observation<Vec<String>>,
    /// Reason why php-fpm does not respond at its address; `None` if it does, or if the address is unknown.
    pub php_down: Option<String>,
    /// PHP as run by php-fpm.
    pub php: Observation<PhpFacts>,
    /// Pool of php-fpm.
    pub pool: Observation<FpmPoolStatus>,
    /// Value of `pm.max_children` in the file of the pool.
    pub most_children: Observation<u32>,
    /// Maximum number of concurrent requests that Myriad sends to php-fpm; `None` if it has no limit.
    pub assumed_children: Observation<Option<u32>>,
    /// Memory of the php-fpm children.
    pub workers: Observation<FpmChildren>,
    /// WordPress and its database.
    pub wordpress: Observation<WordPressFacts>,
    /// Pages as received by a visitor.
    pub pages: Vec<CheckedPage>,
    /// Style sheets and scripts of the home page.
    pub assets: Observation<Vec<PageAsset>>,
    /// Number of pictures and fonts that the home page loads in addition.
    pub pictures: usize,
    /// Stored pages, if the control socket could be queried.
    pub stored: Observation<StoredPageStats>,
    /// Files of the site that contain the names of cookies.
    pub cookies: Vec<CookieSource>,
    /// Plugins that contain strings which prevent caching (`DONOTCACHEPAGE`, `nocache_headers`, `session_start`).
    pub uncaching: Vec<String>,
    /// URL paths of files that a `.htaccess` denies and that the server sends to any client.
    pub exposed: Observation<Vec<String>>,
    /// Rules of `.htaccess` files that are not applied as written, each with its file and the reason.
    pub htaccess_remarks: Observation<Vec<String>>,
    /// Response to a request for the home page in the form of a proxy that received it by https.
    pub https_proxy_visit: Observation<PageVisit>,
    /// Untrusted senders with `X-Forwarded-For`.
    pub senders: Observation<UntrustedSenders>,
    /// True if `wp-content/advanced-cache.php` exists.
    pub advanced_cache: Observation<bool>,
}

/// Swap of the machine, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SwapUsage {
    /// Total size.
    pub total: u64,
    /// Used part.
    pub used: u64,
}

/// PHP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PhpFacts {
    /// Version, such as `8.2.36`.
    pub version: String,
    /// State of `OPcache`; `None` if it is off.
    pub opcache: Observation<Option<OpcacheState>>,
    /// Values of `upload_max_filesize`, `post_max_size` and `memory_limit`, in bytes; the last may be unlimited.
    pub upload: u64,
    /// See `upload`.
    pub post: u64,
    /// See `upload`.
    pub memory_limit: Option<u64>,
}

/// State of `OPcache`, in bytes and counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpcacheState {
    /// Used and free memory.
    pub used: u64,
    /// See `used`.
    pub free: u64,
    /// Free memory for interned strings, in bytes.
    pub strings_free: u64,
    /// Memory for interned strings, in bytes.
    pub strings: u64,
    /// Number of files in the table, and its capacity.
    pub keys: u64,
    /// See `keys`.
    pub most_keys: u64,
    /// Number of restarts because it was full.
    pub restarts: u64,
    /// True if it reports that it is full.
    pub is_full: bool,
}

/// Pool of php-fpm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FpmPoolStatus {
    /// Current number of children.
    pub total: u32,
    /// Number of busy children.
    pub active: u32,
    /// Number of queued connections.
    pub queue: u32,
    /// Number of times that the pool reached its maximum number of children.
    pub reached: u64,
}

/// Children of php-fpm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FpmChildren {
    /// Unshared memory of the largest child, in bytes.
    pub largest: u64,
    /// Number of children.
    pub count: u32,
}

/// WordPress.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WordPressFacts {
    /// Version.
    pub version: String,
    /// Address of the site.
    pub home: String,
    /// Version text of the database, such as `10.11.19-MariaDB`.
    pub database: String,
    /// True if it has a persistent object cache.
    pub object_cache: bool,
    /// Folders of active plugins.
    pub plugins: Vec<String>,
    /// Active plugins and themes below `wp-content`: `plugins/shop`, `plugins/hello.php`, `themes/twentytwentythree`.
    pub active: Vec<String>,
    /// Lifetime of a nonce, in seconds.
    pub nonce_life_s: u64,
    /// Number of queries until WordPress was loaded.
    pub queries: u64,
    /// Size of the options that each page loads, in bytes.
    pub autoload: u64,
    /// Number of slow queries since the database started, and its uptime in seconds.
    pub slow_queries: u64,
    /// See `slow_queries`.
    pub uptime_s: u64,
    /// Maximum number of concurrent connections since the start, and its limit.
    pub used_connections: u64,
    /// See `used_connections`.
    pub most_connections: u64,
    /// True if `WP_DEBUG_DISPLAY` and `WP_DEBUG` are on.
    pub shows_errors: bool,
}

/// Response.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageVisit {
    /// Status code.
    pub status: u16,
    /// Time to the first byte, in milliseconds.
    pub first_byte_ms: u64,
    /// Value of `X-Cache`.
    pub cache: Option<String>,
    /// Names of cookies in `Set-Cookie`.
    pub cookies: Vec<String>,
    /// Value of `Cache-Control`.
    pub cache_control: String,
    /// Value of `Content-Encoding`.
    pub encoding: String,
    /// Value of `Content-Type`.
    pub media_type: String,
    /// Length of the body, in bytes.
    pub bytes: u64,
    /// Value of `Location`.
    pub location: Option<String>,
    /// Value of `Vary`.
    pub vary: String,
    /// True if it contains a nonce.
    pub has_nonce: bool,
    /// Value of `Cache-Status`, which may contain the reason why a page is not stored.
    pub cache_status: Option<String>,
}

/// Page that was requested twice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedPage {
    /// Kind: home, post, page, feed, sitemap, 404.
    pub kind: &'static str,
    /// URL.
    pub url: String,
    /// First and second response.
    pub visits: Observation<(PageVisit, PageVisit)>,
    /// Response that could not come from the cache (the home page with a unique argument).
    pub uncached: Option<PageVisit>,
}

/// Style sheet or script.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageAsset {
    /// Path.
    pub path: String,
    /// Status code.
    pub status: u16,
    /// Length of its text, in bytes.
    pub bytes: u64,
    /// Value of `Content-Encoding`.
    pub encoding: String,
    /// Lifetime in browser caches in seconds, by `Cache-Control` or `Expires`; `None` without these fields.
    pub cache_lifetime_s: Option<u64>,
    /// True if it has `ETag` or `Last-Modified`.
    pub has_validator: bool,
    /// True if it appears to be minified.
    pub is_minified: bool,
}

/// Statistics of stored pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoredPageStats {
    /// Number of pages.
    pub pages: u64,
    /// Longest validity of a page, in seconds.
    pub longest_s: u64,
    /// Number of hits and of requests since the start.
    pub hits: u64,
    /// See `hits`.
    pub requests: u64,
}

/// Untrusted senders with `X-Forwarded-For`: proxies in front, or clients that forge an address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UntrustedSenders {
    /// Value of `--trusted-proxy` that covers a sender, and the number of its requests.
    pub requests: Vec<(String, u64)>,
    /// Number of requests of other senders.
    pub others: u64,
}

/// Origin of a cookie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CookieSource {
    /// Name of the cookie.
    pub cookie: String,
    /// Plugins, must-use plugins and themes whose files contain the name, or start the session of the cookie:
    /// `plugins/shop`.
    pub places: Vec<String>,
    /// If no file contains it: plugins and themes that set cookies, which may compose the name.
    pub setters: Vec<String>,
}
