//! Name resolution of OCSP responders and certificate authorities.

use std::net::IpAddr;
use std::sync::Arc;

use crate::acme_client::https::Resolve;
use myriad_upstream::{Resolver, ResolverConfig};
use tokio::runtime::{Builder, LocalOptions};

/// Returns a blocking function that resolves host names with the name servers and the timeout in milliseconds of
/// `resolver`, or for `None` with the system's resolver and its timeouts. It must be called on a separate thread.
pub fn resolve(resolver: Option<(Arc<ResolverConfig>, u64)>) -> Resolve {
    let Some((config, timeout_ms)) = resolver else {
        return Arc::new(|name| {
            let found = std::net::ToSocketAddrs::to_socket_addrs(&(name, 0));
            let found = found.map_err(|error| format!("\"{name}\" could not be resolved: {error}"))?;
            Ok(found.map(|address| address.ip()).collect())
        });
    };
    Arc::new(move |name| {
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build_local(LocalOptions::default())
            .map_err(|error| error.to_string())?;
        let resolver = Resolver::new(Arc::clone(&config));
        let found = runtime.block_on(resolver.resolve(name, timeout_ms));
        let found: Arc<[IpAddr]> =
            found.map_err(|error| format!("\"{name}\" could not be resolved ({error})"))?;
        Ok(found.to_vec())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_that_is_an_address_needs_no_resolver() {
        let system = resolve(None);
        assert_eq!(system("192.0.2.1"), Ok(vec![IpAddr::from([192, 0, 2, 1])]));
        let error = system("").expect_err("no name");
        assert!(error.starts_with("\"\" could not be resolved"), "{error}");
    }
}
