//! Usual cached site: one zone, one server, and a scripted origin.

use crate::{Call, Origin, Place, Server};

/// Configuration parts of a cached site; each part has a default.
#[derive(Clone, Copy, Debug)]
pub struct Cached<'a> {
    /// Directives of the main context.
    pub main: &'a str,
    /// Directives of the `http` block.
    pub http: &'a str,
    /// Further parameters of `fastcgi_cache_path`.
    pub zone: &'a str,
    /// Value of `fastcgi_cache_key`.
    pub key: &'a str,
    /// `fastcgi_cache_valid` and further directives of `server`, including locations.
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
    /// Starts an origin with this script and a server in front of it, which sends `$upstream_cache_status` as
    /// `X-Cache`.
    pub fn start(&self, script: impl Fn(&mut Call) + Send + Sync + 'static) -> (Server, Origin) {
        let origin = Origin::start(script);
        (self.start_before(Place::new(), &origin.address), origin)
    }

    /// Starts a server in front of a FastCGI address.
    pub fn start_before(&self, mut place: Place, address: &str) -> Server {
        place.set("ORIGIN", address);
        Server::start_with(place, self.main, &self.http())
    }

    /// Returns the contents of the `http` block, in which words such as `@PORT@` are not replaced yet.
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
