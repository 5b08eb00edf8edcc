//! Hypothetical request that is explained (`myriad -t --explain`).

use myriad_base::digits::decimal;

/// Hypothetical request whose processing is explained to a user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExplainedRequest {
    /// Request method.
    pub method: String,
    /// Host of the URL, followed by its port if the URL has one; `None` means the name of the first server.
    pub host: Option<String>,
    /// Port of the URL; `None` means the default port of the scheme.
    pub port: Option<u16>,
    /// True for an `https` URL.
    pub secure: bool,
    /// Path and query of the URL; the path begins with `/`.
    pub target: String,
    /// Header fields of the request in addition to `Host`: names and values.
    pub fields: Vec<(String, String)>,
}

impl ExplainedRequest {
    /// Creates a GET request for an `http` or `https` URL, or for a path on the first server; a fragment (`#…`) is
    /// dropped. The error is a message for the user.
    pub fn of_url(url: &str) -> Result<Self, String> {
        let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"));
        let (authority, target) = match rest {
            Some(rest) => rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len())),
            None if url.starts_with('/') => ("", url),
            None => return Err(format!("\"{url}\" is neither a URL nor a path")),
        };
        let port_at = authority.rfind(':').filter(|at| !authority[*at..].contains(']'));
        let port = port_at.map(|at| decimal::<u16>(&authority[at + 1..]).ok_or(authority));
        let port = port.transpose().map_err(|authority| format!("invalid port in \"{authority}\""))?;
        let target = target.split('#').next().unwrap_or_default();
        let slash = if target.starts_with('/') { "" } else { "/" };
        Ok(Self {
            method: "GET".to_owned(),
            host: (!authority.is_empty()).then(|| authority.to_owned()),
            port,
            secure: url.starts_with("https://"),
            target: format!("{slash}{target}"),
            fields: Vec::new(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fragment_is_dropped_wherever_it_begins() {
        for (url, host, target) in [
            ("http://host.test#top", "host.test", "/"),
            ("http://host.test:8080/a?b#top", "host.test:8080", "/a?b"),
            ("https://host.test?b#top", "host.test", "/?b"),
        ] {
            let request = ExplainedRequest::of_url(url).expect(url);
            assert_eq!((request.host.as_deref(), request.target.as_str()), (Some(host), target), "{url}");
        }
    }
}
