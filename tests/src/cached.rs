//! The usual cached site: one zone, one server, an origin that a test scripts.

use crate::{Call, Origin, Place, Server};

/// What stands around the script of a cached site; each part may be left as it is.
#[derive(Clone, Copy, Debug)]
pub struct Cached<'a> {
    /// In the main context.
    pub main: &'a str,
    /// In the `http` block.
    pub http: &'a str,
    /// Further parameters of `fastcgi_cache_path`.
    pub zone: &'a str,
    /// `fastcgi_cache_key`.
    pub key: &'a str,
    /// `fastcgi_cache_valid` and whatever else belongs into `server`, locations included.
    pub server: &'a str,
}

impl Default for Cached<'_> {
    fn default() -> Self {
        Self {
            main: "",
            http: "",
            zone: "",
            key: "$scheme$request_method$host$request_uri",
            server: "fastcgi_cache_valid 200 301 302 404 1h;",
        }
    }
}

impl Cached<'_> {
    /// Starts it before a script; `X-Cache` is `$upstream_cache_status`.
    pub fn start(&self, script: impl Fn(&mut Call) + Send + Sync + 'static) -> (Server, Origin) {
        let origin = Origin::start(script);
        (self.start_before(Place::new(), &origin.address), origin)
    }

    /// Starts it before any FastCGI address.
    pub fn start_before(&self, mut place: Place, address: &str) -> Server {
        place.set("ORIGIN", address);
        Server::start_with(place, self.main, &self.http())
    }

    /// What stands in the `http` block.
    pub fn http(&self) -> String {
        let Self { http, zone, key, server, .. } = self;
        format!(
            "fastcgi_cache_path @DIR@/cache keys_zone=pages:1m {zone}; {http}
             gzip_types text/plain; gzip_min_length 100; gzip_vary on; fastcgi_read_timeout 20s;
             server {{ listen 127.0.0.1:@PORT@ backlog=1024; root @DIR@/html; @PARAMS@
             add_header X-Cache $upstream_cache_status always;
             fastcgi_cache pages; fastcgi_cache_key {key};
             {server}
             location / {{ fastcgi_pass @ORIGIN@; }} }}"
        )
    }
}
