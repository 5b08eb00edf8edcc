//! Addresses of Valkey and Redis servers.

use std::fmt;

use myriad_base::digits::decimal;

/// Address of a Valkey or Redis server, or of a Sentinel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerUrl {
    /// True for TLS (`rediss://`, `sentinels://`).
    pub tls: bool,
    /// Host name or IP address; an IPv6 address has no brackets.
    pub host: String,
    /// Port, not 0.
    pub port: u16,
    /// Number of the database; 0 by default.
    pub database: u32,
    /// Name of the master that a Sentinel at this address monitors (`sentinel://HOST/MASTER`), which is contacted with
    /// TLS if the Sentinel is; `None` if this is the
    /// address of a Valkey or Redis server.
    pub sentinel_master: Option<String>,
}

/// Reason why an address of a server is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerUrlError {
    /// The scheme is not one of the supported ones.
    Scheme,
    /// The URL contains a user name or a password, which other lines of the block set.
    Credentials,
    /// The host is missing or malformed.
    Host,
    /// The port is not a number from 1 to 65535.
    Port,
    /// The path is neither empty nor the number of a database; for a Sentinel, it is not the name of a master.
    Path,
}

impl fmt::Display for ServerUrlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Scheme => {
                "the scheme must be redis://, rediss:// (TLS), sentinel:// or sentinels:// (TLS)"
            },
            Self::Credentials => "set the user name with `username` and the password with `password_file`",
            Self::Host => "the host is missing or malformed",
            Self::Port => "the port must be a number from 1 to 65535",
            Self::Path => {
                "after the host, write nothing or the number of a database; for a Sentinel, the name of the master"
            }
        })
    }
}

impl ServerUrl {
    /// Parses `redis://HOST[:PORT][/DATABASE]`, `rediss://…`, `sentinel://HOST[:PORT]/MASTER` or `sentinels://…`. The
    /// default port is 6379, for a Sentinel 26379.
    ///
    /// # Errors
    /// Returns the first part of the address that is invalid.
    pub fn parse(text: &str) -> Result<ServerUrl, ServerUrlError> {
        let (scheme, rest) = text.split_once("://").ok_or(ServerUrlError::Scheme)?;
        let (tls, is_sentinel) = match scheme {
            "redis" => (false, false),
            "rediss" => (true, false),
            "sentinel" => (false, true),
            "sentinels" => (true, true),
            _ => return Err(ServerUrlError::Scheme),
        };
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        if authority.contains('@') {
            return Err(ServerUrlError::Credentials);
        }
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
            _ => (authority, None),
        };
        let port = match port {
            Some(port) => decimal(port).filter(|port| *port > 0).ok_or(ServerUrlError::Port)?,
            None if is_sentinel => 26379,
            None => 6379,
        };
        let (mut database, mut sentinel_master) = (0, None);
        if is_sentinel {
            let is_name =
                !path.is_empty() && path.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'/');
            sentinel_master = Some(is_name.then(|| path.to_owned()).ok_or(ServerUrlError::Path)?);
        } else if !path.is_empty() {
            database = decimal(path).ok_or(ServerUrlError::Path)?;
        }
        Ok(ServerUrl {
            tls,
            host: parse_host(host).ok_or(ServerUrlError::Host)?,
            port,
            database,
            sentinel_master,
        })
    }
}

/// Returns the host without the brackets of an IPv6 address; `None` if it is malformed.
fn parse_host(host: &str) -> Option<String> {
    if let Some(inner) = host.strip_prefix('[') {
        let inner = inner.strip_suffix(']')?;
        return inner.parse::<std::net::Ipv6Addr>().is_ok().then(|| inner.to_owned());
    }
    let is_name =
        !host.is_empty() && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte));
    is_name.then(|| host.to_owned())
}

/// Writes the address as in the configuration, without a default database.
impl fmt::Display for ServerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = match (&self.sentinel_master, self.tls) {
            (Some(_), false) => "sentinel",
            (Some(_), true) => "sentinels",
            (None, true) => "rediss",
            (None, false) => "redis",
        };
        if self.host.contains(':') {
            write!(f, "{scheme}://[{}]:{}", self.host, self.port)?;
        } else {
            write!(f, "{scheme}://{}:{}", self.host, self.port)?;
        }
        match &self.sentinel_master {
            Some(master) => write!(f, "/{master}"),
            None if self.database > 0 => write!(f, "/{}", self.database),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_is_parsed_with_its_defaults() {
        for (text, shown) in [
            ("redis://10.0.0.5", "redis://10.0.0.5:6379"),
            ("redis://valkey.internal:7000/3", "redis://valkey.internal:7000/3"),
            ("rediss://[fd00::5]:6380", "rediss://[fd00::5]:6380"),
            ("redis://[::1]", "redis://[::1]:6379"),
            ("sentinel://10.0.0.5/shop", "sentinel://10.0.0.5:26379/shop"),
            ("sentinels://valkey.internal:5000/shop", "sentinels://valkey.internal:5000/shop"),
        ] {
            assert_eq!(ServerUrl::parse(text).map(|url| url.to_string()), Ok(shown.to_owned()), "{text}");
        }
    }

    #[test]
    fn invalid_address_is_refused_with_its_reason() {
        use ServerUrlError::{Credentials, Host, Path, Port, Scheme};
        for (text, error) in [
            ("10.0.0.5:6379", Scheme),
            ("http://10.0.0.5", Scheme),
            ("redis://user:password@10.0.0.5", Credentials),
            ("redis://", Host),
            ("redis://a b", Host),
            ("redis://[::1", Host),
            ("redis://a:0", Port),
            ("redis://a:70000", Port),
            ("redis://a/x", Path),
            ("sentinel://a", Path),
            ("sentinels://a", Path),
            ("sentinel://a/b/c", Path),
        ] {
            assert_eq!(ServerUrl::parse(text), Err(error), "{text}");
        }
    }
}
