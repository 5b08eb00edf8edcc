//! Facts, as whoever looked found them.

/// Fact, or the reason why it could not be looked at.
pub type Seen<T> = Result<T, String>;

/// Facts of a stack.
#[derive(Clone, Debug)]
pub struct Facts {
    /// Now, seconds since the Unix epoch.
    pub now_s: u64,
    /// Memory of the machine, bytes.
    pub memory: Seen<u64>,
    /// Open files that Myriad's worker process may have.
    pub descriptors: Seen<u64>,
    /// `net.core.somaxconn`.
    pub backlog: Seen<u64>,
    /// Swap.
    pub swap: Seen<Swap>,
    /// Names of programs that the kernel has ended for want of memory.
    pub killed: Seen<Vec<String>>,
    /// Reason why php-fpm does not answer at its address; `None` if it does, or if the address is not known.
    pub php_down: Option<String>,
    /// PHP as php-fpm runs it.
    pub php: Seen<Php>,
    /// php-fpm's pool.
    pub pool: Seen<Pool>,
    /// `pm.max_children`, as the pool's file says it.
    pub most_children: Seen<u32>,
    /// Most requests that Myriad sends to php-fpm at once; `None` if it has no limit.
    pub assumed_children: Seen<Option<u32>>,
    /// Memory of its children.
    pub workers: Seen<Workers>,
    /// `WordPress` and its database.
    pub wordpress: Seen<WordPress>,
    /// Pages, as a visitor gets them.
    pub pages: Vec<Page>,
    /// Style sheets and scripts of the home page.
    pub assets: Seen<Vec<Asset>>,
    /// Pictures and fonts that the home page loads beside them.
    pub pictures: usize,
    /// What is stored, if the control socket could be asked.
    pub stored: Seen<Stored>,
    /// Files of the site in which the names of cookies stand.
    pub cookies: Vec<CookieSource>,
    /// Plugins in which there are words that keep pages from caches (`DONOTCACHEPAGE`, `nocache_headers`, `session_start`).
    pub uncaching: Vec<String>,
    /// URL paths of files that a `.htaccess` denies and that the server sends to any client.
    pub exposed: Seen<Vec<String>>,
    /// Answer to a request of a proxy that was asked by https, for the home page.
    pub behind_tls: Seen<Visit>,
    /// Senders with `X-Forwarded-For` that are not trusted.
    pub senders: Seen<Senders>,
    /// Whether `wp-content/advanced-cache.php` is there.
    pub advanced_cache: Seen<bool>,
}

/// Swap of the machine, bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Swap {
    /// All of it.
    pub total: u64,
    /// What is used.
    pub used: u64,
}

/// PHP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Php {
    /// Version: `8.2.36`.
    pub version: String,
    /// `OPcache`; `None` if it is off.
    pub opcache: Seen<Option<Opcache>>,
    /// `upload_max_filesize`, `post_max_size`, `memory_limit`, bytes; the last may be without bound.
    pub upload: u64,
    /// See `upload`.
    pub post: u64,
    /// See `upload`.
    pub memory_limit: Option<u64>,
}

/// `OPcache`, bytes and counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Opcache {
    /// Memory that is used, and what is free.
    pub used: u64,
    /// See `used`.
    pub free: u64,
    /// Free bytes of the interned strings.
    pub strings_free: u64,
    /// Bytes of the interned strings.
    pub strings: u64,
    /// Files in the table, and how many it takes.
    pub keys: u64,
    /// See `keys`.
    pub most_keys: u64,
    /// Times that it began anew, as it was full.
    pub restarts: u64,
    /// Whether it says to be full.
    pub is_full: bool,
}

/// Pool of php-fpm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pool {
    /// Children now.
    pub total: u32,
    /// Children that work.
    pub active: u32,
    /// Connections that wait.
    pub queue: u32,
    /// Times that the pool wanted more children than it may have.
    pub reached: u64,
}

