//! Values of `--install-object-cache` and `--remove-object-cache`.

/// Change of the object cache, as requested by an option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ObjectCacheChange {
    /// Installation, with the address of the server (Redis, Valkey or memcached), or `apcu:`.
    Install(String),
    Remove,
}

impl ObjectCacheChange {
    /// Parses the argument of `--install-object-cache`.
    ///
    /// # Errors
    /// Returns an error text with the valid forms of an address.
    pub(super) fn install(address: String) -> Result<Self, String> {
        // A Unix socket without a scheme, as in the configuration of other programs, is taken as one of Redis.
        let address = match address.strip_prefix("unix:") {
            Some(path) => format!("redis:{}", path.strip_prefix("//").unwrap_or(path)),
            None if address.starts_with('/') => format!("redis:{address}"),
            None => address,
        };
        let (scheme, rest) = address.split_once(':').unwrap_or((&address, ""));
        let place = rest.strip_prefix("//").unwrap_or(rest);
        let is_plain =
            address.chars().all(|letter| letter.is_ascii_graphic() && !matches!(letter, '\'' | '\\'));
        let is_known = match scheme {
            "redis" | "rediss" | "memcached" => !place.is_empty() && (rest.starts_with('/')),
            "apcu" => rest.is_empty(),
            _ => false,
        };
        if is_known && is_plain {
            return Ok(Self::Install(if scheme == "apcu" { "apcu:".to_owned() } else { address }));
        }
        Err(format!(
            "wordpress: --install-object-cache: \"{address}\" is not a valid address; use redis:/run/redis/redis.sock, \
                 redis://127.0.0.1:6379, redis://:PASSWORD@HOST:6379/2, memcached://127.0.0.1:11211, \
                 memcached:/run/memcached.sock or apcu"
        ))
    }

    /// Returns the name of the command-line option for this change.
    pub(super) const fn option(&self) -> &'static str {
        match self {
            Self::Install(_) => "--install-object-cache",
            Self::Remove => "--remove-object-cache",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read() {
        for address in
            ["redis:/run/r.sock", "redis://h:1/2", "rediss://:p@h", "memcached://h", "memcached:/m", "apcu"]
        {
            assert!(ObjectCacheChange::install(address.to_owned()).is_ok(), "{address}");
        }
        for address in ["unix:/run/r.sock", "unix:///run/r.sock", "/run/r.sock"] {
            let read = ObjectCacheChange::install(address.to_owned());
            assert_eq!(read, Ok(ObjectCacheChange::Install("redis:/run/r.sock".to_owned())), "{address}");
        }
        for address in
            ["", "redis", "redis:", "redis://", "redis:run/r.sock", "apcu:x", "http://h", "redis://h'"]
        {
            let error = ObjectCacheChange::install(address.to_owned()).expect_err(address);
            assert!(error.contains("redis:/run/redis/redis.sock"), "{error}");
        }
    }
}
