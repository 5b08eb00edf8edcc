//! `myriad wordpress` in front of a real WordPress with MariaDB and php-fpm.

mod amp;
mod blocked_requests;
mod cookies;
mod crawl;
mod known_visitors;
mod limits;
mod load;
mod pages;
mod personal_pages;
mod settings;
mod tls_proxy;

use std::sync::Arc;

use myriad_tests::{Answer, Request, Server, WordPress};

fn start() -> (Arc<WordPress>, Server) {
    let site = WordPress::shared();
    let server = site.serve();
    (site, server)
}

/// Returns the request of a browser: WordPress generates links with its host.
fn browser(server: &Server, target: &str) -> Request {
    Request::get(target).host(&format!("127.0.0.1:{}", server.port))
}

fn page(server: &Server, target: &str) -> Answer {
    server.fetch(&browser(server, target))
}

/// Returns the URL of a post in a category list: the newest posts on the home page may belong to another test, which
/// trashes them.
fn some_post(server: &Server) -> String {
    let list = page(server, "/category/rivers/").text();
    let link = list.split("wp-block-post-title\"><a href=\"").nth(1).and_then(|rest| rest.split('"').next());
    let link = link.expect("a post of the category");
    link.splitn(4, '/').nth(3).map(|path| format!("/{path}")).expect("a path")
}