/// Children of php-fpm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Workers {
    /// Memory of the largest that it shares with no other, bytes.
    pub largest: u64,
    /// Their number.
    pub count: u32,
}

/// `WordPress`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WordPress {
    /// Version.
    pub version: String,
    /// Address of the site.
    pub home: String,
    /// What the database calls itself: `10.11.19-MariaDB`.
    pub database: String,
    /// Whether there is an object cache that outlives a request.
    pub object_cache: bool,
    /// Folders of active plugins.
    pub plugins: Vec<String>,
    /// Active plugins and themes below `wp-content`: `plugins/shop`, `plugins/hello.php`, `themes/twentytwentythree`.
    pub active: Vec<String>,
    /// Life of a nonce, seconds.
    pub nonce_life_s: u64,
    /// Queries that `WordPress` needed until it was loaded.
    pub queries: u64,
    /// Bytes of options that each page loads.
    pub autoload: u64,
    /// Slow queries since the database started, and seconds since then.
    pub slow_queries: u64,
    /// See `slow_queries`.
    pub uptime_s: u64,
    /// Most connections at once so far, and how many there may be.
    pub used_connections: u64,
    /// See `used_connections`.
    pub most_connections: u64,
    /// `WP_DEBUG_DISPLAY` with `WP_DEBUG`.
    pub shows_errors: bool,
}

/// One answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Visit {
    /// Status.
    pub status: u16,
    /// Time to the first byte, milliseconds.
    pub first_byte_ms: u64,
    /// `X-Cache`.
    pub cache: Option<String>,
    /// Names of cookies that it sets.
    pub cookies: Vec<String>,
    /// `Cache-Control`.
    pub cache_control: String,
    /// `Content-Encoding`.
    pub encoding: String,
    /// `Content-Type`.
    pub media_type: String,
    /// Bytes of the body.
    pub bytes: u64,
    /// `Location`.
    pub location: Option<String>,
    /// `Vary`.
    pub vary: String,
    /// Whether a nonce stands in it.
    pub has_nonce: bool,
    /// `Cache-Status`, which may say why a page is not stored.
    pub cache_status: Option<String>,
}

/// Page, asked for twice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// Kind: home, post, page, feed, sitemap, 404.
    pub kind: &'static str,
    /// URL.
    pub url: String,
    /// First answer, and the second.
    pub visits: Seen<(Visit, Visit)>,
    /// Answer that could not come from the cache (the home page with an argument of its own).
    pub uncached: Option<Visit>,
}

/// Style sheet or script.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asset {
    /// Path.
    pub path: String,
    /// Status.
    pub status: u16,
    /// Bytes of its text.
    pub bytes: u64,
    /// `Content-Encoding`.
    pub encoding: String,
    /// Seconds that browsers keep it, by `Cache-Control` or `Expires`; `None` if nothing says it.
    pub kept_s: Option<u64>,
    /// Whether it has `ETag` or `Last-Modified`.
    pub has_validator: bool,
    /// Whether it seems to be written for machines.
    pub is_minified: bool,
}

/// What is stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stored {
    /// Pages.
    pub pages: u64,
    /// Longest validity of one, seconds.
    pub longest_s: u64,
    /// Hits and requests so far.
    pub hits: u64,
    /// See `hits`.
    pub requests: u64,
}

/// Senders with `X-Forwarded-For` that are not trusted: proxies in front, or clients that claim an address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Senders {
    /// Value of `--trusted-proxy` that covers a sender, and its requests.
    pub requests: Vec<(String, u64)>,
    /// Requests of further senders.
    pub others: u64,
}

/// Where the name of a cookie stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CookieSource {
    /// Name.
    pub cookie: String,
    /// Plugins, must-use plugins and themes whose files have it, or begin the session that it is: `plugins/shop`.
    pub places: Vec<String>,
    /// Where there are none: those that set cookies, so that it may be one of theirs with a name that is put together.
    pub setters: Vec<String>,
}
