//! A request that is to be explained.

/// What is asked about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Question {
    /// `GET`, unless another method is asked about.
    pub method: String,
    /// The host of the URL; the first server's name where there is none.
    pub host: Option<String>,
    /// The port of the URL.
    pub port: Option<u16>,
    /// Whether the URL begins with `https`.
    pub secure: bool,
    /// Path and query.
    pub target: String,
    /// Further request fields.
    pub fields: Vec<(String, String)>,
}

impl Question {
    /// A GET of a URL, or of a path on the first server; the error is for who asks.
    pub fn of_url(url: &str) -> Result<Self, String> {
        let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"));
        let (authority, target) = match rest {
            Some(rest) => rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len())),
            None if url.starts_with('/') => ("", url),
            None => return Err(format!("\"{url}\" is neither a URL nor a path")),
        };
        let port_at = authority.rfind(':').filter(|at| !authority[*at..].contains(']'));
        let port = port_at.map(|at| authority[at + 1..].parse::<u16>());
        let port = port.transpose().map_err(|_| format!("no port in \"{authority}\""))?;
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
