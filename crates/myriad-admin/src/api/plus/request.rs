//! Requests to NGINX Plus's API: version, path, arguments.

use myriad_base::digits::decimal;
use myriad_http::Method;
use myriad_http::uri;

use super::error::PlusError;

/// Supported versions of NGINX Plus's API.
pub(super) const VERSIONS: std::ops::RangeInclusive<u8> = 1..=9;
/// Maximum length of a path of NGINX Plus's API with its version number, in bytes.
const LONGEST_PATH: usize = 4096;

/// Parsed request to NGINX Plus's API.
#[derive(Clone, Debug)]
pub(crate) struct PlusRequest {
    pub(super) version: u8,
    /// Path after the version number, split at slashes.
    pub(super) path: Vec<String>,
    /// `?fields=`: members to include in the response; `None` for all.
    pub(super) fields: Option<Vec<String>>,
    pub(super) method: Method,
    /// Local address of the client's connection, without port.
    pub(super) address: String,
}

/// Returns whether a path below the `api` location starts with a version number.
pub(crate) fn is_version(path: &[u8]) -> bool {
    let first = path.split(|byte| *byte == b'/').next().unwrap_or_default();
    !first.is_empty() && first.iter().all(u8::is_ascii_digit)
}

/// Returns the version number at the start of a path for which [`is_version`] is true; the newest version if the number
/// is not supported.
pub(crate) fn version_of(path: &[u8]) -> u8 {
    let first = path.split(|byte| *byte == b'/').next().unwrap_or_default();
    decimal(first).filter(|version| VERSIONS.contains(version)).unwrap_or(*VERSIONS.end())
}

impl PlusRequest {
    /// Returns the requested version of the API.
    pub(crate) fn version(&self) -> u8 {
        self.version
    }

    /// Parses the query arguments, and a path that starts with a version number ([`is_version`]). Returns an error for
    /// an unsupported version or an invalid path.
    pub(crate) fn parse(
        path: &[u8],
        args: &[u8],
        method: Method,
        address: String,
    ) -> Result<Self, PlusError> {
        let path = std::str::from_utf8(path).ok().filter(|path| path.len() <= LONGEST_PATH);
        let path = path.ok_or_else(PlusError::no_path)?;
        let (version, rest) = path.split_once('/').unwrap_or((path, ""));
        let version = decimal(version).filter(|version| VERSIONS.contains(version));
        let version = version.ok_or_else(|| PlusError::new(404, "UnknownVersion", "unknown version"))?;
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        let path = if rest.is_empty() { Vec::new() } else { rest.split('/').map(str::to_owned).collect() };
        let fields = argument(args, b"fields").map(|fields| {
            fields.split(',').map(|field| field.trim().to_owned()).filter(|field| !field.is_empty()).collect()
        });
        Ok(Self { version, path, fields, method, address })
    }

    /// Returns the parts of the path after the version number.
    pub(super) fn parts(&self) -> Vec<&str> {
        self.path.iter().map(String::as_str).collect()
    }

    /// Returns whether the method is GET or HEAD.
    pub(crate) fn reads(&self) -> bool {
        matches!(self.method, Method::Get | Method::Head)
    }

    /// Returns whether the method is POST or PATCH, which have a JSON body.
    pub(crate) fn has_body(&self) -> bool {
        matches!(self.method, Method::Post | Method::Patch)
    }
}

/// Returns the decoded value of the first argument named `name`; `None` if it is missing. Unknown arguments are
/// ignored, as in NGINX Plus.
fn argument(args: &[u8], name: &[u8]) -> Option<String> {
    let mut pairs = args.split(|byte| *byte == b'&');
    let value = pairs.find_map(|pair| pair.strip_prefix(name)?.strip_prefix(b"="))?;
    let mut decoded = Vec::with_capacity(value.len());
    uri::unescape(value, &mut decoded);
    Some(String::from_utf8_lossy(&decoded).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(path: &str, args: &str) -> Result<PlusRequest, PlusError> {
        PlusRequest::parse(path.as_bytes(), args.as_bytes(), Method::Get, String::new())
    }

    #[test]
    fn paths_and_fields_are_read() {
        let asked = parse("9/http/upstreams/shop/", "x=1&fields=peers%2Czone,&fields=no").expect("a request");
        assert_eq!((asked.version, asked.parts()), (9, vec!["http", "upstreams", "shop"]));
        assert_eq!(asked.fields, Some(vec!["peers".to_owned(), "zone".to_owned()]));
        assert_eq!(parse("1", "").expect("a request").parts(), Vec::<&str>::new());
        assert_eq!(parse("9/a", "fields=").expect("a request").fields, Some(Vec::new()));
        for version in ["0", "10", "99999999999999999999", "09x"] {
            assert_eq!(parse(version, "").expect_err(version).code(), "UnknownVersion");
        }
        assert!(is_version(b"9/x") && is_version(b"10") && !is_version(b"") && !is_version(b"9x/"));
    }
}
